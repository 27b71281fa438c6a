package workfolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// errandKey is the variable in which a child finds what to do.
const errandKey = "TSUMUGI_TEST_WORKFOLDER"

// errand is one change that a child makes as the router does, until a step at which it sends itself a signal.
type errand struct {
	Dir, Journal string
	Change       folder.Change
	Content      string
	Step         string
	Signal       syscall.Signal
	// Unseen is a file that is renamed to Target when the child is between Stage and Apply: somebody else was quicker.
	Unseen, Target string
}

// child does the errand, if there is one.
func child() bool {
	text := os.Getenv(errandKey)
	if text == "" {
		return false
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		panic(err)
	}
	if err := e.run(context.Background()); err != nil {
		panic(err)
	}
	return true
}

// reached sends the signal to the thread that runs this, which has it before the next instruction; sent to the process, another thread
// may take it while this one goes on.
func (e errand) reached(step string) {
	if step != e.Step {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), e.Signal); err != nil {
		panic(err)
	}
}

// note writes a line of the journal, as the store of sessions would: INTENT before the effect, EXECUTED after it.
func (e errand) note(name string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(filepath.Join(e.Journal, name+" new"), data, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(e.Journal, name+" new"), filepath.Join(e.Journal, name))
	}
	return err
}

func (e errand) run(ctx context.Context) error {
	r, err := Open(Config{Name: "work", Path: e.Dir}, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	r.step = e.reached
	e.Change.Content = []byte(e.Content)
	planned := r.Plan(ctx, e.Change)[0]
	if planned.Err != nil {
		return planned.Err
	}
	e.Change.Before = planned.Plan.Before
	h, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	s, err := h.Stage(ctx, e.Change)
	if err != nil {
		return err
	}
	if err := e.note("INTENT", s); err != nil {
		return err
	}
	e.reached("intent")
	if e.Unseen != "" {
		if err := os.Rename(e.Unseen, e.Target); err != nil {
			return err
		}
	}
	out := h.Apply(ctx, s)
	if err := e.note("EXECUTED", out); err != nil {
		return err
	}
	e.reached("executed")
	if _, err := h.Finish(ctx, s); err != nil {
		return err
	}
	return h.Unlock()
}

// start starts the test binary anew for an errand.
func (e errand) start(t *testing.T) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), errandKey+"="+string(data))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// read reads what a child has written down, if it has.
func (e errand) read(t *testing.T, name string, v any) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.Journal, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// steps are where a child is killed, in their order; happened is the first of them at which the effect has happened.
var steps = []string{"staging", "staged", "intent", "renamed", "verified", "synced", "executed", "finished"}

const happened = "renamed"

// killed is one kind of change with what stands before and after it.
type killed struct {
	change  folder.Change
	content string
	path    string
	// before and after are the content of path; "-" where nothing is there.
	before, after string
	// restore puts back what was there before.
	restore func(w work) error
}

var kinds = map[string]killed{
	"write": {
		folder.Change{Op: folder.Write, Path: "a.txt"}, "new", "a.txt", "old", "new",
		func(w work) error { return os.WriteFile(filepath.Join(w.dir, "a.txt"), []byte("old"), 0o644) },
	},
	"write by rename": {
		folder.Change{Op: folder.Write, Path: "a.txt"}, "new", "a.txt", "old", "new",
		func(w work) error {
			if err := os.WriteFile(filepath.Join(w.base, "copy"), []byte("old"), 0o644); err != nil {
				return err
			}
			return os.Rename(filepath.Join(w.base, "copy"), filepath.Join(w.dir, "a.txt"))
		},
	},
	"create": {
		folder.Change{Op: folder.Create, Path: "d/e/n.txt"}, "new", "d/e/n.txt", "-", "new",
		func(w work) error { return os.RemoveAll(filepath.Join(w.dir, "d")) },
	},
	"delete": {
		folder.Change{Op: folder.Delete, Path: "a.txt"}, "", "a.txt", "old", "-",
		func(w work) error { return os.WriteFile(filepath.Join(w.dir, "a.txt"), []byte("old"), 0o644) },
	},
	"move": {
		folder.Change{Op: folder.Move, Path: "a.txt", To: "b.txt"}, "", "b.txt", "-", "old",
		func(w work) error { return os.Rename(filepath.Join(w.dir, "b.txt"), filepath.Join(w.dir, "a.txt")) },
	},
}

