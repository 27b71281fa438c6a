package search_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search/searchtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// scale is how many nodes and queries of each kind TestEqualAtScale takes: TSUMUGI_SEARCH_NODES, and one query for each 350
// of them, so that 100,000 are asked for 2,000 times.
func scale(t *testing.T) (nodes, queries int) {
	t.Helper()
	nodes = 1500
	if text := os.Getenv("TSUMUGI_SEARCH_NODES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1000 {
			t.Fatalf("TSUMUGI_SEARCH_NODES is %q; it must be a number of nodes, 1000 at least", text)
		}
		nodes = n
	}
	return nodes, max(nodes/350, 20)
}

// In as many nodes as a person keeps in years, a search finds what looking through all texts finds, in the order that is
// documented; also after nodes were replaced, which leaves segments of all sizes, and from a snapshot.
func TestEqualAtScale(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	nodes, queries := scale(t)
	shelf, x := searchtest.New(nodes), search.New()
	for _, n := range shelf.Nodes {
		if err := x.Put(n, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < nodes; i += 7 {
		if err := x.Put(shelf.Nodes[i], 0); err != nil {
			t.Fatal(err)
		}
	}
	var y *search.Index
	for _, kind := range searchtest.Kinds {
		for i, q := range shelf.Queries(kind, queries, 1) {
			equal(t, shelf, x, q)
			if y != nil && i%10 == 0 {
				equal(t, shelf, y, q)
			}
		}
		if y == nil {
			y = reread(t, x)
		}
	}
}

// compared is how many hits are compared, of those that come first.
const compared = 500

// equal compares the total and the first hits, and all of them where they are not many.
func equal(t *testing.T, shelf *searchtest.Shelf, x *search.Index, q searchtest.Query) {
	t.Helper()
	holding := shelf.Holding(q.Words...)
	want := first(shelf, q, holding)
	page := search.Page{Size: search.MaxPage, Reads: search.MaxReads}
	for at := 0; ; {
		res, err := x.Search(t.Context(), shelf, q.Query, page)
		if err != nil || res.Approximate || res.Total != len(holding) {
			t.Fatalf("%q: %d nodes, approximate: %v, error: %v; there are %d", q.Text, res.Total, res.Approximate, err, len(holding))
		}
		for _, h := range res.Hits {
			if n := searchtest.Number(h.ID); at >= len(want) || n != want[at] || len(h.Highlights) == 0 {
				t.Fatalf("%q: hit %d is node %d: %+v", q.Text, at+1, n, h)
			}
			at++
		}
		if page.After = res.Next; page.After == "" && at != len(holding) {
			t.Fatalf("%q: %d hits of %d", q.Text, at, len(holding))
		}
		if page.After == "" || at >= compared {
			return
		}
	}
}

// first gives the nodes that come first: those in which most words begin, the newer ones before the older ones.
func first(shelf *searchtest.Shelf, q searchtest.Query, holding []int) []int {
	ranked := make([][]int, len(q.Words)+1)
	for _, n := range slices.Backward(holding) {
		rank := len(q.Words) - begins(shelf, q, n)
		if ranked[rank] = append(ranked[rank], n); len(ranked[0]) == compared {
			return ranked[0]
		}
	}
	return slices.Concat(ranked...)
}

// begins is with how many words of the query a word of the node begins.
func begins(shelf *searchtest.Shelf, q searchtest.Query, number int) int {
	n := 0
	for _, w := range q.Words {
		if starts([]string{shelf.Folded[number]}, w) {
			n++
		}
	}
	return n
}
