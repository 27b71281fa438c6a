package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search/searchtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// searchesAtScale is how many queries of each kind are asked.
const searchesAtScale = 300

// atScale prints what the first page of a search takes in so many nodes, by kind of query, and what the index takes.
func atScale(ctx context.Context, nodes int) error {
	shelf := searchtest.New(nodes)
	before, start := heap(), time.Now()
	x, err := index(shelf)
	if err != nil {
		return err
	}
	built := time.Since(start)
	held := heap() - before
	f, err := os.CreateTemp(".", "bench-snapshot-")
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	fmt.Printf("%d nodes: text %d bytes per node, index %d in memory", nodes, shelf.Bytes/nodes, held/int64(nodes))
	fmt.Printf("; %.0f nodes put per second\n", float64(nodes)/built.Seconds())
	for _, kind := range searchtest.Kinds {
		err := asking(shelf, kind, func(q *search.Query) (int, bool, error) {
			res, err := x.Search(ctx, shelf, q, search.Page{})
			return res.Total, res.Approximate, err
		})
		if err != nil {
			return err
		}
	}
	start = time.Now()
	if err := x.Encode(f); err != nil {
		return err
	}
	wrote := time.Since(start)
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	start = time.Now()
	if _, err := search.Decode(data); err != nil {
		return err
	}
	fmt.Printf("snapshot: %d bytes per node, written in %d ms, read in %d ms\n", len(data)/nodes, wrote.Milliseconds(), time.Since(start).Milliseconds())
	return nil
}

// asking asks queries of a kind, and prints the time that they took and, of that, the time on a processor.
func asking(shelf *searchtest.Shelf, kind searchtest.Kind, ask func(*search.Query) (total int, approximate bool, err error)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exact, found := 0, 0
	busy := make([]float64, 0, searchesAtScale)
	each, err := timed(shelf.Queries(kind, searchesAtScale, 1), func(_ int, q searchtest.Query) error {
		before, err := cpuTime()
		if err != nil {
			return err
		}
		total, approximate, err := ask(q.Query)
		if err != nil {
			return err
		}
		after, err := cpuTime()
		busy = append(busy, float64((after - before).Microseconds()))
		found += total
		if !approximate {
			exact++
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(each)
	slices.Sort(busy)
	fmt.Printf("%-30s p50 %.0f us, p99 %.0f us; on a processor p50 %.0f us, p99 %.0f us; %d nodes on average, %d of %d totals exact\n",
		kind, benchtable.Median(each), each[len(each)*99/100], benchtable.Median(busy), busy[len(busy)*99/100], found/searchesAtScale, exact, searchesAtScale)
	return nil
}
