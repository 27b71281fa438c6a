package fit

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// What ends a sentence or a clause, and what may close after it. A mark of western writing counts only before a space,
// so that 3.14 and 1,000 stay whole.
const (
	sentenceEnds = "。！？…‥｡!?"
	clauseEnds   = "、，､；：—"
	closers      = "」』）】〉》〕”’｣)]\"'"
)

// starts are the offsets strictly between two offsets at which a sentence or a clause begins that has something in it.
func starts(text string, from, to int, place Place) []int {
	var all []int
	ended := false
	before := from // where the character before i begins
	for i, r := range text[from:to] {
		i += from
		switch {
		case ends(text[i:to], r, place):
			ended = true
		case !ended, unicode.IsSpace(r), strings.ContainsRune(closers, r), joins(text[before:], i-before, r):
		default:
			all = append(all, i)
			ended = false
		}
		before = i
	}
	return all
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
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[:n]+string(r), -1)
	return len(cluster) > n
}

// clusterStart is the first border between grapheme clusters at or after an offset; from is one.
func clusterStart(text string, from, atLeast int) int {
	for cluster := range clusters(text[from:]) {
		if from >= atLeast {
			break
		}
		from += len(cluster)
	}
	return from
}

// ClusterStart is the first border between grapheme clusters at or after an offset. It looks back as far as a line begins,
// where one always is.
func ClusterStart(text string, atLeast int) int {
	return clusterStart(text, strings.LastIndexByte(text[:atLeast], '\n')+1, atLeast)
}

// lastCluster is where the last grapheme cluster of text begins; from is a border before it.
func lastCluster(text string, from int) int {
	last := from
	for cluster := range clusters(text[from:]) {
		last, from = from, from+len(cluster)
	}
	return last
}

func clusters(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for state := -1; text != ""; {
			var cluster string
			cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
			if !yield(cluster) {
				return
			}
		}
	}
}
