package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// aloneTurns are turns of a round.
const aloneTurns = 300

// timed gives the rate of so many turns one after the other, and the median of what each took.
func timed(turns int, one func() error) (rate float64, half time.Duration, err error) {
	var took []float64
	begin := time.Now()
	for range turns {
		began := time.Now()
		if err := one(); err != nil {
			return 0, 0, err
		}
		took = append(took, float64(time.Since(began)))
	}
	return float64(turns) / time.Since(begin).Seconds(), time.Duration(benchtable.Median(took)), nil
}

func rateOf(turns int, one func() error) func() (float64, error) {
	return func() (float64, error) {
		rate, _, err := timed(turns, one)
		return rate, err
	}
}

// alone measures durable turns of one session, each after the one before: against what the disk can do, against a state file and a log,
// and against a workflow in PostgreSQL.
func alone(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	kept, err := sqlite.Open(filepath.Join(dir, "alone.db"))
	if err != nil {
		return nil, err
	}
	o, err := start(ctx, kept)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	if _, err := o.create(ctx, "s", 1); err != nil {
		return nil, err
	}
	naive, err := peer.NewFiles(filepath.Join(dir, "naive"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, naive.Close()) }()
	var toFloor, floors []float64
	turns := func() (float64, error) {
		rate, half, err := timed(aloneTurns, func() error { return o.turn(ctx, "s000") })
		if err != nil {
			return 0, err
		}
		floor, err := benchtable.BlockRate(filepath.Join(dir, "alone-floor"))
		toFloor, floors = append(toFloor, half.Seconds()*floor), append(floors, floor)
		return rate, err
	}
	files := benchtable.Row{
		Ours: "durable turns, 1 session", Peer: "a state file replaced and a log appended, each with its fsync", Unit: "per second",
		Goal: benchtable.AtLeast(3.5),
	}
	if err := files.Measure(turns, rateOf(aloneTurns, naive.Turn)); err != nil {
		return nil, err
	}
	most := benchtable.AtMost(1.5)
	files.Facts = []benchtable.Fact{
		{Name: "half of the turns, in times of one block overwritten and synced", Figure: benchtable.Median(toFloor), Goal: &most},
		{Name: "floor: one block overwritten and synced, per second", Figure: benchtable.Median(floors)},
	}
	flows, err := peer.StartWorkflows(ctx, filepath.Join(dir, "alone-postgres"))
	if err != nil {
		without("DBOS on PostgreSQL", err)
		return []benchtable.Row{files}, nil
	}
	defer func() { err = errors.Join(err, flows.Close()) }()
	workflow := benchtable.Row{
		Ours: "durable turns, 1 session", Peer: "steps of a DBOS workflow (Go) on PostgreSQL", Unit: "per second", Goal: benchtable.AtLeast(2.5),
	}
	err = workflow.Measure(turns, func() (float64, error) { return flows.Rate(1, aloneTurns) })
	return []benchtable.Row{files, workflow}, err
}
