package turn

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// litter is a staged name that a crash left.
const litter = folder.StagedPrefix + "0123456789abcdef"

// staged are the staged names in the work folder.
func (r *rig) staged() []string {
	r.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, folder.StagedPrefix+"*"))
	r.ok(err)
	return all
}

// sweep sweeps the work folder, and says whether that was too early.
func (r *rig) sweep() (swept folder.Swept, early bool) {
	r.Helper()
	return r.sweepAs("work", r.dir)
}

// sweepAs is sweep after the tools file has given the folder, or one above it, another name.
func (r *rig) sweepAs(name, path string) (swept folder.Swept, early bool) {
	r.Helper()
	root, err := workfolder.Open(workfolder.Config{Name: name, Path: path}, nil)
	r.ok(err)
	defer root.Close()
	swept, err = r.Sweep(r.Context(), root)
	var refusal *folder.Refusal
	if errors.As(err, &refusal) && refusal.Code == folder.Unsettled {
		return swept, true
	}
	r.ok(err)
	return swept, false
}

func (r *rig) alter(sql string) {
	r.Helper()
	other, err := durable.Open(r.db, func(*durable.DB) error { return nil })
	r.ok(err)
	r.ok(errors.Join(other.Transaction(func() error { return other.Exec(sql) }), other.Close()))
}

// TestSweepWaitsForProofs: what a crash left goes when no call that has begun in the folder, by a model or without, is without an outcome any more; an
// approval that waits keeps nothing.
func TestSweepWaitsForProofs(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rig){
		"of a model": func(r *rig) {
			r.model.script = []string{say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "霧")}), say("REVIEW", "continue"), say("REVIEW", "done")}
			r.send0("書いて")
			if _, err := r.Drive(t.Context(), ns, id); !errors.Is(err, errFault) {
				t.Fatalf("the process was not killed: %v", err)
			}
		},
		"without one": func(r *rig) {
			if _, err := r.call(owner(), false, "", "create", makeA); !errors.Is(err, errFault) {
				t.Fatalf("the process was not killed: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
			r.faulty = &faulty{at: map[string]int{"of a model": 5, "without one": 2}[name]} // the outcome
			r.restart()
			begin(r)
			r.faulty = nil
			r.restart()
			r.ok(writeFile(r, litter, "x"))
			if s, err := r.Ledger.Get(t.Context(), ns, id); err != nil || len(open(s)) != 1 {
				t.Fatalf("no call is open: %+v, %v", s, err)
			}
			if _, early := r.sweep(); !early || len(r.staged()) != 1 {
				t.Errorf("swept while a call is open: %v, %q", early, r.staged())
			}
			for name, path := range map[string]string{"renamed": r.dir, "outer": filepath.Dir(r.dir)} {
				if _, early := r.sweepAs(name, path); !early || len(r.staged()) != 1 {
					t.Errorf("swept as %s while a call is open: %v, %q", name, early, r.staged())
				}
			}
			r.clock.now = r.clock.now.Add(time.Hour)
			r.drive()
			if swept, early := r.sweep(); early || swept.Gone != 1 || len(r.staged()) != 0 || r.file("a.md") != "霧" {
				t.Errorf("%+v, %v, %q", swept, early, r.staged())
			}
		})
	}
}

// TestSweepKeepsWhatOthersWrote: while a person is asked about an outcome everything stays. Afterwards what is ours goes, and what is somebody's gets a
// name that is seen, whatever the folder is called by then.
func TestSweepKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(writeFile(r, "a.md", "古"))
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "write"}}
	r.model.script = []string{say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "霧")}), say("REVIEW", "continue"), say("REVIEW", "done")}
	r.send0("書いて")
	r.faulty = &faulty{at: 4} // the outcome
	r.restart()
	if _, err := r.Drive(t.Context(), ns, id); !errors.Is(err, errFault) {
		t.Fatalf("the process was not killed: %v", err)
	}
	r.faulty = nil
	r.restart()
	staged := r.staged()
	if len(staged) != 1 || r.file("a.md") != "霧" {
		t.Fatalf("%q", staged)
	}
	// Somebody takes the folder's file away and writes where the replaced one waits, so that nothing can prove what happened.
	r.ok(os.Remove(staged[0]))
	r.ok(os.Rename(filepath.Join(r.dir, "a.md"), filepath.Join(r.dir, "b.md")))
	r.drive()
	wait := r.pending()
	if len(wait) != 1 {
		t.Fatalf("nobody is asked: %+v", wait)
	}
	r.ok(os.WriteFile(staged[0], []byte("他人の文"), 0o600))
	r.ok(writeFile(r, litter, "x"))
	if _, early := r.sweep(); !early || len(r.staged()) != 2 {
		t.Errorf("swept while a person is asked: %v, %q", early, r.staged())
	}
	r.ok(r.decide(wait[0], session.Happened, ""))
	r.drive()
	swept, early := r.sweepAs("renamed", r.dir)
	if early || swept.Gone != 1 || len(swept.Kept) != 1 || r.file(swept.Kept[0]) != "他人の文" || len(r.staged()) != 0 {
		t.Errorf("%+v, %v, %q", swept, early, r.staged())
	}
}

// TestSweepOfABrokenSession: nobody knows whether one that cannot be read is at work in the folder; a deleted one is not.
func TestSweepOfABrokenSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(writeFile(r, litter, "x"))
	r.alter("UPDATE sessions SET body = x'00'")
	if _, early := r.sweep(); !early {
		t.Error("swept while a session cannot be read")
	}
	_, err := r.Ledger.Delete(t.Context(), ns, id, "", ann)
	r.ok(err)
	if swept, early := r.sweep(); early || swept.Gone != 1 {
		t.Errorf("%+v, %v", swept, early)
	}
}
