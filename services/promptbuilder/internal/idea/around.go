package idea

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// thoughts are what stands around that which a model thinks before it answers, as chat templates have it.
var thoughts = []struct{ open, end string }{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}}

// thinking parts what a model thought from its answer. A thought that is never ended is everything. The mark that begins one
// may be missing, since many prompts end with it.
func thinking(text string) (thought, answer string) {
	begin := strip(text)
	for _, mark := range thoughts {
		at := strings.Index(text, mark.end)
		if at >= 0 {
			at += len(mark.end)
			return textline.Strip(text[:at]), text[at:]
		}
		if strings.HasPrefix(begin, mark.open) {
			return begin, ""
		}
	}
	return "", text
}

// fenceOf gives the mark of a fence around code that a line is, three or more ` or ~; empty where it is none. Only a bare one, with
// no word behind it, can end what another began.
func fenceOf(line string) (mark string, bare bool) {
	line = strip(line)
	for _, character := range []string{"`", "~"} {
		word := strings.TrimLeft(line, character)
		if mark = line[:len(line)-len(word)]; len(mark) >= len("```") {
			if strings.ContainsAny(word, "` 　") {
				return "", false
			}
			return mark, word == ""
		}
	}
	return "", false
}

// opensAround says that a line, if it is a fence, begins one around headers: it stands in no part and in no other fence, and a
// header comes next.
func (s *section) opensAround(mark string, bare bool, next string) bool {
	switch {
	case mark == "" || s.field != "":
		return false
	case s.fence != "":
		if bare && strings.HasPrefix(mark, s.fence) {
			s.fence = ""
		}
		return false
	case beginsHeader(next):
		return true
	}
	s.fence = mark
	return false
}

// fenced says that a line stands in a fence inside of a part, the marks of it among that. A mark that is never closed is text.
func (s *section) fenced(l lineOf) bool {
	switch {
	case s.field == "":
		return false
	case s.fence != "":
		if l.bare && strings.HasPrefix(l.mark, s.fence) {
			s.fence = ""
		}
		return true
	case l.mark == "" || !s.field.prose() || !l.later.close(l.mark):
		return false
	}
	s.fence = l.mark
	return true
}

// closings are how long the longest bare fences of both kinds are from a line on.
type closings struct{ ticks, tildes int }

// close says that one of them ends a fence with a mark.
func (c closings) close(mark string) bool {
	if mark[0] == '~' {
		return len(mark) <= c.tildes
	}
	return len(mark) <= c.ticks
}

// lineOf is a line of an answer: where it begins, the mark of the fence that it may be, and the closings behind it.
type lineOf struct {
	at    int
	text  string
	mark  string
	bare  bool
	later closings
}

// linesOf are the lines of an answer.
func linesOf(text string) []lineOf {
	var lines []lineOf
	for at, line := range textline.All(text) {
		mark, bare := fenceOf(line)
		lines = append(lines, lineOf{at: at, text: line, mark: mark, bare: bare})
	}
	var later closings
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		l.later = later
		switch {
		case !l.bare:
		case l.mark[0] == '~':
			later.tildes = max(later.tildes, len(l.mark))
		default:
			later.ticks = max(later.ticks, len(l.mark))
		}
	}
	return lines
}

// beginsHeader says that the first line that is not blank is a header.
func beginsHeader(text string) bool {
	for _, line := range textline.All(text) {
		if strip(line) != "" {
			_, ok := headerOf(line)
			return ok
		}
	}
	return false
}
