package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/bench/bleve"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search/searchtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

const (
	// searchedNodes is how many nodes are searched, searchesPerKind how many queries of a kind a round has.
	searchedNodes   = 20_000
	searchesPerKind = 100
	// indexedNodes is how many nodes a round of making an index takes: bleve gets slower with more of them.
	indexedNodes = 2000
)

// indexing measures how fast an index is made. bleve gets batches of 1,000, the index one node after the other, as they come.
func indexing(_ context.Context, dir string) (benchtable.Row, error) {
	shelf := searchtest.New(indexedNodes)
	row := benchtable.Row{
		Ours: "nodes put into the search index", Peer: "bleve, cjk analyzer, batches of 1,000", Unit: "per second", Goal: benchtable.AtLeast(5),
	}
	round := 0
	err := row.Measure(
		func() (float64, error) {
			start := time.Now()
			_, err := index(shelf)
			return indexedNodes / time.Since(start).Seconds(), err
		},
		func() (float64, error) {
			round++
			start := time.Now()
			b, err := bleve.New(filepath.Join(dir, fmt.Sprint("bleve-", round)), shelf)
			if err != nil {
				return 0, err
			}
			return indexedNodes / time.Since(start).Seconds(), b.Close()
		})
	return row, err
}

func index(shelf *searchtest.Shelf) (*search.Index, error) {
	x := search.New()
	for _, n := range shelf.Nodes {
		if err := x.Put(n, 0); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// searching measures the first page of a search by kind of query, and the size of the index.
func searching(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	shelf := searchtest.New(searchedNodes)
	before := heap()
	x, err := index(shelf)
	if err != nil {
		return nil, err
	}
	held := heap() - before
	b, err := bleve.New(filepath.Join(dir, "bleve"), shelf)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, kind := range []struct {
		searchtest.Kind
		goal float64
	}{{searchtest.TwoCharacters, 0.1}, {searchtest.FourCharacters, 0.7}, {searchtest.Word, 1.2}, {searchtest.Both, 0.5}} {
		row, err := comparing(ctx, x, b, shelf, kind.Kind, kind.goal)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	sizes, err := sizes(x, b, shelf, held)
	return append(rows, sizes...), err
}

// comparing measures one kind of query against bleve. What the index finds is what looking through all texts finds.
func comparing(ctx context.Context, x *search.Index, b *bleve.Index, shelf *searchtest.Shelf, kind searchtest.Kind, goal float64) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "first page of a search in 20,000 nodes: " + string(kind), Peer: "bleve, match_phrase", Unit: "us", Goal: benchtable.AtMost(goal),
	}
	queries := shelf.Queries(kind, searchesPerKind, 1)
	totals := make([]int, len(queries))
	for i, q := range queries {
		totals[i] = len(shelf.Holding(q.Words...))
	}
	var slowest []float64
	exact := 0
	err := row.Measure(
		func() (float64, error) {
			each, n, err := searchAll(ctx, x, shelf, queries, totals)
			if err != nil {
				return 0, err
			}
			exact = n
			slowest = append(slowest, each[len(each)*99/100])
			return benchtable.Median(each), nil
		},
		func() (float64, error) {
			each, err := timed(queries, func(_ int, q searchtest.Query) error { return b.Search(ctx, q.Words) })
			return benchtable.Median(each), err
		})
	row.Facts = []benchtable.Fact{
		{Name: "99 of 100 first pages, us", Figure: benchtable.Median(slowest)},
		{Name: "totals that are exact, of 100", Figure: float64(exact)},
	}
	return row, err
}

// searchAll gives the microseconds of each query, sorted, and how many of the totals are exact.
func searchAll(ctx context.Context, x *search.Index, shelf *searchtest.Shelf, queries []searchtest.Query, totals []int) (each []float64, exact int, err error) {
	each, err = timed(queries, func(i int, q searchtest.Query) error {
		res, err := x.Search(ctx, shelf, q.Query, search.Page{})
		switch {
		case err != nil:
			return err
		case !res.Approximate && res.Total != totals[i]:
			return fmt.Errorf("%d nodes with %q, not %d", res.Total, q.Text, totals[i])
		case !res.Approximate:
			exact++
		}
		return nil
	})
	slices.Sort(each)
	return each, exact, err
}

// timed gives the microseconds that each query took.
func timed(queries []searchtest.Query, ask func(int, searchtest.Query) error) ([]float64, error) {
	each := make([]float64, len(queries))
	for i, q := range queries {
		start := time.Now()
		if err := ask(i, q); err != nil {
			return nil, err
		}
		each[i] = float64(time.Since(start).Nanoseconds()) / 1000
	}
	return each, nil
}

// sizes holds the index against the text.
func sizes(x *search.Index, b *bleve.Index, shelf *searchtest.Shelf, held int64) ([]benchtable.Row, error) {
	var snapshot bytes.Buffer
	if err := x.Encode(&snapshot); err != nil {
		return nil, err
	}
	before, start := heap(), time.Now()
	again, err := search.Decode(snapshot.Bytes())
	if err != nil {
		return nil, err
	}
	opened := time.Since(start)
	read := heap() - before
	runtime.KeepAlive(again)
	disk, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	each := func(bytes int64) float64 { return float64(bytes) / searchedNodes }
	text := []float64{each(int64(shelf.Bytes))}
	return []benchtable.Row{
		{
			Ours: "search index in memory", Peer: "text", Unit: "bytes per node", Goal: benchtable.AtMost(0.7), Exact: true,
			OursFigures: []float64{each(held)}, PeerFigures: text,
			Facts: []benchtable.Fact{{Name: "read from a snapshot, bytes per node", Figure: each(read)}},
		},
		{
			Ours: "snapshot of the search index on disk", Peer: "text", Unit: "bytes per node", Goal: benchtable.AtMost(0.5), Exact: true,
			OursFigures: []float64{each(int64(snapshot.Len()))}, PeerFigures: text,
			Facts: []benchtable.Fact{
				{Name: "bleve on disk, bytes per node", Figure: each(disk)},
				{Name: "reading the snapshot, ms", Figure: float64(opened.Milliseconds())},
			},
		},
	}, nil
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
