package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

const (
	// searchedNodes is how many nodes are searched, searchesPerRound how many queries a round has.
	searchedNodes    = 20_000
	searchesPerRound = 200
)

// searching measures the first page of a search, against looking through all texts, folded and in memory.
func searching(ctx context.Context, _ string) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "first page of a search in 20,000 nodes, median", Peer: "looking through all folded texts in memory", Unit: "us", Goal: benchtable.AtMost(0.1),
	}
	texts := newShelf()
	before := heap()
	start := time.Now()
	x := search.New()
	for _, n := range texts.nodes {
		if err := x.Put(n); err != nil {
			return row, err
		}
	}
	built := time.Since(start)
	held := heap() - before
	var snapshot bytes.Buffer
	if err := x.Encode(&snapshot, ""); err != nil {
		return row, err
	}
	before, start = heap(), time.Now()
	again, _, err := search.Decode(snapshot.Bytes())
	if err != nil {
		return row, err
	}
	opened := time.Since(start)
	read := heap() - before
	runtime.KeepAlive(again)
	queries, err := texts.queries()
	if err != nil {
		return row, err
	}
	var slowest []float64
	exact := 0
	err = row.Measure(
		func() (float64, error) {
			each, n, err := searchAll(ctx, x, texts, queries)
			if err != nil {
				return 0, err
			}
			exact = n
			slices.Sort(each)
			slowest = append(slowest, each[len(each)*99/100])
			return benchtable.Median(each), nil
		},
		func() (float64, error) { return scanAll(texts, queries), nil })
	row.Facts = []benchtable.Fact{
		{Name: "99 of 100 first pages, us", Figure: benchtable.Median(slowest)},
		{Name: "totals that are exact, of 200", Figure: float64(exact)},
		{Name: "text per node, bytes", Figure: float64(texts.bytes) / searchedNodes},
		{Name: "memory per node that was put, bytes", Figure: float64(held) / searchedNodes},
		{Name: "memory per node that was read from a snapshot, bytes", Figure: float64(read) / searchedNodes},
		{Name: "snapshot per node, bytes", Figure: float64(snapshot.Len()) / searchedNodes},
		{Name: "nodes put per second", Figure: searchedNodes / built.Seconds()},
		{Name: "reading the snapshot, ms", Figure: float64(opened.Milliseconds())},
	}
	runtime.KeepAlive(x)
	return row, err
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// searchAll gives the microseconds of each query, and how many of the totals are exact.
func searchAll(ctx context.Context, x *search.Index, texts *shelf, queries []query) (each []float64, exact int, err error) {
	for _, q := range queries {
		start := time.Now()
		res, err := x.Search(ctx, texts, q.parsed, search.Page{})
		if err != nil {
			return nil, 0, err
		}
		each = append(each, float64(time.Since(start).Nanoseconds())/1000)
		switch {
		case res.Approximate && res.Total < q.total, !res.Approximate && res.Total != q.total:
			return nil, 0, fmt.Errorf("%d nodes with %q, not %d", res.Total, q.text, q.total)
		case !res.Approximate:
			exact++
		}
	}
	return each, exact, nil
}

func scanAll(texts *shelf, queries []query) float64 {
	start := time.Now()
	for i := range queries {
		queries[i].total = texts.count(queries[i].text)
	}
	return float64(time.Since(start).Microseconds()) / float64(len(queries))
}

// query is one word; total is how many nodes hold it.
type query struct {
	text   string
	parsed *search.Query
	total  int
}

// shelf is a store in memory.
type shelf struct {
	nodes  []node.Node
	folded []string
	bytes  int
}

// Texts gives the texts of a node, whose number its id begins with.
func (l *shelf) Texts(_ context.Context, id uuid.UUID) ([]node.Text, bool, error) {
	return l.nodes[binary.BigEndian.Uint32(id[:])].Texts, true, nil
}

// Members knows no flow.
func (l *shelf) Members(context.Context, string) ([]uuid.UUID, error) {
	return nil, &search.FlowError{}
}

func (l *shelf) count(text string) int {
	n := 0
	for _, t := range l.folded {
		if strings.Contains(t, text) {
			n++
		}
	}
	return n
}

// newShelf makes nodes of 1 to 4 KB, seven parts of ten Japanese. Words are as rare as in a language: the n-th has one
// n-th of the uses of the first.
func newShelf() *shelf {
	r := rand.New(rand.NewPCG(20, 26))
	l := &shelf{}
	japanese, english := vocabulary(r, 20_000, dense), vocabulary(r, 20_000, "etaoinshrdlucmfwypvbgkjqxz")
	z := rand.NewZipf(r, 1.1, 4, 19_999)
	for i := range searchedNodes {
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
		n := node.Node{Created: time.Unix(int64(i), 0), Tags: []string{"夜"}, Model: "gemma"}
		binary.BigEndian.PutUint32(n.ID[:], uint32(i))
		half := strings.Index(b.String(), "、") + len("、")
		n.Texts = []node.Text{{Role: "user", Content: b.String()[:half]}, {Role: "assistant", Content: b.String()[half:]}}
		l.nodes = append(l.nodes, n)
		l.folded = append(l.folded, search.Fold(n.Texts[0].Content)+"\x00"+search.Fold(n.Texts[1].Content))
		l.bytes += b.Len()
	}
	return l
}

const dense = "のはをにがとでしてますかもなこれそ人日本大年中出生時間行分上見国気手前事会東京学文書場合新立思高意法動理者対社全物力海部家実山夜明駅切符風汽笛検索外政権試再黒猫雨港静光影声空夢旅町橋森川道窓扉鍵紙糸針布染織紡"

// vocabulary makes words of 1 to 4 characters of a script without blanks, and of 2 to 9 letters of the other.
func vocabulary(r *rand.Rand, n int, letters string) []string {
	from, least, most := []rune(letters), 2, 9
	if letters == dense {
		least, most = 1, 4
	}
	words := make([]string, n)
	for i := range words {
		for range least + r.IntN(most-least+1) {
			// Some letters are used more than others.
			words[i] += string(from[min(r.IntN(len(from)), r.IntN(len(from)))])
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return words
}

// queries are pieces of the texts: 1 to 8 characters, and words and beginnings of words.
func (l *shelf) queries() ([]query, error) {
	r := rand.New(rand.NewPCG(7, 7))
	out := make([]query, 0, searchesPerRound)
	for len(out) < searchesPerRound {
		text := []rune(l.nodes[r.IntN(len(l.nodes))].Texts[1].Content)
		at := r.IntN(len(text) - 8)
		word := strings.Fields(strings.TrimLeft(string(text[at:at+1+len(out)%8]), " 、"))
		if len(word) == 0 {
			continue
		}
		q := query{text: search.Fold(word[0])}
		parsed, err := search.Parse(`"`+q.text+`"`, time.UTC)
		if err != nil {
			return nil, err
		}
		q.parsed, q.total = parsed, l.count(q.text)
		out = append(out, q)
	}
	return out, nil
}
