package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// write is an answer that writes a file.
var write = say("EXECUTION", "continue", "actions", []any{map[string]any{"name": "create", "args": map[string]any{"path": "a.md", "content": "一"}}})

// running is a child.
type running struct {
	*exec.Cmd
	in       io.Closer
	out, err bytes.Buffer
}

// spawn starts a child over the store of the rig.
func (r *rig) spawn(mode string) *running {
	r.Helper()
	c := &running{Cmd: exec.Command(os.Args[0])} //nolint:gosec // this very program
	c.Env = append(os.Environ(), childMode+"="+mode, childDB+"="+r.db, childDir+"="+r.dir)
	c.Stdout, c.Stderr = &c.out, &c.err
	in, err := c.StdinPipe()
	r.ok(err)
	c.in = in
	r.ok(c.Start())
	r.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// stopped says that a process does nothing, by a signal.
func (c *running) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	_, rest, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && strings.HasPrefix(rest, "T")
}

// end lets a child end and gives what it said.
func (r *rig) end(c *running) string {
	r.Helper()
	r.ok(c.in.Close())
	if err := c.Wait(); err != nil {
		r.Fatalf("%v: %s", err, c.err.String())
	}
	return c.out.String()
}

// asked is the approval that waits.
func (r *rig) asked(id string) gate.Approval {
	r.Helper()
	var all []gate.Approval
	r.until("somebody is asked", func() bool {
		all = nil
		r.ok(r.kept.Read(r.Context(), ns, func(v store.View) error {
			found, err := v.Approvals(store.ApprovalFilter{Session: id, State: string(gate.Pending)}, store.Place{}, 100)
			for _, f := range found {
				var a gate.Approval
				if err := json.Unmarshal(f.Body, &a); err != nil {
					return err
				}
				all = append(all, a)
			}
			return err
		}))
		return len(all) == 1
	})
	return all[0]
}

func (r *rig) decide(a gate.Approval, d session.Decision) {
	r.Helper()
	who := gate.Who{Name: "bob", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
	_, err := r.Engine.Decide(r.Context(), ns, a.ID, gate.Request{Who: who, Decision: d, Digest: a.Digest})
	r.ok(err)
}

// stalled has a child begin with a session and stop where its mode says.
func stalled(t *testing.T, mode string) (*rig, *running) {
	t.Helper()
	r := newRig(t, answers(write, say("EXECUTION", "done", "reply", "書きました。")))
	r.create("s")
	r.queue("s")
	c := r.spawn(mode)
	if mode == "intent" {
		r.decide(r.asked("s"), session.Approve)
	}
	r.until("the child has stopped", c.stopped)
	if l := r.lease("s"); l.Owner == "" {
		t.Errorf("nobody has the session: %+v", l)
	}
	return r, c
}

func (r *rig) file() string {
	data, err := os.ReadFile(filepath.Join(r.dir, "a.md"))
	if err != nil {
		return ""
	}
	return string(data)
}

// TestAnOwnerThatStalls: a process stops while the model answers, beyond its lease, and wakes when another one has gone on with the
// session: what the model told it is not written, and nothing else of it is (C55).
func TestAnOwnerThatStalls(t *testing.T) {
	t.Parallel()
	r, c := stalled(t, "model")
	r.Engine.Models = answers(done)
	r.start(r.process)
	s := r.rests("s")
	r.ok(c.Process.Signal(syscall.SIGCONT))
	if out := r.end(c); out != "1 []\n" {
		t.Errorf("the child said %q", out)
	}
	if now := r.get("s"); now.Version != s.Version || now.State.Status != session.Success || now.Turns != 1 {
		t.Errorf("%+v", now)
	}
	if rows := r.rows("s"); rows["turn ANSWERED"] != 1 || rows["turn PICKED_UP"] != 1 {
		t.Errorf("%v", rows)
	}
	r.sound("s")
}

// TestAnOwnerThatStallsBeforeAnEffect: a process stops behind an INTENT, and another one takes the session over: it cannot know, so that a
// person is asked, and nothing runs a second time. The first one wakes, and does what it had begun, once, if it does not learn before
// that the session is no longer its own (C49, C51).
func TestAnOwnerThatStallsBeforeAnEffect(t *testing.T) {
	t.Parallel()
	r, c := stalled(t, "intent")
	r.start(r.process)
	a := r.asked("s")
	if r.file() != "" || a.Kind != "OUTCOME" {
		t.Errorf("%q, %+v", r.file(), a)
	}
	r.ok(c.Process.Signal(syscall.SIGCONT))
	if out := r.end(c); out != "1 []\n" {
		t.Errorf("the child said %q", out)
	}
	there, tell := r.file(), session.DidNotOccur
	if there == "一" {
		tell = session.Happened
	}
	r.decide(a, tell)
	r.Wake(t.Context(), ns, "s")
	r.until("it ends", func() bool { return r.get("s").State.Status == session.Success })
	if rows := r.rows("s"); rows["intent INTENT"] != 1 || r.file() != there {
		t.Errorf("%v, %q", rows, r.file())
	}
	r.rests("s")
	r.sound("s")
}

// TestAnOwnerThatIsKilled: behind an INTENT, before the effect: the next one proves that nothing was done, and does it once.
func TestAnOwnerThatIsKilled(t *testing.T) {
	t.Parallel()
	r, c := stalled(t, "intent")
	r.ok(c.Process.Kill())
	_ = c.Wait() // It says that it was killed.
	r.start(r.process)
	r.until("it ends", func() bool { return r.get("s").State.Status == session.Success })
	if rows := r.rows("s"); rows["turn PICKED_UP"] != 1 || r.file() != "一" {
		t.Errorf("%v, %q", rows, r.file())
	}
	r.rests("s")
	r.sound("s")
}
