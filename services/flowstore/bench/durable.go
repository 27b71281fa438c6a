package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// aloneCreates is how many nodes one writer creates in a round.
const aloneCreates = 300

// newIDs makes ids of version 7.
type newIDs struct{}

func (newIDs) NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// engine is the file engine without gRPC, as its peers are measured.
type engine struct {
	*files.Store
	*library.Library
}

func openEngine(data string) (*engine, error) {
	s, err := files.Open(files.Options{Data: data})
	if err != nil {
		return nil, err
	}
	return &engine{s, library.New(s, newIDs{})}, nil
}

// creator makes a node durable.
type creator func(context.Context, node.Node) error

func (e *engine) create(ctx context.Context, n node.Node) error {
	_, err := e.CreateNode(ctx, namespace.Default, library.NewNode{Node: n})
	return err
}

func (e *engine) flush(ctx context.Context) error {
	_, err := e.Store.Flush(ctx, namespace.Default)
	return err
}

// burst is what creating so many nodes took.
type burst struct {
	rate     float64
	p50, p99 time.Duration
}

// burstOf has callers create nodes as fast as they can.
func burstOf(ctx context.Context, callers, creates int, create creator) (burst, error) {
	took := make([]time.Duration, creates)
	var next atomic.Int64
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(creates); i = next.Add(1) - 1 {
				began := time.Now()
				if err := create(ctx, sampleNode()); err != nil {
					return err
				}
				took[i] = time.Since(began)
			}
			return nil
		})
	}
	err := group.Wait()
	rate := float64(creates) / time.Since(start).Seconds()
	slices.Sort(took)
	return burst{rate, took[creates/2], took[creates*99/100]}, err
}

// sides are the engines that make nodes durable: ours, one fsync per file, and SQLite.
type sides struct {
	ours   *engine
	naive  creator
	sqlite *sqlite
	// block is a file for the floor.
	block string
	close func() error
}

func openSides(ctx context.Context, dir string, creates int) (*sides, error) {
	ours, err := openEngine(filepath.Join(dir, "ours"))
	if err != nil {
		return nil, err
	}
	each, err := peer.New(filepath.Join(dir, "naive"), (1+benchtable.Rounds)*creates)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	db, err := openSQLite(ctx, filepath.Join(dir, "peer.db"))
	if err != nil {
		return nil, errors.Join(err, ours.Close(), each.Close())
	}
	naive := library.New(each, each)
	return &sides{
		ours: ours, sqlite: db, block: filepath.Join(dir, "floor"),
		naive: func(ctx context.Context, n node.Node) error {
			_, err := naive.CreateNode(ctx, namespace.Default, library.NewNode{Node: n})
			return err
		},
		close: func() error { return errors.Join(ours.Close(), each.Close(), db.close()) },
	}, nil
}

// Close of both parts of an engine is that of the store.
func (e *engine) Close() error { return e.Store.Close() }

// counted are exact figures of a run of ours.
type counted struct{ syncs, mallocs float64 }

// count runs something of ours and counts its fsyncs and allocations.
func (e *engine) count(run func() error) (counted, error) {
	var before, after runtime.MemStats
	syncs := e.Stats().Syncs
	runtime.ReadMemStats(&before)
	err := run()
	runtime.ReadMemStats(&after)
	return counted{float64(e.Stats().Syncs - syncs), float64(after.Mallocs - before.Mallocs)}, err
}

