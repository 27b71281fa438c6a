package main

import (
	"context"
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/agent/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// thinkTurns are turns of a round; a peer's, that take longer, peerTurns.
const thinkTurns, peerTurns = 2000, 200

// cpuOf gives the microseconds of a processor that each of so many turns of a session takes.
func cpuOf(ctx context.Context, o *ours, id string, turns int) (float64, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	for range turns {
		if err := o.turn(ctx, id); err != nil {
			return 0, err
		}
	}
	after, err := cpuTime()
	return float64((after - before).Microseconds()) / float64(turns), err
}

// thinking measures what a turn takes of a processor without its model, in memory alone: a prompt, an answer that is read and judged, the
// next state and the rows that tell it.
func thinking(ctx context.Context, dir string) ([]benchtable.Row, error) {
	graph, err := peer.StartGraph(ctx, "langgraph")
	if err != nil {
		without("LangGraph JS", err)
		return nil, nil
	}
	defer graph.Close()
	inMemory, err := start(ctx, newMemory())
	if err != nil {
		return nil, err
	}
	defer func() { _ = inMemory.stop() }()
	kept, err := sqlite.Open(filepath.Join(dir, "thinking.db"))
	if err != nil {
		return nil, err
	}
	durable, err := start(ctx, kept)
	if err != nil {
		return nil, err
	}
	defer func() { _ = durable.stop() }()
	for _, o := range []*ours{inMemory, durable} {
		if _, err := o.create(ctx, "s", 1); err != nil {
			return nil, err
		}
	}
	row := benchtable.Row{
		Ours: "a turn without its model, in memory", Peer: "LangGraph JS, a graph of four nodes without a checkpointer", Unit: "us of CPU",
		Goal: benchtable.AtMost(1.0 / 20),
	}
	var stored []float64
	err = row.Measure(func() (float64, error) {
		cost, err := cpuOf(ctx, durable, "s000", peerTurns)
		if err != nil {
			return 0, err
		}
		stored = append(stored, cost)
		return cpuOf(ctx, inMemory, "s000", thinkTurns)
	}, func() (float64, error) { return graph.Turns(peerTurns) })
	row.Facts = []benchtable.Fact{
		{Name: "the same turn, durable in SQLite, us of CPU", Figure: benchtable.Median(stored)},
		{Name: "each node of the graph, us of CPU", Figure: benchtable.Median(row.PeerFigures) / 4},
	}
	return []benchtable.Row{row}, err
}
