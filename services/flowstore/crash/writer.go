package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// writer asks for one thing after the other.
type writer struct {
	ledger   *ledger
	random   *rand.Rand
	maxFlows int
	// acknowledged counts by RPC.
	acknowledged map[string]int
}

// run asks until stop is closed or the server is gone. underWay is what was asked for and not answered, if anything.
func (w *writer) run(ctx context.Context, c client, stop <-chan struct{}) (underWay *operation, err error) {
	for {
		select {
		case <-stop:
			return nil, nil
		default:
		}
		o := w.next()
		switch err := w.do(ctx, c, o); {
		case status.Code(err) == codes.Unavailable:
			return o, nil
		case err != nil:
			return nil, err
		}
	}
}

// next draws what to ask for. CreateNode can always be drawn.
func (w *writer) next() *operation {
	sum := 0
	for _, r := range rows {
		sum += r.weight
	}
	for {
		at := w.random.IntN(sum)
		for _, r := range rows {
			if at -= r.weight; at >= 0 {
				continue
			}
			if o := w.ledger.drawn(r, w.random, w.maxFlows); o != nil {
				return o
			}
			break
		}
	}
}

// maxDraws is how often a row may draw nothing before it is taken for broken.
const maxDraws = 1000

// once does something with each row, with nobody else around, so that none goes without.
func (w *writer) once(ctx context.Context, c client) error {
	for _, r := range rows {
		for n := 0; w.acknowledged[r.rpc] == 0; n++ {
			if n == maxDraws {
				return fmt.Errorf("%s draws nothing", r.rpc)
			}
			o := w.ledger.drawn(r, w.random, w.maxFlows)
			if o == nil { // until there is something to draw from
				o = w.next()
			}
			if err := w.do(ctx, c, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) do(ctx context.Context, c client, o *operation) error {
	made, err := o.ask(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", o.rpc, err)
	}
	w.ledger.acknowledge(o, made)
	w.acknowledged[o.rpc]++
	return nil
}
