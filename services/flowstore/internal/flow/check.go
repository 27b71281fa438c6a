package flow

import (
	"fmt"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
)

// Limits of what a flow says of itself, texts in bytes.
const (
	// MaxName is the longest name, in characters.
	MaxName        = 256
	MaxDescription = 64 << 10
	// MaxStoryText is the longest text of a story, MaxStoryItems the most items of a list and MaxStoryItem the longest.
	MaxStoryText  = 64 << 10
	MaxStoryItems = 64
	MaxStoryItem  = 1 << 10
)

// CheckWords finds everything that is wrong with name, description and story of a flow that somebody wants to make. What
// is missing altogether is not its business.
func (f Flow) CheckWords() []check.Violation {
	l := &check.List{}
	if n := utf8.RuneCountInString(f.Name); n > MaxName {
		l.Add("display_name", "has %d characters; the limit is %d", n, MaxName)
	}
	l.Bytes("description", f.Description, MaxDescription)
	s := f.Story
	for _, t := range []struct {
		field string
		text  *string
	}{
		{"title", s.Title}, {"synopsis", s.Synopsis}, {"setting", s.Setting}, {"plot", s.Plot}, {"note", s.Note},
		{"dialogue_level", s.DialogueLevel},
	} {
		if t.text != nil {
			l.Bytes("story."+t.field, *t.text, MaxStoryText)
		}
	}
	if r := s.Rating; r != nil && *r != "" && *r != "general" && *r != "r18" {
		l.Add("story.rating", `must be "general", "r18" or empty for the default, and is %.20q`, *r)
	}
	checkList(l, "story.keywords", s.Keywords)
	checkList(l, "story.genres", s.Genres)
	return l.Found
}

// WordsSize is about how many bytes a flow takes in a message without its members and edges.
func (f Flow) WordsSize() int {
	const overhead = 64
	size := 4*overhead + len(f.Name) + len(f.Description)
	s := f.Story
	for _, text := range []*string{s.Title, s.Synopsis, s.Setting, s.Plot, s.Note, s.DialogueLevel, s.Rating} {
		if text != nil {
			size += overhead + len(*text)
		}
	}
	for _, list := range [][]string{s.Keywords, s.Genres, f.Problems} {
		for _, item := range list {
			size += overhead + len(item)
		}
	}
	return size
}

func checkList(l *check.List, field string, items []string) {
	l.Items(field, len(items), MaxStoryItems)
	for i, item := range items {
		l.Bytes(fmt.Sprintf("%s[%d]", field, i), item, MaxStoryItem)
	}
}

// CheckEdgeName finds what is wrong with the name that somebody wants to give an edge.
func CheckEdgeName(field, name string) []check.Violation {
	l := &check.List{}
	if n := utf8.RuneCountInString(name); n > MaxName {
		l.Add(field, "has %d characters; the limit is %d", n, MaxName)
	}
	return l.Found
}
