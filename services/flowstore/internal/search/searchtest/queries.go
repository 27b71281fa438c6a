package searchtest

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// Kind is what queries are alike in.
type Kind string

// Kinds of queries: pieces of texts of so many characters, words and beginnings of words, and a piece with a word.
const (
	OneCharacter    Kind = "Japanese, 1 character"
	TwoCharacters   Kind = "Japanese, 2 characters"
	ThreeCharacters Kind = "Japanese, 3 characters"
	FourCharacters  Kind = "Japanese, 4 to 8 characters"
	Word            Kind = "English word"
	Prefix          Kind = "beginning of an English word"
	Both            Kind = "Japanese and English"
)

// Kinds are all of them.
var Kinds = []Kind{OneCharacter, TwoCharacters, ThreeCharacters, FourCharacters, Word, Prefix, Both}

// Query is what somebody looks for.
type Query struct {
	Kind Kind
	// Words are folded, Text is what a person types.
	Words []string
	Text  string
	*search.Query
}

// Queries makes queries of a kind from what the nodes hold, the same ones for the same seed.
func (s *Shelf) Queries(kind Kind, count int, seed uint64) []Query {
	r := rand.New(rand.NewPCG(7, seed))
	out := make([]Query, 0, count)
	for len(out) < count {
		words := pick(r, kind, s.Nodes[r.IntN(len(s.Nodes))].Texts[1].Content)
		if words == nil {
			continue
		}
		q := Query{Kind: kind, Words: words}
		q.Text = strings.Join(q.Words, " ")
		parsed, err := search.Parse(q.Text)
		if err != nil {
			panic(err) // the words are letters
		}
		q.Query = parsed
		out = append(out, q)
	}
	return out
}

// pick takes words from a text; nil where chance found none.
func pick(r *rand.Rand, kind Kind, text string) []string {
	size := map[Kind]int{OneCharacter: 1, TwoCharacters: 2, ThreeCharacters: 3, FourCharacters: 4 + r.IntN(5), Both: 2 + r.IntN(3)}[kind]
	japanese, english := phrase(r, text, size), word(r, text)
	switch {
	case kind == Word && english != "":
		return []string{english}
	case kind == Prefix && english != "":
		return []string{english[:1+r.IntN(len(english))]}
	case kind == Both && japanese != "" && english != "":
		return []string{japanese, english}
	case size > 0 && kind != Both && japanese != "":
		return []string{japanese}
	}
	return nil
}

// phrase gives so many characters that stand side by side.
func phrase(r *rand.Rand, text string, size int) string {
	at := r.IntN(len(text))
	piece := []rune(strings.ToValidUTF8(text[at:min(len(text), at+3*(size+1))], ""))
	if len(piece) < size || strings.ContainsFunc(string(piece[:size]), func(r rune) bool { return r < utf8.RuneSelf || r == '、' }) {
		return ""
	}
	return string(piece[:size])
}

// word gives a whole word.
func word(r *rand.Rand, text string) string {
	at := r.IntN(len(text))
	all := strings.FieldsFunc(text[at:min(len(text), at+200)], func(r rune) bool { return r >= utf8.RuneSelf || r == ' ' })
	if len(all) < 3 {
		return ""
	}
	return all[1]
}
