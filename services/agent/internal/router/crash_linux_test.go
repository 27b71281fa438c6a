package router

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// errandKey is the variable in which a child finds what to do.
const errandKey = "TSUMUGI_TEST_ROUTER"

// errand is one approved call that a child makes until a point at which it kills itself.
type errand struct {
	Dir, Journal, Point string
	Call                Call
	Approved            Approved
}

// points are where a child is killed, in the order of field/review-agent.md 5; applied is the first at which the effect has happened,
// intent the first at which INTENT is written down, ended the first at which the outcome is.
var points = []string{"locked", "staged", "rechecked", "intent", "applying", "applied", "ending", "ended", "finishing", "finished"}

func reached(point string) int { return slices.Index(points, point) }

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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (e errand) run(ctx context.Context) error {
	root := &counted{Root: must(workfolder.Open(workfolder.Config{Name: "work", Path: e.Dir}, nil)), step: e.at}
	var tools []*tool.Tool
	for _, d := range tool.BuiltIns() {
		tools = append(tools, must(tool.Admit(d)))
	}
	set := must(policy.NewSet([]policy.Policy{{Name: "test", Extensions: policy.DefaultExtensions()}}, "test"))
	r := Router{Tools: must(tool.NewRegistry(tools...)), Engine: must(set.Engine(policy.Choice{Policy: "test"})), Mounts: folder.Mounts{Work: root}}
	s := Session{Namespace: "ns", Session: "s1", Task: "t1", Turn: "u1", Roles: []string{policy.RoleUser}, InExecution: true, Now: noon}
	j := r.Judge(ctx, s, e.Call)
	_, err := r.Run(ctx, j, e.Approved, 1, &disk{errand: e, now: Now{Tools: r.Tools, Engine: r.Engine, InExecution: true, Roles: s.Roles, Time: noon}})
	return err
}

// at sends the signal to the thread that runs this, which has it before the next instruction.
func (e errand) at(point string) {
	if point != e.Point {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGKILL); err != nil {
		panic(err)
	}
}

// disk is a journal of two files.
type disk struct {
	errand
	now Now
}

func (d *disk) note(name string, v any) error {
	data, err := json.Marshal(v)
	path := filepath.Join(d.Journal, name)
	return errors.Join(err, os.WriteFile(path+" new", data, 0o600), os.Rename(path+" new", path))
}

func (d *disk) Begin(ctx context.Context, i Intent, recheck Recheck) error {
	if err := recheck(ctx, d.now); err != nil {
		return err
	}
	d.at("rechecked")
	err := d.note("INTENT", i)
	d.at("intent")
	return err
}

func (d *disk) End(_ context.Context, e Ending) error {
	d.at("ending")
	err := d.note("ENDING", e)
	d.at("ended")
	return err
}

// noted reads what a child has written down, if it has.
func (w *world) noted(journal, name string, v any) bool {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(journal, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err = errors.Join(err, json.Unmarshal(data, v)); err != nil {
		w.Fatal(err)
	}
	return true
}

// killed is a call, and what its file holds before and after it.
type killed struct {
	call                Call
	path, before, after string
}

// A process killed at each point of the pipeline leaves a record and a folder from which one knows what happened: what was not begun starts
// under the same approval, what is proven not done starts once more, what happened is never done twice, also when somebody has put back what
// was there before (field/review-agent.md 5, C49 to C52).
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]killed{
		"write":  {write("a.txt", "new"), "a.txt", "old", "new"},
		"create": {call(tool.Create, map[string]any{"path": "d/n.txt", "content": "new"}), "d/n.txt", "-", "new"},
		"delete": {call(tool.Delete, map[string]any{"path": "a.txt"}), "a.txt", "old", "-"},
		"move":   {call(tool.Move, map[string]any{"source": "a.txt", "destination": "b.txt"}), "b.txt", "-", "old"},
	} {
		for _, point := range points {
			for _, restored := range []bool{false, true} {
				if restored && (point != "applied" || name != "write" && name != "delete") {
					continue
				}
				t.Run(name+" "+point+map[bool]string{true: " restored"}[restored], func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					w.put("a.txt", "old")
					w.kill(k, point, restored)
				})
			}
		}
	}
}

