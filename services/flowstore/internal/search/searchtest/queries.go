package searchtest

import (
	"math/rand/v2"
	"strings"
	"time"
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
		q := Query{Kind: kind, Words: s.pick(r, kind)}
		q.Text = strings.Join(q.Words, " ")
		parsed, err := search.Parse(q.Text, time.UTC)
		if err != nil {
			panic(err) // the words are letters
		}
		q.Query = parsed
		out = append(out, q)
	}
	return out
}

func (s *Shelf) pick(r *rand.Rand, kind Kind) []string {
	switch kind {
	case OneCharacter:
		return []string{s.japanese(r, 1)}
	case TwoCharacters:
		return []string{s.japanese(r, 2)}
	case ThreeCharacters:
		return []string{s.japanese(r, 3)}
	case FourCharacters:
		return []string{s.japanese(r, 4+r.IntN(5))}
	case Word:
		return []string{s.english(r)}
	case Prefix:
		w := s.english(r)
		return []string{w[:1+r.IntN(len(w))]}
	}
	return []string{s.japanese(r, 2+r.IntN(3)), s.english(r)}
}

// japanese gives a piece of a phrase of a node.
func (s *Shelf) japanese(r *rand.Rand, size int) string {
	for {
		text := s.Nodes[r.IntN(len(s.Nodes))].Texts[1].Content
		at := r.IntN(len(text))
		piece := []rune(strings.ToValidUTF8(text[at:min(len(text), at+3*(size+1))], ""))
		if len(piece) < size {
			continue
		}
		found := string(piece[:size])
		if !strings.ContainsFunc(found, func(r rune) bool { return r < utf8.RuneSelf || r == '、' }) {
			return found
		}
	}
}

// english gives a whole word of a node.
func (s *Shelf) english(r *rand.Rand) string {
	for {
		text := s.Nodes[r.IntN(len(s.Nodes))].Texts[1].Content
		at := r.IntN(len(text))
		all := strings.FieldsFunc(text[at:min(len(text), at+200)], func(r rune) bool { return r >= utf8.RuneSelf || r == ' ' })
		for i, w := range all {
			if i > 0 && i+1 < len(all) && w != "" {
				return w
			}
		}
	}
}
