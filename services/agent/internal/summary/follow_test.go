package summary_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// follow runs the background in a bubble, until the test ends.
func follow(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Follow(ctx, ns, summary.Request{})
		}()
		test(r)
		cancel()
		<-done
	})
}

func TestFollow(t *testing.T) {
	t.Parallel()
	follow(t, func(r *rig) {
		synctest.Wait() // it has looked at all
		id := r.store.put("p", "a")
		r.store.changes <- id
		r.store.changes <- id
		synctest.Wait()
		if n := r.store.of(id); n.Stale || n.writes != 1 {
			t.Errorf("%+v", n)
		}
		r.store.edit(id, "p", "b")
		r.store.changes <- id
		synctest.Wait()
		if n := r.store.of(id); n.Stale || n.writes != 2 || len(r.model.requests()) != 2 {
			t.Errorf("%+v after %d requests", n, len(r.model.requests()))
		}
	})
}

func TestFollowFindsWhatWasThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.store.put("p", "a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Follow(ctx, ns, summary.Request{})
		synctest.Wait()
		if r.store.of(id).Stale {
			t.Error("a node that was marked before is still")
		}
	})
}

// A node that failed is left alone until its texts change, or a person asks.
func TestFollowLeavesWhatFailed(t *testing.T) {
	t.Parallel()
	follow(t, func(r *rig) {
		r.model.replies(badReply)
		synctest.Wait()
		id := r.store.put("p", "a")
		for range 3 {
			r.store.changes <- id
			synctest.Wait()
		}
		if n := len(r.model.requests()); n != 3 { // one try
			t.Errorf("asked %d times", n)
		}
		r.store.edit(id, "p", "b")
		r.store.changes <- id
		synctest.Wait()
		if n := len(r.model.requests()); n != 6 {
			t.Errorf("asked %d times after the edit", n)
		}
		r.model.replies(goodReply)
		if e, ok := r.one().(summary.Done); !ok {
			t.Errorf("a person: %+v", e)
		}
	})
}

// While the store or the model server is away the background waits, longer each time, and then goes on with everything.
func TestFollowSurvives(t *testing.T) {
	t.Parallel()
	follow(t, func(r *rig) {
		synctest.Wait()
		start := time.Now()
		r.model.answer = func(_ context.Context, n int, _ string) (string, llm.Finish, error) {
			if n <= 3 {
				return "", "", &llm.Error{Fault: llm.FaultUnreachable}
			}
			return goodReply, "", nil
		}
		id := r.store.put("p", "a")
		r.store.changes <- id
		time.Sleep(time.Hour)
		synctest.Wait()
		if r.store.of(id).Stale || r.store.watches != 4 || len(r.observer.interrupted) != 3 {
			t.Errorf("%+v, %d watches, %v", r.store.of(id), r.store.watches, r.observer.interrupted)
		}
		if took := time.Since(start); took < 7*time.Second {
			t.Errorf("after %s", took)
		}
		close(r.store.changes) // for good
		time.Sleep(time.Hour)
		synctest.Wait() // a try may be due now
		if n := len(r.observer.interrupted); n < 50 || n > 80 {
			t.Errorf("%d tries in an hour", n)
		}
	})
}

// An edit while a call of a person works on the node is not lost: the background waits for the call, and then looks.
func TestFollowWaitsForACall(t *testing.T) {
	t.Parallel()
	follow(t, func(r *rig) {
		synctest.Wait()
		id := r.store.put("p", "a")
		r.model.answer = func(_ context.Context, n int, _ string) (string, llm.Finish, error) {
			if n == 1 {
				time.Sleep(time.Second)
				r.store.edit(id, "p", "b")
				r.store.changes <- id
				time.Sleep(time.Second)
			}
			return goodReply, "", nil
		}
		if s, ok := r.one().(summary.Skipped); !ok || s.Why != summary.Changed {
			t.Errorf("%+v", s)
		}
		synctest.Wait()
		if n := r.store.of(id); n.Stale || n.writes != 1 {
			t.Errorf("%+v", n)
		}
	})
}

func TestFollowEndsWithTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Follow(t.Context(), ns, summary.Request{})
		}()
		synctest.Wait()
		r.Drain()
		<-done
	})
}
