package search

import (
	"bytes"
	"sort"
)

// wordEnd stands before and behind each word of a list. No word has it: it is a sign.
const wordEnd = 0

// words are those of a segment, sorted, one behind the other in one text, so that one search finds a word, its end or any part
// of it: the word ends are part of what is searched for.
type words struct {
	text []byte
	// starts is where each word begins.
	starts []uint32
}

func (w *words) add(word string) {
	if len(w.text) == 0 {
		w.text = append(w.text, wordEnd)
	}
	w.starts = append(w.starts, uint32(len(w.text)))
	w.text = append(append(w.text, word...), wordEnd)
}

// ended gives a word with the wordEnd behind it.
func (w *words) ended(n int) []byte {
	if n+1 < len(w.starts) {
		return w.text[w.starts[n]:w.starts[n+1]]
	}
	return w.text[w.starts[n]:]
}

func (w *words) word(n int) string {
	ended := w.ended(n)
	return string(ended[:len(ended)-1])
}

// holding visits the words that hold a text; a wordEnd at its beginning or end ties it to that of the word.
func (w *words) holding(text []byte, visit func(n int)) {
	if text[0] == wordEnd {
		w.beginning(text[1:], visit)
		return
	}
	for at, next := 0, 0; next < len(w.starts); next++ {
		found := bytes.Index(w.text[at:], text)
		if found < 0 {
			return
		}
		at += found
		// The word is one of those that are left, and most often the next.
		if next+1 < len(w.starts) && int(w.starts[next+1]) <= at {
			rest := w.starts[next:]
			next += sort.Search(len(rest), func(i int) bool { return int(rest[i]) > at }) - 1
		}
		visit(next)
		at = int(w.starts[next]) + len(w.ended(next)) - 1
	}
}

// beginning visits the words that begin with a text.
func (w *words) beginning(text []byte, visit func(n int)) {
	n := sort.Search(len(w.starts), func(i int) bool { return bytes.Compare(w.ended(i), text) >= 0 })
	for ; n < len(w.starts) && bytes.HasPrefix(w.ended(n), text); n++ {
		visit(n)
	}
}
