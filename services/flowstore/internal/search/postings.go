package search

import (
	"bytes"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// fewest is the most places that are kept as plain numbers: a bitmap costs some 200 bytes before its first one.
const fewest = 64

// postings are the places of the nodes that have a term, ascending.
type postings struct {
	few  []uint32
	many *roaring.Bitmap
}

// add notes a place that is behind all others.
func (p *postings) add(place uint32) {
	switch {
	case p.many != nil:
		p.many.Add(place)
	case len(p.few) < fewest:
		p.few = append(p.few, place)
	default:
		p.many = roaring.BitmapOf(p.few...)
		p.many.Add(place)
		p.few = nil
	}
}

func (p *postings) len() uint64 {
	if p.many != nil {
		return p.many.GetCardinality()
	}
	return uint64(len(p.few))
}

// bitmap gives the places to be read, not changed.
func (p *postings) bitmap() *roaring.Bitmap {
	if p.many != nil {
		return p.many
	}
	return roaring.BitmapOf(p.few...)
}

// union gathers places of many terms: those of rare ones in a plain field of bits, which costs nothing for each.
type union struct {
	bits []uint64
	many []*roaring.Bitmap
}

func (u *union) add(p *postings) {
	if p.many != nil {
		u.many = append(u.many, p.many)
	}
	for _, place := range p.few {
		u.bits[place>>6] |= 1 << (place & 63)
	}
}

func (u *union) bitmap() *roaring.Bitmap {
	return roaring.FastOr(append(u.many, roaring.FromDense(u.bits, false))...)
}

// wordEnd stands before and behind each word of the list. No word has it: it is a sign.
const wordEnd = 0

// words is the list of all words, one behind the other in one text, so that one search finds a word, its beginning, its end
// or any part of it: the word ends are part of what is searched for.
type words struct {
	text   []byte
	starts []uint32
	// numbers of the words in postings.
	postings []postings
	number   map[string]uint32
}

func newWords() words { return words{text: []byte{wordEnd}, number: map[string]uint32{}} }

// of gives the places of a word, and makes room for a new one.
func (w *words) of(word string) *postings {
	n, known := w.number[word]
	if !known {
		n = uint32(len(w.starts))
		w.starts = append(w.starts, uint32(len(w.text)))
		w.text = append(append(w.text, word...), wordEnd)
		w.postings = append(w.postings, postings{})
		w.number[string([]byte(word))] = n // a copy: the word is a piece of a text
	}
	return &w.postings[n]
}

// holding gathers the places of all words that hold a text; a wordEnd at its beginning or end ties it to that of the word.
func (w *words) holding(text []byte, u *union) {
	for at, next := 0, 0; ; {
		found := bytes.Index(w.text[at:], text)
		if found < 0 {
			return
		}
		at += found
		from := uint32(at)
		if text[0] == wordEnd {
			from++
		}
		// The word is one of those that are left, and most often the next.
		if next+1 < len(w.starts) && w.starts[next+1] <= from {
			rest := w.starts[next:]
			next += sort.Search(len(rest), func(i int) bool { return rest[i] > from }) - 1
		}
		u.add(&w.postings[next])
		next++
		if next == len(w.starts) {
			return
		}
		at = int(w.starts[next]) - 1
	}
}
