package execchild

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// journal writes down what a router begins and ends.
type journal struct {
	now    router.Now
	begun  int
	ending router.Ending
}

func (j *journal) Begin(ctx context.Context, _ router.Intent, recheck router.Recheck) error {
	if err := recheck(ctx, j.now); err != nil {
		return err
	}
	j.begun++
	return nil
}

func (j *journal) End(_ context.Context, e router.Ending) error {
	j.ending = e
	return nil
}

// routed is a place whose programs run through the router.
type routed struct {
	place
	router.Router
	router.Session
	*journal
}

func newRouted(t *testing.T) routed {
	t.Helper()
	p := newPlace(t, nil)
	root, err := workfolder.Open(workfolder.Config{Name: "work", Path: p.work}, []string{p.data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	rules := policy.Default()
	rules.Name = "test"
	set, err := policy.NewSet([]policy.Policy{rules}, "test")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := set.Engine(policy.Choice{Policy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	admitted, err := tool.Admit(p.Definition())
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewRegistry(admitted)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	return routed{
		place:   p,
		Router:  router.Router{Tools: tools, Engine: engine, Mounts: folder.Mounts{Work: root}, Effects: func(tool.Definition) router.Effect { return p.Exec }},
		Session: router.Session{Namespace: "ns", Session: "s", Task: "t", Turn: "u", Roles: []string{policy.RoleUser}, InExecution: true, Now: now},
		journal: &journal{now: router.Now{Tools: tools, Engine: engine, InExecution: true, Roles: []string{policy.RoleUser}, Time: now}},
	}
}

func (r routed) judge(argv ...string) router.Judged {
	r.Helper()
	return r.Judge(r.Context(), r.Session, router.Call{ID: "c", Tool: tool.Exec, Args: args(r, ".", argv...)})
}

// A program starts when a person has approved exactly it; its end is the outcome.
func TestRouted(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for _, tt := range []struct {
		script string
		state  router.State
		want   string
	}{
		{"echo out >a.txt; echo done", router.Executed, "exit code 0; output\ndone\n"},
		{"echo no; exit 3", router.Failed, "exit code 3; output\nno\n"},
	} {
		j := r.judge("sh", "-c", tt.script)
		if j.Verdict() != policy.Ask || j.Subject.Process == nil || j.Subject.Process.Profile != r.profile("sh") {
			t.Fatalf("judged %v, %+v, %+v", j.Verdict(), j.Stop, j.Subject)
		}
		if ran, err := r.Run(t.Context(), j, router.Approved{}, 1, r.journal); err != nil || ran.State != router.Refused {
			t.Errorf("unasked it is %v, %v", ran.State, err)
		}
		digest, err := j.Digest("a", "s")
		if err != nil {
			t.Fatal(err)
		}
		ran, err := r.Run(t.Context(), j, router.Approved{Approval: "a", Salt: "s", CallHash: j.CallHash, Digest: digest}, 1, r.journal)
		if err != nil || ran.State != tt.state || ran.Result.Text != tt.want || !ran.Result.Untrusted || r.ending.State != tt.state {
			t.Errorf("%s: %v, %+v, %v", tt.script, ran.State, ran.Result, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.work, "a.txt")); err != nil || string(text) != "out\n" {
		t.Errorf("%q, %v", text, err)
	}
	if j := r.judge("/bin/sh"); j.Stop == nil || j.Stop.Step != router.StepArgs || !strings.Contains(j.Stop.Reason, `argv[0] must be "agent" or`) {
		t.Errorf("a program of no list: %+v", j.Stop)
	}
}

// A cancel ends the program with all that it has started, within the grace, and only then the call is over; the folder is free again.
func TestAgent17CanceledProgram(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	pids := filepath.Join(r.work, "pids")
	r.put(pids, "")
	j := r.judge("sh", "-c", brood+"sleep 600")
	digest, err := j.Digest("a", "s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		eventually(t, "four processes", func() bool { return len(alive(t, pids)) == 4 })
	}()
	ran, err := r.Run(ctx, j, router.Approved{Approval: "a", Salt: "s", CallHash: j.CallHash, Digest: digest}, 1, r.journal)
	if err != nil || ran.State != router.Failed || r.ending.State != router.Failed || !strings.Contains(ran.Result.Text, "the call was canceled") {
		t.Errorf("%v, %+v, %v", ran.State, ran.Result, err)
	}
	if left := alive(t, pids); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	held, err := r.Mounts.Work.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	// After a crash nobody can tell what a program did.
	intent := r.ending.Intent
	if ran, err := r.Reconcile(t.Context(), intent, r.journal); err != nil || ran.State != router.Unknown {
		t.Errorf("after a crash: %v, %v", ran.State, err)
	}
}
