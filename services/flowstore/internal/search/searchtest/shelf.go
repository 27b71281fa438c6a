// Package searchtest makes texts to be searched, the same ones for the same number of nodes, and looks through them one by one:
// what that finds is what a search has to find.
package searchtest

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// Shelf is a store in memory. It is a search.Source.
type Shelf struct {
	Nodes []node.Node
	// Folded are the texts of each node as they are compared, with a byte between them that no query holds.
	Folded []string
	// Bytes are those of all texts.
	Bytes int
}

// Texts gives the texts of a node, whose number its id begins with, for an index in which all are put with the stamp 0.
func (s *Shelf) Texts(_ context.Context, id uuid.UUID) ([]node.Text, uint64, bool, error) {
	return s.Nodes[Number(id)].Texts, 0, true, nil
}

// Number is that of a node in Nodes.
func Number(id uuid.UUID) int { return int(binary.BigEndian.Uint32(id[:])) }

// Members knows no flow.
func (*Shelf) Members(context.Context, string) ([]uuid.UUID, error) {
	return nil, &search.FlowError{}
}

// Holding gives the numbers of the nodes that hold all of the folded words, by looking through all of them.
func (s *Shelf) Holding(words ...string) []int {
	var out []int
	for i, text := range s.Folded {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			out = append(out, i)
		}
	}
	return out
}

// letters of the words without blanks between them, those that are used most first.
const letters = "のはをにがとでしてますかもなこれそ人日本大年中出生時間行分上見国気手前事会東京学文書場合新立思高意法動理者対社全物力海部家実山夜明駅切符風汽笛検索外政権試再黒猫雨港静光影声空夢旅町橋森川道窓扉鍵紙糸針布染織紡"

// New makes nodes of 1 to 4 KB in two texts, seven phrases of ten Japanese, with a tag and a model, each a second newer than the
// one before. Words are as rare as in a language: the n-th has one n-th of the uses of the first.
func New(nodes int) *Shelf {
	r := rand.New(rand.NewPCG(20, 26))
	s := &Shelf{}
	japanese, english := vocabulary(r, []rune(letters), 1, 4), vocabulary(r, []rune("etaoinshrdlucmfwypvbgkjqxz"), 2, 9)
	z := rand.NewZipf(r, 1.1, 4, words-1)
	for i := range nodes {
		var b strings.Builder
		for size := 1000 + r.IntN(3000); b.Len() < size; {
			if r.IntN(10) < 7 {
				for range 1 + r.IntN(8) {
					b.WriteString(japanese[z.Uint64()])
				}
				b.WriteString("、")
			} else {
				b.WriteString(english[z.Uint64()] + " ")
			}
		}
		s.add(i, b.String())
	}
	return s
}

func (s *Shelf) add(number int, text string) {
	n := node.Node{Created: time.Unix(int64(number), 0), Tags: []string{"夜"}, Model: "gemma"}
	binary.BigEndian.PutUint32(n.ID[:], uint32(number))
	half := strings.Index(text, "、") + len("、")
	n.Texts = []node.Text{{Role: "user", Content: text[:half]}, {Role: "assistant", Content: text[half:]}}
	s.Nodes = append(s.Nodes, n)
	s.Folded = append(s.Folded, search.Fold(n.Texts[0].Content)+"\x00"+search.Fold(n.Texts[1].Content))
	s.Bytes += len(text)
}

// words is how many a vocabulary has.
const words = 20_000

// vocabulary makes words of so many letters, the short ones first.
func vocabulary(r *rand.Rand, from []rune, least, most int) []string {
	all := make([]string, words)
	for i := range all {
		for range least + r.IntN(most-least+1) {
			// Some letters are used more than others.
			all[i] += string(from[min(r.IntN(len(from)), r.IntN(len(from)))])
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return all
}
