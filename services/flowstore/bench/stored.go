package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search/searchtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// stored makes a store of so many nodes, 70 % Japanese, and prints what a create costs in it, what the first page of a search
// takes, which reads files, how long it takes to open, and what it takes in memory and on disk.
func stored(ctx context.Context, nodes int) (err error) {
	dir, err := os.MkdirTemp(".", "bench-data-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	shelf := searchtest.New(nodes)
	before := heap()
	e, err := openEngine(dir)
	if err != nil {
		return err
	}
	few := min(fewNodes, nodes)
	if err := e.store(ctx, shelf.Nodes[:few]); err != nil {
		return errors.Join(err, e.Close())
	}
	first, errFirst := e.costs(ctx)
	start := time.Now()
	if err := errors.Join(errFirst, e.store(ctx, shelf.Nodes[few:])); err != nil {
		return errors.Join(err, e.Close())
	}
	built := time.Since(start)
	last, err := e.costs(ctx)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	held := heap() - before
	fmt.Printf("%d nodes of %d bytes of text, %.0f per second until all files are there\n", nodes, shelf.Bytes/nodes, float64(nodes-few)/built.Seconds())
	fmt.Printf("a durable create, 1 writer, half of them: %s in %d nodes, %s in %d (%.2f times)\n", first, few, last, nodes, last.Seconds()/first.Seconds())
	runtime.KeepAlive(e)
	for _, kind := range searchtest.Kinds {
		err := asking(shelf, kind, func(q *search.Query) (int, bool, error) {
			page, err := e.Library.Search(ctx, namespace.Default, q, search.Page{})
			return page.Total, page.Approximate, err
		})
		if err != nil {
			return errors.Join(err, e.Close())
		}
	}
	if err := e.Close(); err != nil {
		return err
	}
	fmt.Printf("memory: %d bytes per node\n", held/int64(nodes+2*costCreates))
	return opened(ctx, dir, nodes+2*costCreates)
}

// store creates nodes, 32 at once, and has them written.
func (e *engine) store(ctx context.Context, nodes []node.Node) error {
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, n := range nodes {
		group.Go(func() error {
			_, err := e.CreateNode(creating, namespace.Default, library.NewNode{Node: n, ID: n.ID})
			return err
		})
	}
	return errors.Join(group.Wait(), e.flush(ctx))
}

// costCreates is how many creates are timed at either size.
const costCreates = 1500

// costs is what half of some creates take at most, one after the other.
func (e *engine) costs(ctx context.Context) (time.Duration, error) {
	b, err := burstOf(ctx, 1, costCreates, e.create)
	return b.p50, errors.Join(err, e.flush(ctx))
}

// opened prints how long a store takes to open, and what it takes on disk.
func opened(ctx context.Context, dir string, nodes int) error {
	known, err := openStore(ctx, dir)
	if err != nil {
		return err
	}
	parsed, _, err := parseFiles(filepath.Join(dir, "default", "nodes"))
	if err != nil {
		return err
	}
	tree, errTree := sizeOf(filepath.Join(dir, "default", "nodes"))
	local, errLocal := sizeOf(filepath.Join(dir, "default", ".flowstore"))
	if err := os.RemoveAll(filepath.Join(dir, "default", ".flowstore")); err != nil {
		return err
	}
	anew, err := openStore(ctx, dir)
	fmt.Printf("opening: %.0f ms, without local.db %.0f ms; parsing all files with encoding/xml %.0f ms\n", known, anew, parsed)
	fmt.Printf("disk: %d bytes per node in files, %d in local.db\n", tree/int64(nodes), local/int64(nodes))
	return errors.Join(errTree, errLocal, err)
}

func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
