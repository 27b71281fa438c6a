package models

import (
	"context"
	"errors"

	"golang.org/x/sync/singleflight"
)

// shared asks once what several callers ask of one server at the same time: builds of one text begin with the same count.
// Whoever gives up leaves the others' counts alone.
func shared[T any](ctx context.Context, asked *singleflight.Group, key string, ask func(context.Context) (T, error)) (T, error) {
	for {
		answer := asked.DoChan(key, func() (any, error) { return ask(ctx) })
		select {
		case <-ctx.Done():
			return ask(ctx) // says how a call ends whose time is over
		case r := <-answer:
			theirs := errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded)
			if theirs && ctx.Err() == nil {
				continue
			}
			value, _ := r.Val.(T)
			return value, r.Err
		}
	}
}
