package search

import (
	"iter"
	"strings"
)

// kinds are kinds of characters. Where folding leaves those of a word in a text, the word stands there just where it stands in the
// folded text, in whatever case, and the text need not be folded.
type kinds uint8

const (
	// denseKind are the characters of scripts without blanks.
	denseKind kinds = 1 << iota
	// asciiKind are the letters and digits of ASCII, and `_`.
	asciiKind
	// otherKind are all others. They are in no kept.
	otherKind

	keptKinds = denseKind | asciiKind
)

// kindsOf gives those that a text has.
func kindsOf(text string) kinds {
	var all kinds
	for _, r := range text {
		switch s := scriptOf(r); {
		case s.dense():
			all |= denseKind
		case s == letter && r <= 'z':
			all |= asciiKind
		default:
			all |= otherKind
		}
	}
	return all
}

// asIs says that the word is to be looked for in a text as it is, of which folding leaves some kinds.
func (w word) asIs(kept kinds) bool { return w.kinds&^kept == 0 }

// frequent are the letters of ASCII, those that English uses most first.
const frequent = "etaoinsrhldcumfpgwybvkxjqz"

// places gives where in a text the word stands, in any case of ASCII, each place behind the end of the one before. It looks for the
// two forms of the letter that leaves least to be compared: several times as quick as to fold.
func (w word) places(text string) iter.Seq[int] {
	rarest, at := -1, 0
	for i := range len(w.text) {
		if n := strings.IndexByte(frequent, w.text[i]); n > rarest {
			rarest, at = n, i
		}
	}
	return func(yield func(int) bool) {
		if rarest < 0 {
			for from := behind(text, 0, w.text); from < len(text) && yield(from); {
				from = behind(text, from+len(w.text), w.text)
			}
			return
		}
		letter := frequent[rarest : rarest+1]
		capital := strings.ToUpper(letter)
		small, large := behind(text, 0, letter), behind(text, 0, capital)
		for from := 0; min(small, large) < len(text); {
			found := min(small, large)
			if start := found - at; start >= from && w.stands(text[start:]) {
				if !yield(start) {
					return
				}
				from = start + len(w.text)
			}
			if small == found {
				small = behind(text, found+1, letter)
			} else {
				large = behind(text, found+1, capital)
			}
		}
	}
}

// behind gives where something stands in a text from a place on; the end of the text where it does not.
func behind(text string, from int, what string) int {
	if i := strings.Index(text[from:], what); i >= 0 {
		return from + i
	}
	return len(text)
}

// stands says that a text begins with the word, in any case of ASCII.
func (w word) stands(text string) bool {
	if len(text) < len(w.text) {
		return false
	}
	for i := range len(w.text) {
		if folded[text[i]] != w.text[i] {
			return false
		}
	}
	return true
}
