package fit

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

// Trim cuts a text at its top or its bottom until tokens, which says how large what is left is counted to be, is at most
// high. The cut lies at a line; where that leaves less than low or half of high, at a sentence, and where that does too,
// between two units. It leaves no less than low, even where that is more than high. It gives what is left as offsets, which
// are equal when that is nothing.
func Trim(text string, top bool, low, high int, tokens func(from, to int) int) (from, to int) {
	kept := func(at int) (from, to int) {
		if top {
			return at, len(text)
		}
		return 0, len(strings.TrimRightFunc(text[:at], unicode.IsSpace))
	}
	if tokens(0, len(text)) <= high {
		return 0, len(text)
	}
	var cuts []int
	for _, place := range []Place{Line, Sentence, Character} {
		cuts = cutsOf(text, place)
		if !top {
			slices.Reverse(cuts)
		}
		least := max(low, high/2)
		if place == Character {
			least = low
		}
		i := sort.Search(len(cuts), func(i int) bool { return tokens(kept(cuts[i])) <= high })
		if i == len(cuts) {
			continue
		}
		if from, to := kept(cuts[i]); tokens(from, to) >= least && strings.TrimSpace(text[from:to]) != "" {
			return from, to
		}
	}
	if low <= 0 {
		return 0, 0
	}
	for i := sort.Search(len(cuts), func(i int) bool { return tokens(kept(cuts[i])) < low }) - 1; i >= 0; i-- {
		if from, to := kept(cuts[i]); strings.TrimSpace(text[from:to]) != "" {
			return from, to
		}
	}
	return 0, len(text)
}

// cutsOf are the places of a kind inside a text, ascending. A line that is not blank begins with a sentence.
func cutsOf(text string, place Place) []int {
	var all []int
	at := 0
	if place == Character {
		for at += unit(text); at < len(text); at += unit(text[at:]) {
			all = append(all, at)
		}
		return all
	}
	for line := range strings.Lines(text) {
		if at > 0 && strings.TrimSpace(line) != "" {
			all = append(all, at)
		}
		if place == Sentence {
			all = append(all, starts(text, at, at+len(line), Sentence)...)
		}
		at += len(line)
	}
	return all
}
