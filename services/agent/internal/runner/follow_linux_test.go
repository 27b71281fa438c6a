package runner

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// calls keeps whose calls work was told as a part of.
type calls struct {
	mu  sync.Mutex
	all []string
}

type callKey struct{}

// as is a context of a call with a name.
func as(ctx context.Context, call string) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

func (c *calls) follow(ctx, caller context.Context) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, _ := caller.Value(callKey{}).(string)
	c.all = append(c.all, name)
	return ctx
}

func (c *calls) followed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// TestACancelIsFollowed: what a message begins is a part of its call, and what a cancel has go on one of the cancel (docs/rest.md).
func TestACancelIsFollowed(t *testing.T) {
	t.Parallel()
	g, c := newGated(), &calls{}
	r := newRig(t, g.ask)
	r.Engine.Limits.Together, r.Follow = time.Millisecond, c.follow
	r.create("s")
	r.start(r.process)
	s, err := r.Send(as(t.Context(), "send"), ns, "s", text("書いて"))
	r.ok(err)
	<-g.calls
	_, err = r.Engine.Cancel(t.Context(), ns, "s", s.State.Turn.ID, ann)
	r.ok(err)
	r.Wake(as(t.Context(), "cancel"), ns, "s")
	r.until("canceled", func() bool { return r.get("s").State.Lifecycle == session.Canceled })
	r.rests("s")
	if got := c.followed(); len(got) < 2 || got[0] != "send" || got[1] != "cancel" {
		t.Errorf("followed %q", got)
	}
}

// TestWhatChangedAtTheEnd: a session that somebody changes when its drive has looked for the last time is driven anew at once, as a part of their call.
func TestWhatChangedAtTheEnd(t *testing.T) {
	t.Parallel()
	c := &calls{}
	r := newRig(t, answers(done))
	r.Follow, r.Limits.Sweep = c.follow, time.Hour
	r.create("s")
	r.start(r.process)
	d, _ := r.take(store.Key{Namespace: ns, Session: "s"})
	r.queue("s")
	r.Wake(as(t.Context(), "late"), ns, "s")
	r.free(d)
	r.drives.Done()
	r.until("somebody is followed", func() bool { return len(c.followed()) > 0 })
	if s := r.rests("s"); s.State.Status != session.Success {
		t.Errorf("%+v", s.State)
	}
	if got := c.followed(); got[0] != "late" {
		t.Errorf("followed %q", got)
	}
}
