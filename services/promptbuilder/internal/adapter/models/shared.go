package models

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/singleflight"
)

// shared asks once what several callers ask of one server at the same time: builds of one text begin with the same count.
// Whoever gives up leaves the others' counts alone, and gets what gone says.
func shared[T any](ctx context.Context, asked *singleflight.Group, key string, ask, gone func(context.Context) (T, error)) (T, error) {
	for {
		answer := asked.DoChan(key, func() (any, error) { return guarded(ctx, ask) })
		select {
		case <-ctx.Done():
			return gone(ctx)
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

// guarded keeps a fault of ours to the calls that share it: the group asks in a goroutine of its own, which nobody guards.
func guarded[T any](ctx context.Context, ask func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("counting: %v", p)
		}
	}()
	return ask(ctx)
}