func (w work) content(name string) string {
	w.Helper()
	info, err := os.Lstat(filepath.Join(w.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err == nil && info.IsDir() {
		return "/"
	}
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// staged are the staged names in the folder.
func (w work) staged() (all []string) {
	w.Helper()
	for name := range tree(w.T, w.dir) {
		if strings.Contains(name, folder.StagedPrefix) {
			all = append(all, name)
		}
	}
	return all
}

func (w work) errand(k killed, step string, signal syscall.Signal) errand {
	w.Helper()
	journal := filepath.Join(w.base, "journal")
	if err := os.Mkdir(journal, 0o700); err != nil {
		w.Fatal(err)
	}
	return errand{Dir: w.dir, Journal: journal, Change: k.change, Content: k.content, Step: step, Signal: signal}
}

// field/review-agent.md S3, C52: a process killed at each step leaves a folder that proves what happened, also when somebody has put back
// what was there before; what did not happen is made once more, so that each effect happens exactly once.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for name, k := range kinds {
		for i, step := range steps {
			for _, restored := range []bool{false, true} {
				if restored && step != happened && step != "synced" {
					continue
				}
				if stages, leaves := k.change.Op != folder.Delete && k.change.Op != folder.Move, k.before != "-"; !stages && i < 2 || !leaves && step == "finished" {
					continue // There is nothing to stage, or to take away.
				}
				t.Run(fmt.Sprintf("%s/%s/restored %t", name, step, restored), func(t *testing.T) {
					t.Parallel()
					w := newWork(t)
					w.put("a.txt", "old")
					e := w.errand(k, step, syscall.SIGKILL)
					if err := e.start(t).Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
						t.Fatalf("the child was not killed at %s: %v", step, err)
					}
					w.recover(e, k, step, restored)
				})
			}
		}
	}
}

// recover does what a router does after a crash, and compares with what happened.
func (w work) recover(e errand, k killed, step string, restored bool) {
	w.Helper()
	want, did := k.before, i(step) >= i(happened)
	if did {
		want = k.after
	}
	if now := w.content(k.path); now != want {
		w.Fatalf("killed at %s, %s holds %q, want %q", step, k.path, now, want)
	}
	if restored {
		if err := k.restore(w); err != nil {
			w.Fatal(err)
		}
	}
	h := w.lock()
	defer free(h)
	var s folder.Staged
	var executed folder.Outcome
	switch {
	case !e.read(w.T, "INTENT", &s):
		if did {
			w.Fatal("an effect without INTENT")
		}
	case e.read(w.T, "EXECUTED", &executed):
		if executed.Result != folder.Done {
			w.Errorf("%+v", executed)
		}
	default:
		w.prove(h, s, k, did, restored)
	}
	if _, err := h.Finish(w.Context(), s); s.Name != "" && err != nil {
		w.Error(err)
	}
	if _, err := h.Sweep(w.Context(), nil); err != nil || len(w.staged()) > 0 {
		w.Errorf("left behind: %q, %v", w.staged(), err)
	}
}

func (w work) prove(h folder.Held, s folder.Staged, k killed, did, restored bool) {
	w.Helper()
	out := h.Prove(w.Context(), s)
	switch {
	case did && restored && k.change.Op == folder.Move: // Nothing but the time of its last change tells; a person looks.
		if out.Result != folder.Unknown {
			w.Errorf("%+v", out)
		}
	case did:
		if out.Result != folder.Done {
			w.Errorf("it happened, and the proof says %+v", out)
		}
		if now := w.content(k.path); restored && now != k.before {
			w.Errorf("the proof has changed what somebody put back: %q", now)
		}
	default:
		if out.Result != folder.NotDone {
			w.Errorf("it did not happen, and the proof says %+v", out)
		}
		s.Attempt++
		if out := h.Apply(w.Context(), s); out.Result != folder.Done || w.content(k.path) != k.after {
			w.Errorf("once more: %+v", out)
		}
		if out := h.Prove(w.Context(), s); out.Result != folder.Done {
			w.Errorf("after it was made: %+v", out)
		}
	}
}

// i is where a step stands.
func i(step string) int {
	for at, s := range steps {
		if s == step {
			return at
		}
	}
	return -1
}

