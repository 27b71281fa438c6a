package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// connects is how many edges a round adds: each from a node of its own to the first of 10,000 in a row, so that all of them
// are looked through for a cycle.
const connects = 50

// connecting measures ConnectNodes in a flow of 10,000 nodes, against saving it with yaml.v3.
func connecting(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	durable, err := openEngine(filepath.Join(dir, "connecting"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, durable.Close()) }()
	inFiles, err := newLine(ctx, durable.Store)
	if err != nil {
		return nil, err
	}
	inMemory, err := newLine(ctx, memory.New(time.Now))
	if err != nil {
		return nil, err
	}
	_, plain := line(flowMembers)
	row := benchtable.Row{Ours: "an edge in a flow of 10,000 nodes, durable", Peer: "saving the flow with yaml.v3, no fsync", Unit: "ms", Goal: benchtable.AtMost(0.02)}
	var toFloor, held []float64
	err = row.Measure(
		func() (float64, error) {
			took, err := inFiles.connect(ctx)
			if err != nil {
				return 0, err
			}
			floor, err := benchtable.BlockRate(filepath.Join(dir, "connecting-floor"))
			if err != nil {
				return 0, err
			}
			toFloor = append(toFloor, took/1000*floor)
			plainly, err := inMemory.connect(ctx)
			held = append(held, plainly)
			return took, errors.Join(err, durable.flush(ctx))
		},
		func() (float64, error) { return millis(func() error { _, err := yamlx.Marshal(plain); return err }) })
	one, most := benchtable.AtMost(1), benchtable.AtMost(1.5)
	row.Facts = []benchtable.Fact{
		{Name: "in memory, ms", Figure: benchtable.Median(held), Goal: &one},
		{Name: "durable, in times of one block overwritten and synced", Figure: benchtable.Median(toFloor), Goal: &most},
	}
	return []benchtable.Row{row}, err
}

// lined is a stored flow of nodes in a row, with nodes beside it that continue nothing.
type lined struct {
	*library.Library
	flow, first uuid.UUID
	beside      []uuid.UUID
}

func newLine(ctx context.Context, s store.Store) (*lined, error) {
	l := &lined{Library: library.New(s, newIDs{})}
	f, _ := line(flowMembers)
	for range connects + 1 {
		n, err := l.CreateNode(ctx, namespace.Default, library.NewNode{Node: sampleNode()})
		if err != nil {
			return nil, err
		}
		l.beside = append(l.beside, n.ID)
	}
	l.first, l.beside = l.beside[0], l.beside[1:]
	f.Members[0].Node = l.first
	c := flow.Change{Add: f.Members, Connect: f.Edges}
	for i, id := range l.beside {
		c.Add = append(c.Add, flow.Member{Index: flowMembers + 1 + i, Node: id})
	}
	made, err := l.CreateFlow(ctx, namespace.Default, library.NewFlow{Flow: flow.Flow{Name: "夜明けの町"}})
	if err != nil {
		return nil, err
	}
	l.flow = made.ID
	return l, s.Update(ctx, namespace.Default, func(tx store.Tx) error {
		c.At = tx.Now()
		return tx.ChangeFlow(l.flow, c)
	})
}

// connect adds the edges, takes them away again, and gives the milliseconds that half of the additions took at most.
func (l *lined) connect(ctx context.Context) (float64, error) {
	edge := func(parent uuid.UUID) library.Connection {
		return library.Connection{Operation: library.Operation{Flow: l.flow}, Parent: parent, Child: l.first}
	}
	took := make([]float64, 0, connects)
	for _, parent := range l.beside {
		one, err := millis(func() error {
			_, err := l.Connect(ctx, namespace.Default, edge(parent))
			return err
		})
		if err != nil {
			return 0, err
		}
		took = append(took, one)
	}
	for _, parent := range l.beside {
		if _, err := l.Disconnect(ctx, namespace.Default, edge(parent)); err != nil {
			return 0, err
		}
	}
	return benchtable.Median(took), nil
}
