// Package worddiff tells two texts apart word by word, and Japanese and Chinese, which put no blanks between words,
// character by character.
package worddiff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Op says where a part stands.
type Op int

// The ops.
const (
	// Equal stands in both texts.
	Equal Op = iota
	// Delete stands in the first alone.
	Delete
	// Insert stands in the second alone.
	Insert
)

// Part is a piece of text. Text is never empty.
type Part struct {
	Op   Op
	Text string
}

const (
	// maxRounds bounds the search: texts with many thousands of changes are told with coarse parts.
	maxRounds = 1000
	// smallHunk is how many words a replaced piece may have for it to be believed: the library gives up behind 50 changes, and
	// tells what it did not look at as replaced.
	smallHunk = 50
)

// Diff gives the parts of two texts in order: those that are not Insert are a, those that are not Delete are b, byte for
// byte. coarse says that the search was ended, and that what is told as changed may hold what is equal. Takes well under a
// second for texts of 4 MiB, whatever is in them.
func Diff(a, b string) (parts []Part, coarse bool) {
	ids := map[string]rune{}
	wordsA, wordsB := number(ids, a), number(ids, b)
	hunks, coarse := search(wordsA.ids, wordsB.ids)
	at := 0
	add := func(op Op, text string) {
		if text != "" {
			parts = append(parts, Part{op, text})
		}
	}
	for _, h := range hunks {
		add(Equal, a[at:wordsA.starts[h.Start]])
		at = wordsA.starts[h.End]
		add(Delete, a[wordsA.starts[h.Start]:at])
		add(Insert, b[wordsB.starts[h.ReplStart]:wordsB.starts[h.ReplEnd]])
	}
	add(Equal, a[at:])
	return parts, coarse
}

// words are a text cut into words: a number for each, the same for the same word, and where it starts, with the end of the
// text behind the last.
type words struct {
	ids    []rune
	starts []int
}

func number(ids map[string]rune, text string) words {
	var w words
	for at := 0; at < len(text); {
		word := text[at : at+wordLen(text[at:])]
		id, known := ids[word]
		if !known {
			id = rune(len(ids))
			ids[word] = id
		}
		w.ids, w.starts = append(w.ids, id), append(w.starts, at)
		at += len(word)
	}
	w.starts = append(w.starts, len(text))
	return w
}

// wordLen is the length of the first word of a text that is not empty: a run of letters and digits, a run of blanks, or one
// character alone; each with the marks that are written on it.
func wordLen(text string) int {
	first, n := utf8.DecodeRuneInString(text)
	kind := kindOf(first)
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !isMark(r) && (kind == alone || kindOf(r) != kind) {
			break
		}
		n += size
	}
	return n
}

type kind int

const (
	alone kind = iota
	letters
	blanks
)

// longSound is part of words in hiragana and katakana, and in no script.
const longSound = 'ー'

func kindOf(r rune) kind {
	switch {
	case r == longSound || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return alone
	case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
		return letters
	case r != '\n' && r != '\r' && unicode.IsSpace(r):
		return blanks
	}
	return alone
}

// isMark says that a character is written on the one before, or joins it to the next.
func isMark(r rune) bool { return unicode.IsMark(r) || strings.ContainsRune("\u200d\u200c", r) }

// search looks again into every piece that the library gave up on.
func search(a, b []rune) (found []lcs.Diff, coarse bool) {
	rounds := 0
	open := []lcs.Diff{{End: len(a), ReplEnd: len(b)}}
	for len(open) > 0 {
		h := open[len(open)-1]
		open = open[:len(open)-1]
		large := rounds == 0 || h.End-h.Start > smallHunk && h.ReplEnd-h.ReplStart > smallHunk
		if !large || rounds >= maxRounds {
			coarse = coarse || large
			found = append(found, h)
			continue
		}
		rounds++
		inside := lcs.DiffRunes(a[h.Start:h.End], b[h.ReplStart:h.ReplEnd])
		if len(inside) == 1 && inside[0].End-inside[0].Start == h.End-h.Start && inside[0].ReplEnd-inside[0].ReplStart == h.ReplEnd-h.ReplStart {
			found = append(found, h)
			continue
		}
		for i := len(inside) - 1; i >= 0; i-- {
			in := inside[i]
			open = append(open, lcs.Diff{
				Start: h.Start + in.Start, End: h.Start + in.End, ReplStart: h.ReplStart + in.ReplStart, ReplEnd: h.ReplStart + in.ReplEnd,
			})
		}
	}
	return found, coarse
}
