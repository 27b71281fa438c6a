package turn

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestParked: a call whose folder somebody else has waits, longer each time, also in a process that starts anew; it is approved still, and
// runs when the folder is free.
func TestParked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.lock = time.Millisecond
	other, err := workfolder.Open(workfolder.Config{Name: "work", Path: r.dir}, nil)
	r.ok(err)
	t.Cleanup(func() { _ = other.Close() })
	held, err := other.Lock(t.Context())
	r.ok(err)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一")}))
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	for _, want := range []float64{1, 2, 4, 8, 16, 32, 60, 60} {
		until, err := r.Drive(t.Context(), ns, id)
		r.ok(err)
		if wait := until.Sub(r.clock.now).Seconds(); wait != want {
			t.Errorf("it waits %g s, not %g", wait, want)
		}
		r.restart()
		if again, err := r.Drive(t.Context(), ns, id); err != nil || !again.Equal(until) {
			t.Errorf("another process waits until %s, %v", again, err)
		}
		for at, n := range map[time.Time]int{until.Add(-time.Microsecond): 0, until: 1} {
			due, _, err := r.store.Due(t.Context(), "", at, 10)
			if err != nil || len(due) != n || n == 1 && due[0] != (store.Key{Namespace: ns, Session: id}) {
				t.Errorf("due at %s: %v, %v", at, due, err)
			}
		}
		if s := r.drive(); s.State.Turn.Running != session.Parked || s.State.LastError == "" {
			t.Errorf("%+v", s.State)
		}
		r.clock.now = until
	}
	r.ok(held.Unlock())
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	if s := r.drive(); s.State.Status != session.Success || r.file("a.md") != "一" || s.Parked.Times != 0 {
		t.Errorf("%+v, %q", s, r.file("a.md"))
	}
	r.sound()
}
