package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// oldSessions have had oldTurns turns each; of each lookAt are measured, in a young one those that end with youngTurn.
const oldSessions, oldTurns, lookAt, youngTurn = 10, 1000, 5, 12

// weighed counts the bytes of bodies that are written.
type weighed struct {
	store.Store
	bytes atomic.Int64
}

func (w *weighed) Update(ctx context.Context, namespace string, fn func(store.Tx) error) error {
	return w.Store.Update(ctx, namespace, func(tx store.Tx) error { return fn(weighedTx{tx, w}) })
}

type weighedTx struct {
	store.Tx
	of *weighed
}

func (t weighedTx) PutSession(s store.Session) error {
	t.of.bytes.Add(int64(len(s.Body)))
	return t.Tx.PutSession(s)
}

func (t weighedTx) PutText(x store.Text) error {
	t.of.bytes.Add(int64(len(x.Body)))
	return t.Tx.PutText(x)
}

func (t weighedTx) AddRecord(session string, after int64, r store.Record) error {
	t.of.bytes.Add(int64(len(r.Body)))
	return t.Tx.AddRecord(session, after, r)
}

// growing measures a turn of sessions that have had many, against one of sessions that have had few, in one store.
func growing(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	kept, err := sqlite.Open(filepath.Join(dir, "growing.db"))
	if err != nil {
		return nil, err
	}
	w := &weighed{Store: kept}
	o, err := start(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	old, err := o.create(ctx, "old", oldSessions)
	if err != nil {
		return nil, err
	}
	if _, err := burst(ctx, o, old, oldSessions*oldTurns); err != nil {
		return nil, err
	}
	var oldBytes, youngBytes []float64
	rounds := 0
	row := benchtable.Row{Ours: "turn 1,000 of a session", Peer: "turn 10 of a session", Unit: "ms", Goal: benchtable.AtMost(1.2)}
	err = row.Measure(func() (float64, error) { return look(ctx, o, w, old, &oldBytes) }, func() (float64, error) {
		rounds++
		young, err := o.create(ctx, fmt.Sprintf("young%d-", rounds), oldSessions)
		if err != nil {
			return 0, err
		}
		for _, id := range young {
			for range youngTurn - lookAt {
				if err := o.turn(ctx, id); err != nil {
					return 0, err
				}
			}
		}
		return look(ctx, o, w, young, &youngBytes)
	})
	most := benchtable.AtMost(1.02)
	row.Facts = []benchtable.Fact{
		{Name: "bytes that turn 1,000 stores, to those of turn 10", Figure: benchtable.Median(oldBytes) / benchtable.Median(youngBytes), Goal: &most},
		{Name: "bytes that a turn stores", Figure: benchtable.Median(oldBytes)},
	}
	return []benchtable.Row{row}, err
}

// look gives the median of what the next turns of sessions take, in ms, and how many bytes each stores.
func look(ctx context.Context, o *ours, w *weighed, ids []string, bytes *[]float64) (float64, error) {
	var took []float64
	for _, id := range ids {
		before := w.bytes.Load()
		for range lookAt {
			began := time.Now()
			if err := o.turn(ctx, id); err != nil {
				return 0, err
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		*bytes = append(*bytes, float64(w.bytes.Load()-before)/lookAt)
	}
	return benchtable.Median(took), nil
}
