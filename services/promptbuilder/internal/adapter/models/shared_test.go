package models

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/singleflight"
)

// TestOneCountForMany: callers of one text share a count; another text is counted by itself.
func TestOneCountForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group singleflight.Group
		var asked atomic.Int32
		release := make(chan struct{})
		ask := func(context.Context) (int, error) {
			asked.Add(1)
			<-release
			return 7, nil
		}
		eight := func(context.Context) (int, error) { return 8, nil }
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if n, err := shared(t.Context(), &group, "a", ask, ask); n != 7 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			})
		}
		synctest.Wait() // Until all of them wait.
		if n, err := shared(t.Context(), &group, "b", eight, eight); n != 8 || err != nil {
			t.Errorf("another text: %d, %v", n, err)
		}
		close(release)
		all.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times for 10 callers", n)
		}
	})
}

// TestOneGivesUp: the caller that asked gives up, and the one that waits with it gets its count all the same.
func TestOneGivesUp(t *testing.T) {
	t.Parallel()
	var group singleflight.Group
	hasty, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	var first atomic.Bool
	ask := func(ctx context.Context) (int, error) {
		if first.CompareAndSwap(false, true) {
			close(started)
			<-ctx.Done()
		}
		return 5, ctx.Err()
	}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := shared(hasty, &group, "a", ask, ask); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up gets %v", err)
		}
	})
	<-started
	both.Go(func() {
		if n, err := shared(t.Context(), &group, "a", ask, ask); n != 5 || err != nil {
			t.Errorf("who waited gets %d, %v", n, err)
		}
	})
	cancel()
	both.Wait()
}

// TestAFaultIsOneCalls: the group asks in a goroutine that no interceptor guards.
func TestAFaultIsOneCalls(t *testing.T) {
	t.Parallel()
	var group singleflight.Group
	faulty := func(context.Context) (int, error) { panic("boom") }
	if _, err := shared(t.Context(), &group, "a", faulty, faulty); err == nil {
		t.Error("no error")
	}
}
