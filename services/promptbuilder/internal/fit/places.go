package fit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// What ends a sentence or a clause, and what may close after it. A mark of western writing counts only before a space,
// so that 3.14 and 1,000 stay whole.
const (
	sentenceEnds = "。！？…‥‼⁇⁈⁉｡!?"
	clauseEnds   = "、，､；：—"
	closers      = "」』）】〉》〕〗〙］｝〟”’｣)]}\"'"
)

// indent is the space with which a paragraph begins, and longestIndent how many of it are kept together: more are no indent
// that a reader would miss, and could be larger than the window.
const (
	indent        = "\u3000"
	longestIndent = 64
)

// starts are the offsets strictly between two offsets at which a sentence or a clause begins that has something in it.
func starts(text string, from, to int, place Place) []int {
	var all []int
	text = text[:to]
	ended, glossed := false, strings.Contains(text[from:], openReading)
	before := from // where the character before i begins
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(text[i:])
		inner := 0
		if glossed {
			inner = ruby(text[i:])
		}
		switch {
		case inner == 0 && ends(text[i:], r, place):
			ended = true
		case !ended, unicode.IsSpace(r), strings.ContainsRune(closers, r), joins(text[before:], i-before, r):
		case quotes(text[:i], text[i:]):
			ended = false
		default:
			all = append(all, i)
			ended = false
		}
		before = i + inner
		if inner > 0 {
			size = inner + len(closeReading)
		}
		i += size
	}
	return all
}

// quotes says that what comes next goes on with the sentence that a quotation stands in: 「行く。」と言った.
func quotes(before, rest string) bool {
	closing, _ := utf8.DecodeLastRuneInString(before)
	return strings.ContainsRune("」』", closing) && (strings.HasPrefix(rest, "と") || strings.HasPrefix(rest, "って"))
}

// openReading and closeReading stand around the reading of a ruby, `｜漢字《かんじ》`.
const (
	openReading, closeReading = "《", "》"
	// longestRuby is how many characters the base of a ruby may have, and its reading; anything longer is text in brackets.
	longestRuby = 64
)

// ruby is how many bytes of the ruby with which a text begins stand before its closing bracket; 0 where it begins with
// none. The base begins with a bar and is anything, or is Chinese characters, on one line with the reading.
func ruby(text string) int {
	first, bar := utf8.DecodeRuneInString(text)
	isBase := isHan
	if first == '|' || first == '｜' {
		isBase = isGlossed
	} else {
		bar = 0
	}
	base := stretch(text[bar:], isBase)
	if base == 0 || !strings.HasPrefix(text[bar+base:], openReading) {
		return 0
	}
	inner := bar + base + len(openReading)
	reading := stretch(text[inner:], isGlossed)
	if reading == 0 || !strings.HasPrefix(text[inner+reading:], closeReading) {
		return 0
	}
	return inner + reading
}

// stretch is how many bytes of a text, at its beginning and at most longestRuby characters, are of a kind.
func stretch(text string, is func(rune) bool) int {
	characters := 0
	for i, r := range text {
		if characters == longestRuby || !is(r) {
			return i
		}
		characters++
	}
	return len(text)
}

// isHan says that r may be in a base without a bar: Chinese characters, and what is read like one.
func isHan(r rune) bool { return unicode.Is(unicode.Han, r) || r == '〆' || r == 'ヶ' || r == 'ヵ' }

// isGlossed says that r may be in a base with a bar, or in a reading.
func isGlossed(r rune) bool { return !strings.ContainsRune("|｜《》", r) && !isLineEnd(r) }

func isLineEnd(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029'
}

// ends says that a sentence or a clause ends at r, with which rest begins.
func ends(rest string, r rune, place Place) bool {
	western := "."
	if place == Clause {
		if strings.ContainsRune(clauseEnds, r) {
			return true
		}
		western = ".,;:"
	}
	if strings.ContainsRune(sentenceEnds, r) {
		return true
	}
	if !strings.ContainsRune(western, r) {
		return false
	}
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest[utf8.RuneLen(r):], closers))
	return unicode.IsSpace(after)
}

// joins says that a reader sees r, an accent, joiner or variation, as one with the character of n bytes before it.
// Two characters decide: after a mark nothing older bears on it.
func joins(text string, n int, r rune) bool {
	return cluster(text[:n]+string(r)) > n
}

// clusterStart is the first border between units at or after an offset; from is one.
func clusterStart(text string, from, atLeast int) int {
	for from < atLeast && from < len(text) {
		from += unit(text[from:])
	}
	return from
}

// ClusterStart is the first place at or after an offset at which a text may be cut when no better place is found: never
// inside a character as a reader sees it, inside a ruby, or between an indent and its line. It looks back as far as a line
// begins, where such a place always is.
func ClusterStart(text string, atLeast int) int {
	return clusterStart(text, strings.LastIndexByte(text[:atLeast], '\n')+1, atLeast)
}

// lastCluster is where the last unit of text begins; from is a border before it.
func lastCluster(text string, from int) int {
	last := from
	for from < len(text) {
		last, from = from, from+unit(text[from:])
	}
	return last
}

// unit is how many bytes of a text, which is not empty, are never parted at its beginning: a character as a reader sees it
// or a ruby, with the indent before it. A full-width space elsewhere goes with what it follows: at the beginning of what is
// kept it would be taken for an indent.
func unit(text string) int {
	n := indents(text)
	n += ruby(text[n:])
	first, _ := utf8.DecodeRuneInString(text[n:])
	n += cluster(text[n:])
	if !isLineEnd(first) {
		n += indents(text[n:])
	}
	return n
}

// indents is how many bytes of full-width spaces a text begins with, at most those of the longest indent.
func indents(text string) int {
	n := 0
	for n < longestIndent*len(indent) && strings.HasPrefix(text[n:], indent) && cluster(text[n:]) == len(indent) {
		n += len(indent)
	}
	return n
}

// longestCluster is how many code points a character may have; what goes on after them is text of its own, since a heap of
// accents could be larger than the window. Unicode allows as many in streams (UAX #15, Stream-Safe Text Format: a letter and
// 30 marks), and the longest family of emoji has a third of it.
const longestCluster = 31

// cluster is how many bytes the first character of a text has, as a reader sees it.
func cluster(text string) int {
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(text[:min(len(text), utf8.UTFMax*(longestCluster+1))], -1)
	points := 0
	for i := range first {
		if points == longestCluster {
			return i
		}
		points++
	}
	return len(first)
}
