package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/agent/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// manySessions work at once, and have so many turns together in a round; workflows have fewer, since they take longer.
const manySessions, manyTurns, manySteps = 64, 3000, 1280

// burst gives the rate of turns of sessions that work at once.
func burst(ctx context.Context, o *ours, ids []string, turns int) (float64, error) {
	var next atomic.Int64
	begin := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, id := range ids {
		group.Go(func() error {
			for next.Add(1) <= int64(turns) {
				if err := o.turn(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(turns) / time.Since(begin).Seconds(), err
}

// together measures durable turns of many sessions at once, against workflows in PostgreSQL, and against the least that a turn can be
// there.
func together(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	kept, err := sqlite.Open(filepath.Join(dir, "together.db"))
	if err != nil {
		return nil, err
	}
	o, err := start(ctx, kept)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	ids, err := o.create(ctx, "s", manySessions)
	if err != nil {
		return nil, err
	}
	flows, err := peer.StartWorkflows(ctx, filepath.Join(dir, "together-postgres"))
	if err != nil {
		without("PostgreSQL, with and without DBOS,", err)
		return nil, nil
	}
	defer func() { err = errors.Join(err, flows.Close()) }()
	var perSync, cpu []float64
	turns := func() (float64, error) {
		syncs := kept.Commits()
		before, err := cpuTime()
		if err != nil {
			return 0, err
		}
		rate, err := burst(ctx, o, ids, manyTurns)
		if err != nil {
			return 0, err
		}
		after, err := cpuTime()
		perSync = append(perSync, manyTurns/float64(kept.Commits()-syncs))
		cpu = append(cpu, float64((after-before).Microseconds())/manyTurns)
		return rate, err
	}
	workflow := benchtable.Row{
		Ours: "durable turns, 64 sessions", Peer: "steps of 64 DBOS workflows (Go) on PostgreSQL", Unit: "per second", Goal: benchtable.AtLeast(5),
	}
	if err := workflow.Measure(turns, func() (float64, error) { return flows.Rate(manySessions, manySteps) }); err != nil {
		return nil, err
	}
	workflow.WhyNot = whyNot(workflow, benchtable.Median(cpu))
	workflow.Facts = []benchtable.Fact{
		{Name: "turns per fdatasync", Figure: benchtable.Median(perSync)}, {Name: "us of CPU of each turn", Figure: benchtable.Median(cpu)},
	}
	step := benchtable.Row{
		Ours: "durable turns, 64 sessions", Unit: "per second", Goal: benchtable.AtLeast(2),
		Peer: "one UPDATE and one INSERT of bytes that are there in a transaction of PostgreSQL, 16 connections (no prompt, no answer, no rows that verify)",
	}
	err = step.Measure(turns, func() (float64, error) { return flows.Steps(ctx, manyTurns) })
	step.WhyNot = whyNot(step, benchtable.Median(cpu))
	return []benchtable.Row{workflow, step}, err
}

// whyNot says why a row cannot be at its goal: where the processors, with nothing else to do, have not the time for so many turns. Empty
// where they have.
func whyNot(r benchtable.Row, cpu float64) string {
	processors := runtime.GOMAXPROCS(0)
	most, goal := float64(processors)*1e6/cpu, r.Goal.Value*benchtable.Median(r.PeerFigures)
	if most >= goal {
		return ""
	}
	return fmt.Sprintf("a turn takes %.0f us of a processor, so that %d processors give %.0f turns a second at most; the goal is %.0f here", cpu, processors, most, goal)
}