func (w *world) kill(k killed, point string, restored bool) {
	w.Helper()
	ctx := w.Context()
	ok := w.approve(w.judge(k.call))
	e := errand{Dir: w.dir, Journal: filepath.Join(w.base, "journal"), Point: point, Call: k.call, Approved: ok}
	data, err := json.Marshal(e)
	if err = errors.Join(err, os.Mkdir(e.Journal, 0o700)); err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), errandKey+"="+string(data))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		w.Fatalf("the child was not killed at %s: %v\n%s", point, err, out)
	}
	did := reached(point) >= reached("applied")
	if now := w.content(k.path); (now == k.after) != did {
		w.Fatalf("killed at %s, it holds %q", point, now)
	}
	if restored {
		w.put(k.path, k.before)
	}
	var i Intent
	var end Ending
	intent, ended := w.noted(e.Journal, "INTENT", &i), w.noted(e.Journal, "ENDING", &end)
	if intent != (reached(point) >= reached("intent")) || ended != (reached(point) >= reached("ended")) {
		w.Fatalf("INTENT %t, outcome %t", intent, ended)
	}
	switch {
	case !intent:
		w.again(k, ok, 1)
	case ended:
		if end.State != Executed {
			w.Errorf("%+v", end)
		}
	default:
		ran, err := w.Reconcile(ctx, i, w.book)
		if err != nil || len(w.ends) != 1 || !w.ends[0].Proven {
			w.Fatalf("%+v, %v", w.ends, err)
		}
		if want := map[bool]State{true: Executed, false: NotDone}[did]; ran.State != want {
			w.Fatalf("%+v", ran)
		}
		rows(w, w.ends[0].Entry(w.Session))
		if !did {
			w.again(k, ok, 2)
		}
	}
	want := k.after
	if restored {
		want = k.before // What somebody has put back since stays.
	}
	if now := w.content(k.path); now != want {
		w.Errorf("in the end it holds %q", now)
	}
	w.sweep()
}

// again starts the call under the same approval.
func (w *world) again(k killed, ok Approved, attempt int) {
	w.Helper()
	c := k.call
	ran, err := w.Run(w.Context(), w.judge(c), ok, attempt, w.book)
	if err != nil || ran.State != Executed {
		w.Fatalf("%+v, %v", ran, err)
	}
}

// sweep takes away what no INTENT needs, as whoever settles all of them does.
func (w *world) sweep() {
	w.Helper()
	h, err := w.root.Lock(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer h.Unlock() //nolint:errcheck // only swept
	if _, err := h.Sweep(w.Context(), nil); err != nil || len(w.staged()) > 0 {
		w.Errorf("%v, %q", err, w.staged())
	}
}

// A folder that another process holds is not waited for without end: before INTENT the call is parked, after it nobody knows (C51).
func TestBusyFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, allowAll)
	j := w.judge(write("a.txt", "x"))
	other := w.open(workfolder.Config{Name: "work", Path: w.dir})
	h, err := other.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ran := w.run(j, Approved{})
	if ran.State != Parked || len(w.intents)+len(w.voids) > 0 || ran.Result.Status != tool.Waiting {
		t.Errorf("%+v", ran)
	}
	i := Intent{Call: "c1", Tool: tool.Write, CallHash: j.CallHash, ArgsDigest: j.ArgsDigest, Definition: canon.Sum(nil), Root: "work", Attempt: 1, InFolder: true}
	if ran, err := w.Reconcile(t.Context(), i, w.book); err != nil || ran.State != Unknown {
		t.Errorf("%+v, %v", ran, err)
	}
	if err := h.Unlock(); err != nil {
		t.Fatal(err)
	}
	if ran := w.run(j, Approved{}); ran.State != Executed || w.content("a.txt") != "x" {
		t.Errorf("%+v", ran)
	}
}
