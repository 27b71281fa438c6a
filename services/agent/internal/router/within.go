package router

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// within runs something for at most a time: timeouts are the router's, not the tool's (field/agent.md 6c). A panic is an error. What does
// not come back within a grace after its time, or after a cancel, is left to itself; left is closed when it has ended, and nil where it
// has ended already.
func within[T any](ctx context.Context, limit, grace time.Duration, f func(context.Context) (T, error)) (out T, left <-chan struct{}, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	type answer struct {
		out T
		err error
	}
	answers, ended := make(chan answer, 1), make(chan struct{})
	go func() {
		defer cancel()
		defer close(ended)
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("%w: %v", errBroke, p)
			}
			answers <- a
		}()
		a.out, a.err = f(ctx)
	}()
	select {
	case a := <-answers:
		return a.out, nil, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-answers:
		if a.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.err = errors.Join(errLate, a.err)
		}
		return a.out, nil, a.err
	case <-timer.C:
		err := errLate
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("the tool did not stop: %w", ctx.Err())
		}
		return out, ended, err
	}
}
