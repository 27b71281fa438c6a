package main

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// trial is a folder in which flowstore is killed again and again.
type trial struct {
	*kill.Report
	binary, data string
	ledger       *ledger
	writers      []*writer
	// underWay is what was asked for when the server was killed.
	underWay []*operation
}

func newTrial(o options, data string, r *kill.Report) *trial {
	t := &trial{Report: r, binary: o.binary, data: data, ledger: newLedger()}
	for range o.writers {
		t.writers = append(t.writers, &writer{
			ledger: t.ledger, random: rand.New(rand.NewPCG(r.Random.Uint64(), 2)), maxFlows: max(4, o.writers), acknowledged: map[string]int{},
		})
	}
	return t
}

// run kills so many times, and then compares everything. It ends early when a start fails or something is lost.
func (t *trial) run(ctx context.Context, kills int) error {
	s, err := t.start(ctx)
	if err == nil && s != nil {
		err = t.writers[0].once(ctx, s.client)
		t.count(t.writers[0])
	}
	for i := 0; err == nil && s != nil && t.Lost == 0 && i < kills; i++ {
		if err = t.killOnce(ctx, s); err == nil {
			t.Kills++
			s, err = t.start(ctx)
		}
	}
	if err != nil || s == nil {
		return err
	}
	return t.finish(ctx, s)
}

// finish compares everything, over the service and in the files.
func (t *trial) finish(ctx context.Context, s *server) error {
	err := t.compareThings(ctx, s, slices.Collect(maps.Keys(t.ledger.is)))
	if err == nil {
		err = s.flush(ctx)
	}
	t.Progress()
	if err := errors.Join(err, s.kill(), s.conn.Close()); err != nil {
		return err
	}
	if err := errors.Join(t.compareTree(), t.compareErased()); err != nil {
		return err
	}
	return t.check(ctx)
}

// start starts the server, sometimes with a kill in the middle of a start first, and compares. It gives nil when the
// server did not start.
func (t *trial) start(ctx context.Context) (*server, error) {
	if t.Random.IntN(4) == 0 {
		if err := t.killEarly(ctx); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	s, err := launch(ctx, t.binary, t.data)
	if err != nil {
		return nil, err
	}
	if err := s.ready(); err != nil {
		t.FailStart(err)
		return nil, nil
	}
	t.Started(began)
	return s, t.compare(ctx, s)
}

// killEarly starts the server and kills it before it has come far.
func (t *trial) killEarly(ctx context.Context) error {
	s, err := launch(ctx, t.binary, t.data)
	if err != nil {
		return err
	}
	at := whileStarting
	if t.Random.IntN(2) == 0 && kill.Watch(t.Random, t.treeChanged) {
		at = whileReplaying
	} else {
		time.Sleep(kill.UpTo(t.Random, maxStart))
	}
	t.Moments[at]++
	return s.kill()
}

// killOnce lets the writers write and kills the server.
func (t *trial) killOnce(ctx context.Context, s *server) error {
	at, load := drawMoment(t.Random), kill.UpTo(t.Random, maxLoad)
	if at == atCheckpoint {
		load += moreForCheckpoint
	}
	stop := make(chan struct{})
	operations, errs := make([]*operation, len(t.writers)), make([]error, len(t.writers)+1)
	var all sync.WaitGroup
	for i, w := range t.writers {
		all.Go(func() { operations[i], errs[i] = w.run(ctx, s.client, stop) })
	}
	time.Sleep(load)
	if at != underLoad {
		close(stop)
		at = t.await(at, &all)
	}
	t.Moments[at]++
	killed := s.kill()
	all.Wait()
	errs[len(t.writers)] = errors.Join(killed, s.conn.Close())
	for i, w := range t.writers {
		t.count(w)
		if operations[i] != nil {
			t.underWay = append(t.underWay, operations[i])
		}
	}
	return errors.Join(errs...)
}

// count adds what a writer was acknowledged since it was counted last.
func (t *trial) count(w *writer) {
	for rpc, n := range w.acknowledged {
		t.Acknowledged[rpc] += n
	}
	clear(w.acknowledged)
}

// await waits for a moment after the writers were told to stop, and says which it turned out to be.
func (t *trial) await(at kill.Moment, writers *sync.WaitGroup) kill.Moment {
	switch {
	case at == whileWriting && kill.Watch(t.Random, t.treeChanged), at == atCheckpoint && kill.Watch(t.Random, t.checkpointed):
		return at
	}
	writers.Wait()
	time.Sleep(kill.UpTo(t.Random, maxQuiet))
	return inQuiet
}