// creatingAlone measures one caller who waits for each create: against one fsync per file, and against SQLite.
func creatingAlone(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	s, err := openSides(ctx, filepath.Join(dir, "alone"), aloneCreates)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var toFloor, floors, syncs, mallocs []float64
	ours := func() (float64, error) {
		var b burst
		c, err := s.ours.count(func() (err error) {
			b, err = burstOf(ctx, 1, aloneCreates, s.ours.create)
			return err
		})
		if err != nil {
			return 0, err
		}
		floor, err := benchtable.BlockRate(s.block)
		if err != nil {
			return 0, err
		}
		floors = append(floors, floor)
		toFloor = append(toFloor, b.p50.Seconds()*floor)
		syncs, mallocs = append(syncs, c.syncs/aloneCreates), append(mallocs, c.mallocs/aloneCreates)
		return b.rate, s.ours.flush(ctx)
	}
	naive := benchtable.Row{
		Ours: "durable creates, 1 writer", Peer: "one fsync per file", Unit: "per second", Goal: benchtable.AtLeast(3),
	}
	if err := naive.Measure(ours, peerRate(ctx, 1, aloneCreates, s.naive)); err != nil {
		return nil, err
	}
	most := benchtable.AtMost(1.5)
	naive.Facts = []benchtable.Fact{
		{Name: "half of the creates, in times of one block overwritten and synced", Figure: benchtable.Median(toFloor), Goal: &most},
		{Name: "floor: one block overwritten and synced, per second", Figure: benchtable.Median(floors)},
		{Name: "fsyncs of the log per create", Figure: benchtable.Median(syncs)},
		{Name: "allocations per create", Figure: benchtable.Median(mallocs)},
		{Name: "bytes of the node's file", Figure: float64(sampleSize())},
	}
	sqlite := benchtable.Row{
		Ours: "durable creates, 1 writer", Peer: "SQLite, synchronous=FULL, one INSERT each", Unit: "per second", Goal: benchtable.AtLeast(0.8),
	}
	err = sqlite.Measure(ours, peerRate(ctx, 1, aloneCreates, s.sqlite.create))
	return []benchtable.Row{naive, sqlite}, err
}

func peerRate(ctx context.Context, callers, creates int, create creator) func() (float64, error) {
	return func() (float64, error) {
		b, err := burstOf(ctx, callers, creates, create)
		return b.rate, err
	}
}

// creatingTogether measures bursts of many callers, without gRPC: until they are acknowledged, and until all text files are
// there. PostgreSQL, which the goal table names, is no part of this: it has to be installed first.
func creatingTogether(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	s, err := openSides(ctx, filepath.Join(dir, "together"), createsPerRound)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var written, slow, floors, perSync []float64
	ours := func() (float64, error) {
		var b burst
		c, err := s.ours.count(func() (err error) {
			b, err = burstOf(ctx, writers, createsPerRound, s.ours.create)
			return err
		})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		err = s.ours.flush(ctx)
		written = append(written, createsPerRound/(createsPerRound/b.rate+time.Since(began).Seconds()))
		floor, errFloor := benchtable.BlockRate(s.block)
		slow, floors, perSync = append(slow, b.p99.Seconds()*floor), append(floors, floor), append(perSync, createsPerRound/c.syncs)
		return b.rate, errors.Join(err, errFloor)
	}
	burst := benchtable.Row{Ours: "durable creates, 32 writers", Peer: "one fsync per file", Unit: "per second", Goal: benchtable.AtLeast(8)}
	if err := burst.Measure(ours, peerRate(ctx, writers, createsPerRound, s.naive)); err != nil {
		return nil, err
	}
	most := benchtable.AtMost(25)
	burst.Facts = []benchtable.Fact{
		{Name: "99 of 100 creates, in times of one block overwritten and synced", Figure: benchtable.Median(slow), Goal: &most},
		{Name: "floor: one block overwritten and synced, per second", Figure: benchtable.Median(floors)},
		{Name: "creates per fsync of the log", Figure: benchtable.Median(perSync)},
	}
	inFiles := benchtable.Row{
		Ours: "creates, 32 writers, until all text files are there", Peer: "one fsync per file", Unit: "per second", Goal: benchtable.AtLeast(1.8),
		OursFigures: written[1:], PeerFigures: burst.PeerFigures, // the first was to warm up
	}
	sqlite := benchtable.Row{
		Ours: "durable creates, 32 writers", Peer: "SQLite, synchronous=FULL, 32 callers (PostgreSQL is not measured)", Unit: "per second",
		Goal: benchtable.AtLeast(3),
	}
	err = sqlite.Measure(ours, peerRate(ctx, writers, createsPerRound, s.sqlite.create))
	return []benchtable.Row{burst, inFiles, sqlite}, err
}