// A process that is killed right after it has exchanged what it had not seen: the proof puts that back, and says that nothing was done;
// where somebody has changed the target since, that stays, and what was not seen stands beside it.
func TestKilledBeforeTheLook(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"write", "delete"} {
		for _, since := range []string{"", "newer"} {
			t.Run(name+" "+since, func(t *testing.T) {
				t.Parallel()
				w, k := newWork(t), kinds[name]
				w.put("a.txt", "old")
				e := w.errand(k, "renamed", syscall.SIGKILL)
				e.Unseen, e.Target = filepath.Join(w.base, "unseen"), filepath.Join(w.dir, "a.txt")
				if err := os.WriteFile(e.Unseen, []byte("unseen"), 0o644); err != nil {
					t.Fatal(err)
				}
				_ = e.start(t).Wait()
				if now := w.content("a.txt"); now != k.after {
					t.Fatalf("%q", now)
				}
				if since != "" {
					w.put("a.txt", since)
				}
				var s folder.Staged
				if !e.read(t, "INTENT", &s) {
					t.Fatal("no INTENT")
				}
				h := w.lock()
				defer free(h)
				out := h.Prove(t.Context(), s)
				if since == "" {
					if out.Result != folder.Stale || w.content("a.txt") != "unseen" || out.Now != folder.Of([]byte("unseen")) {
						t.Errorf("%+v, %q", out, w.content("a.txt"))
					}
				} else if out.Kept == "" || w.content("a.txt") != since || w.content(out.Kept) != "unseen" {
					t.Errorf("%+v, %q", out, w.content("a.txt"))
				}
				if _, err := h.Finish(t.Context(), s); err != nil || len(w.staged()) > 0 {
					t.Errorf("%v, %q", err, w.staged())
				}
			})
		}
	}
}

// field/review-agent.md C51: a process that is stopped in the middle keeps the folder from another one; when it goes on, its effect is
// there and is proved; when it is killed instead, the folder is free at once and proves what happened.
func TestStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"intent", "renamed"} {
		for _, goesOn := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %t", step, goesOn), func(t *testing.T) {
				t.Parallel()
				w, k := newWork(t), kinds["write"]
				w.put("a.txt", "old")
				e := w.errand(k, step, syscall.SIGSTOP)
				cmd := e.start(t)
				var status syscall.WaitStatus
				if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
					t.Fatalf("%v, %v", status, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*poll)
				defer cancel()
				_, err := w.Lock(ctx)
				if busy := (*folder.BusyError)(nil); !errors.As(err, &busy) {
					t.Fatalf("the folder is taken from a process that is stopped in the middle: %v", err)
				}
				signal, want := syscall.SIGKILL, folder.NotDone
				if step == "renamed" || goesOn {
					want = folder.Done
				}
				if goesOn {
					signal = syscall.SIGCONT
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h, err := w.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer free(h)
				if err := cmd.Wait(); (err == nil) != goesOn {
					t.Fatal(err)
				}
				var s folder.Staged
				if !e.read(t, "INTENT", &s) {
					t.Fatal("no INTENT")
				}
				if goesOn {
					var out folder.Outcome
					if !e.read(t, "EXECUTED", &out) || out.Result != folder.Done {
						t.Errorf("%+v", out)
					}
				} else if out := h.Prove(t.Context(), s); out.Result != want {
					t.Errorf("%+v, want %s", out, want)
				}
				if now := w.content("a.txt"); (now == "new") != (want == folder.Done) {
					t.Errorf("%q", now)
				}
			})
		}
	}
}

// Staged names are taken away, at any depth; of changes of which nobody knows what became only what is ours, and what somebody else wrote stays under
// a name that is seen.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "old")
	w.put("b.txt", "old")
	w.put("deep/er/c.txt", "old")
	h := w.lock()
	defer free(h)
	littered := func() bool {
		is, err := w.Littered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if littered() {
		t.Error("something is staged before anything was")
	}
	stage := func(op folder.Op, path, before, content string) folder.Staged {
		c := folder.Change{Op: op, Path: path, Before: folder.Absent, Content: []byte(content)}
		if before != "" {
			c.Before = folder.Of([]byte(before))
		}
		s, err := h.Stage(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	stage(folder.Create, "d/e.txt", "", "new")
	stage(folder.Write, "deep/er/c.txt", "old", "new")
	ours, theirs := stage(folder.Write, "a.txt", "old", "new"), stage(folder.Write, "b.txt", "old", "new")
	w.put(folder.StagedPrefix+"not ours", "x")
	if err := os.Rename(filepath.Join(w.dir, "b.txt"), filepath.Join(w.dir, theirs.Name)); err != nil { // as an exchange leaves it
		t.Fatal(err)
	}
	w.put(theirs.Name, "somebody's")
	if !littered() {
		t.Error("nothing is staged")
	}
	out, err := h.Sweep(t.Context(), []folder.Staged{ours, theirs, {Name: folder.StagedPrefix + "0123456789abcdef", Target: "gone/x.txt"}})
	if err != nil || out.Gone != 3 || len(out.Kept) != 1 || w.content(out.Kept[0]) != "somebody's" || !strings.HasPrefix(out.Kept[0], "b.txt.kept-") {
		t.Errorf("%+v, %v", out, err)
	}
	if left := w.staged(); len(left) != 1 || littered() {
		t.Errorf("%q", left)
	}
	if w.content("a.txt") != "old" || w.content("deep/er/c.txt") != "old" {
		t.Error("a target was changed")
	}
}
