package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// Moments of a kill.
const (
	maxLoad  = 150 * time.Millisecond
	maxQuiet = 60 * time.Millisecond
	maxStart = 60 * time.Millisecond
)

// trial is a folder in which flowstore is killed again and again.
type trial struct {
	*report
	binary, data string
	ledger       *ledger
	writers      []*writer
	// underWay is what was asked for when the server was killed.
	underWay []request
}

func newTrial(o options, data string, r *report) *trial {
	t := &trial{report: r, binary: o.binary, data: data, ledger: newLedger()}
	for i := range o.writers {
		t.writers = append(t.writers, &writer{
			number: i, ledger: t.ledger, random: rand.New(rand.NewPCG(r.random.Uint64(), 2)),
			own: map[*flowRecord][]string{}, leaving: map[*flowRecord][]string{},
		})
	}
	return t
}

// run kills so many times, and then compares everything. It ends early when a start fails or something is lost.
func (t *trial) run(ctx context.Context, kills int) error {
	s, err := t.start(ctx)
	if err == nil && s != nil {
		err = t.makeFlows(ctx, s)
	}
	for i := 0; err == nil && s != nil && t.lost == 0 && i < kills; i++ {
		if err = t.killOnce(ctx, s); err == nil {
			t.kills++
			s, err = t.start(ctx)
		}
	}
	if err != nil || s == nil {
		return err
	}
	err = t.compareAll(ctx, s)
	t.progress()
	return errors.Join(err, s.kill(), s.conn.Close())
}

// start starts the server, sometimes with a kill in the middle of a start first, and compares. It gives nil when the
// server did not start.
func (t *trial) start(ctx context.Context) (*server, error) {
	if t.random.IntN(8) == 0 {
		early, err := launch(ctx, t.binary, t.data)
		if err != nil {
			return nil, err
		}
		time.Sleep(t.upTo(maxStart))
		if err := early.kill(); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	s, err := launch(ctx, t.binary, t.data)
	if err != nil {
		return nil, err
	}
	if err := s.ready(); err != nil {
		t.failedStarts++
		fmt.Println("failed start:", err)
		return nil, nil
	}
	t.slowestStart = max(t.slowestStart, time.Since(began))
	return s, t.compare(ctx, s)
}

func (t *trial) upTo(most time.Duration) time.Duration {
	return time.Duration(t.random.Int64N(int64(most)))
}

// makeFlows makes a flow for every two writers.
func (t *trial) makeFlows(ctx context.Context, s *server) error {
	for i := range max(1, len(t.writers)/2) {
		f, err := s.client.CreateFlow(ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: fmt.Sprintf("flow %d", i)}})
		if err != nil {
			return err
		}
		t.ledger.addFlow(f.GetName())
	}
	return nil
}

// killOnce lets the writers write and kills the server: under their load, or in the quiet after it.
func (t *trial) killOnce(ctx context.Context, s *server) error {
	quiet := t.random.IntN(3) == 0
	load, pause := t.upTo(maxLoad), t.upTo(maxQuiet)
	stop := make(chan struct{})
	requests, errs := make([]request, len(t.writers)), make([]error, len(t.writers)+1)
	var all sync.WaitGroup
	for i, w := range t.writers {
		all.Go(func() { requests[i], errs[i] = w.run(ctx, s.client, stop) })
	}
	time.Sleep(load)
	if quiet {
		close(stop)
		all.Wait()
		time.Sleep(pause)
	}
	killed := s.kill()
	all.Wait()
	errs[len(t.writers)] = errors.Join(killed, s.conn.Close())
	for i, w := range t.writers {
		t.acknowledged += w.count
		w.count = 0
		if requests[i] != nil {
			t.underWay = append(t.underWay, requests[i])
		}
	}
	return errors.Join(errs...)
}
