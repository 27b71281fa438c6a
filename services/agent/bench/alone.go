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
	turns := func() error { return o.turn(ctx, "s000") }
	if _, _, err := timed(aloneTurns, turns); err != nil { // the first ones cost more
		return nil, err
	}
	cpu, err := cpuOf(ctx, o, "s000", aloneTurns)
	if err != nil {
		return nil, err
	}
	floor, err := aboveFloor(dir, turns, cpu)
	if err != nil {
		return nil, err
	}
	naive, err := peer.NewFiles(filepath.Join(dir, "naive"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, naive.Close()) }()
	files := benchtable.Row{
		Ours: "durable turns, 1 session", Peer: "a state file replaced and a log appended, each with its fsync", Unit: "per second",
		Goal: benchtable.AtLeast(3.5),
	}
	if err := files.Measure(rateOf(aloneTurns, turns), rateOf(aloneTurns, naive.Turn)); err != nil {
		return nil, err
	}
	files.WhyNot = whyNot(files, cpu)
	rows = []benchtable.Row{floor, files}
	flows, err := peer.StartWorkflows(ctx, filepath.Join(dir, "alone-postgres"))
	if err != nil {
		without("DBOS on PostgreSQL", err)
		return rows, nil
	}
	defer func() { err = errors.Join(err, flows.Close()) }()
	workflow := benchtable.Row{
		Ours: "durable turns, 1 session", Peer: "steps of a DBOS workflow (Go) on PostgreSQL", Unit: "per second", Goal: benchtable.AtLeast(2.5),
	}
	err = workflow.Measure(rateOf(aloneTurns, turns), func() (float64, error) { return flows.Rate(1, aloneTurns) })
	workflow.WhyNot = whyNot(workflow, cpu)
	return append(rows, workflow), err
}

// aboveFloor measures turns, each of which takes cpu microseconds of a processor, against a block that is overwritten and synced. Beside
// it stands what the database alone takes of that.
func aboveFloor(dir string, turn func() error, cpu float64) (row benchtable.Row, err error) {
	row = benchtable.Row{
		Ours: "durable turns, 1 session", Peer: "one block overwritten and synced: the floor of the disk", Unit: "per second", Goal: benchtable.AtLeast(1 / 1.5),
	}
	bare, err := openBare(filepath.Join(dir, "bare.db"))
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	var rates []float64
	err = row.Measure(func() (float64, error) {
		rate, _, err := timed(aloneTurns, bare.write)
		if err != nil {
			return 0, err
		}
		rates = append(rates, rate)
		_, half, err := timed(aloneTurns, turn)
		return 1 / half.Seconds(), err
	}, func() (float64, error) { return benchtable.BlockRate(filepath.Join(dir, "alone-floor")) })
	row.Facts = []benchtable.Fact{
		{Name: "half of the turns, in times of the floor (goal: at most 1.5)", Figure: 1 / row.Ratio()},
		{Name: "one UPDATE and one INSERT of as many bytes in our SQLite, in times of the floor", Figure: benchtable.Median(row.PeerFigures) / benchtable.Median(rates)},
		{Name: "us of CPU of each turn", Figure: cpu},
	}
	row.WhyNot = whyNot(row, cpu)
	return row, err
}
