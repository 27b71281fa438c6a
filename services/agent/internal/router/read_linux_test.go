package router

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// reads carries reads out, which must be allowed.
func (w *world) reads(calls ...Call) []Read {
	w.Helper()
	all := w.JudgeAll(w.Context(), w.Session, calls...)
	for _, j := range all {
		if j.Stop != nil || !j.Reads() {
			w.Fatalf("%s: %+v", j.Call.Args, j.Stop)
		}
	}
	return w.ReadAll(w.Context(), MaxParallel, all...)
}

// text is what one read gives, marked as untrusted.
func (w *world) text(c Call) string {
	w.Helper()
	r := w.reads(c)[0]
	if r.Failed || r.Result.Status != tool.Executed || !r.Result.Untrusted {
		w.Fatalf("%s %s: %+v", c.Tool, c.Args, r)
	}
	return r.Result.Text
}

// The four tools that read in folders give what their descriptions say, in the work folder and in one that may only be read.
func TestReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.txt", "one\ntwo\nthree\n")
	w.put("d/b.txt", "日本語 two\n")
	w.put("d/e/c.txt", "deep")
	w.ok(os.WriteFile(filepath.Join(w.skills, "s.md"), []byte("skill two"), 0o644))
	w.ok(os.Symlink("a.txt", filepath.Join(w.dir, "l")))
	path := func(p string, more ...any) map[string]any {
		m := map[string]any{"path": p}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		call Call
		want string
	}{
		{call(tool.Read, path("a.txt")), "1\tone\n2\ttwo\n3\tthree\n"},
		{call(tool.Read, path("l", "offset", 2, "limit", 1)), "(lines 2 to 2 of 3)\n2\ttwo\n"},
		{call(tool.Read, path("/skills/s.md")), "1\tskill two"},
		{call(tool.List, nil), "a.txt (14 bytes)\nd/\nl -> \"a.txt\""},
		{call(tool.List, path("d", "depth", 2)), "d/b.txt (14 bytes)\nd/e/\nd/e/c.txt (4 bytes)"},
		{call(tool.List, path("/skills")), "/skills/s.md (9 bytes)"},
		{call(tool.List, path(".", "limit", 1)), "a.txt (14 bytes)\n(more than 1 entries)"},
		{call(tool.Search, path(".", "query", "two")), "\"a.txt\":2:1: two\n\"d/b.txt\":1:5: 日本語 two\n(not searched: 1, links)"},
		{call(tool.Search, path("/skills", "query", "TWO", "ignore_case", true)), "\"/skills/s.md\":1:7: skill two"},
		{call(tool.Search, path(".", "query", "none")), "(nothing found)\n(not searched: 1, links)"},
	} {
		if got := w.text(tt.call); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.call.Tool, tt.call.Args, got, tt.want)
		}
	}
	stat := w.text(call(tool.Stat, path("a.txt")))
	if !strings.Contains(stat, `"kind":"file"`) || !strings.Contains(stat, `"size":14`) || !strings.Contains(stat, `"hash":"`) {
		t.Error(stat)
	}
	past := w.reads(call(tool.Read, path("a.txt", "offset", 9)), call(tool.Read, path("none.txt")))
	if past[0].Failed || !past[1].Failed || past[1].Result.Status != tool.Failed {
		t.Errorf("%+v", past)
	}
}

// What a rule denies is neither found, listed, entered, nor told of by its hash, by whatever tool and through whatever link (S21).
func TestReadsHideWhatIsDenied(t *testing.T) {
	t.Parallel()
	noRead := policy.Rule{ID: "pins", Effect: policy.EffectDeny, Tool: tool.Read, Path: "pins/**"}
	noList := policy.Rule{ID: "shut", Effect: policy.EffectDeny, Tool: tool.List, Path: "shut/**"}
	ghost := policy.Rule{ID: "ghost", Effect: policy.EffectDeny, Path: "ghost.txt"}
	w := newWorld(t, deny("secret/**"), noRead, noList, ghost)
	w.put("ghost.txt", "x")
	w.put("shut/in.txt", "x")
	w.put("secret/a.txt", "hidden needle")
	w.put("pins/p.txt", "pin needle")
	w.put("open.txt", "open needle")
	w.ok(os.Symlink("secret", filepath.Join(w.dir, "way")))
	if got := w.text(call(tool.Search, map[string]any{"query": "needle"})); strings.Contains(got, "hidden") || strings.Contains(got, "pin ") || !strings.Contains(got, "open needle") {
		t.Error(got)
	}
	if got := w.text(call(tool.List, map[string]any{"depth": 3})); strings.Contains(got, "a.txt") || strings.Contains(got, "in.txt") || strings.Contains(got, "ghost") || !strings.Contains(got, "pins/p.txt") {
		t.Error(got)
	}
	w.root.asked = nil
	if got := w.text(call(tool.Stat, map[string]any{"path": "pins/p.txt"})); w.root.asked["read"] > 0 || strings.Contains(got, "hash") || !strings.Contains(got, `"size":10`) {
		t.Error(got)
	}
	// A link that is turned after the call was judged.
	w.ok(os.Mkdir(filepath.Join(w.dir, "fine"), 0o755))
	w.put("fine/a.txt", "fine")
	turn := filepath.Join(w.dir, "turn")
	w.ok(os.Symlink("fine", turn))
	j := w.judge(call(tool.Read, map[string]any{"path": "turn/a.txt"}))
	l := w.judge(call(tool.List, map[string]any{"path": "turn"}))
	w.ok(errors.Join(os.Remove(turn), os.Symlink("secret", turn)))
	for _, r := range w.ReadAll(t.Context(), 1, j, l) {
		if !r.Failed || r.Result.Status != tool.Refused || strings.Contains(r.Result.Text, "hidden") {
			t.Errorf("%+v", r)
		}
	}
}

// Where a link leads is told where all that it names may be: a name that a list does not give is not given by a link to it, whether there is such a thing or
// not, nor by the plan to delete the link (S21).
func TestLinksTellNoDeniedNames(t *testing.T) {
	t.Parallel()
	ghost := policy.Rule{ID: "ghost", Effect: policy.EffectDeny, Path: "ghost.txt"}
	w := newWorld(t, deny("secrets/**"), ghost, allowAll)
	w.put("secrets/a.txt", "x")
	w.put("sub/b.txt", "x")
	w.ok(os.MkdirAll(filepath.Join(w.dir, "links"), 0o755))
	for name, to := range map[string]string{
		"fine": "../sub/b.txt", "dangling": "../sub/none.txt", "folder": "../sub", "up": "..", "chain": "fine",
		"file": "../secrets/a.txt", "none": "../secrets/none.txt", "dir": "../secrets", "ghost": "../ghost.txt", "through": "dir/a.txt", "past": "../secrets/../sub/b.txt",
		"git": "../.git/config", "out": "../../outside/v.txt", "back": filepath.Join(w.dir, "secrets", "a.txt"),
	} {
		w.ok(os.Symlink(to, filepath.Join(w.dir, "links", name)))
	}
	const hidden = "(not shown)"
	want := map[string]string{
		"fine": `"../sub/b.txt"`, "dangling": `"../sub/none.txt"`, "folder": `"../sub"`, "up": `".."`, "chain": `"fine"`,
		"file": hidden, "none": hidden, "dir": hidden, "ghost": hidden, "through": hidden, "past": hidden, "git": hidden, "out": hidden, "back": hidden,
	}
	got := w.text(call(tool.List, map[string]any{"path": "links"}))
	if n := strings.Count(got, "\n") + 1; n != len(want) {
		t.Errorf("%d entries: %s", n, got)
	}
	for name, to := range want {
		if !strings.Contains(got+"\n", "links/"+name+" -> "+to+"\n") {
			t.Errorf("%s does not tell %s: %s", name, to, got)
		}
		j := w.judge(call(tool.Stat, map[string]any{"path": "links/" + name}))
		if told := w.ReadAll(t.Context(), 1, j)[0].Result.Text; strings.Contains(told, `"target":`+to) != (to != hidden) || strings.Contains(told, "a.txt") || strings.Contains(told, "secrets") {
			t.Errorf("stat of %s: %s", name, told)
		}
		j = w.judge(call(tool.Delete, map[string]any{"path": "links/" + name}))
		inside := name != "out" && name != "back"
		if j.Shown == nil || inside && j.Shown.Redacted != (to == hidden) || inside && strings.Contains(j.Shown.Diff, "->") != (to != hidden) {
			t.Errorf("the plan to delete %s: %+v, %+v", name, j.Shown, j.Stop)
		}
	}
}

// Results come in the order of the calls, whichever ends first; no more than allowed run at once; a tool that panics, hangs or fails is one
// failed call (C69).
func TestReadsInParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hang := make(chan struct{})
	var mu sync.Mutex
	running, most := 0, 0
	gate := make(chan struct{})
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); close(gate) }()
	answers := map[string]func(ctx context.Context) ([]byte, error){
		"a":     func(context.Context) ([]byte, error) { both.Done(); <-gate; return []byte("a"), nil },
		"b":     func(context.Context) ([]byte, error) { both.Done(); <-gate; return []byte("b"), nil },
		"panic": func(context.Context) ([]byte, error) { panic("secret") },
		"fail":  func(context.Context) ([]byte, error) { return nil, errors.New("no such node") },
		"late":  func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		"hang":  func(context.Context) ([]byte, error) { <-hang; return nil, nil },
		"long":  func(context.Context) ([]byte, error) { return []byte(strings.Repeat("あ", 100_000)), nil },
	}
	w.Reads = map[string]ReadFunc{tool.NodeDetail: func(ctx context.Context, args []byte) ([]byte, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() {
			mu.Lock()
			running--
			mu.Unlock()
		}()
		for name, answer := range answers {
			if strings.Contains(string(args), `"`+name+`"`) {
				return answer(ctx)
			}
		}
		return args, nil
	}}
	all := tool.BuiltIns()
	for i := range all {
		all[i].Timeout = 50 * time.Millisecond
	}
	w.Tools = registry(t, all...)
	order := []string{"a", "b", "panic", "fail", "late", "hang", "long", "x"}
	var judged []Judged
	for _, name := range order {
		judged = append(judged, w.judge(call(tool.NodeDetail, map[string]any{"node_id": name})))
	}
	judged = append(judged, w.judge(write("a.txt", "x")))
	got := w.ReadAll(t.Context(), 3, judged...)
	close(hang)
	want := []struct {
		status tool.Status
		text   string
	}{
		{tool.Executed, "a"}, {tool.Executed, "b"}, {tool.Failed, errBroke.Error()}, {tool.Failed, "no such node"}, {tool.Failed, errLate.Error()},
		{tool.Failed, errLate.Error()}, {tool.Executed, "あ"}, {tool.Executed, "node_id"}, {tool.Waiting, ""},
	}
	for i, r := range got {
		if r.Result.Status != want[i].status || !strings.Contains(r.Result.Text, want[i].text) || r.Result.Text == "" || strings.Contains(r.Result.Text, "secret") {
			t.Errorf("%d: %+v", i, r)
		}
		if r.Failed != (r.Result.Status != tool.Executed) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if !got[6].Result.Cut || len(got[6].Result.Text) > 256<<10 {
		t.Error("the bound of the output")
	}
	if most > 3 || most < 2 {
		t.Errorf("%d at once", most)
	}
}

// cases/agent.md c26: a file with another name outside is neither read nor written, a pipe is refused at once.
func TestAgent26(t *testing.T) {
	t.Parallel()
	w := newWorld(t, allowAll)
	victim := filepath.Join(w.outside, "v.txt")
	w.ok(os.WriteFile(victim, []byte("v"), 0o644))
	w.ok(os.Link(victim, filepath.Join(w.dir, "h.txt")))
	w.ok(syscall.Mkfifo(filepath.Join(w.dir, "pipe.txt"), 0o644))
	for _, name := range []string{"h.txt", "pipe.txt"} {
		if j := w.judge(write(name, "x")); j.Stop == nil || j.Stop.Step != StepPath || j.Stop.Reason == "" {
			t.Errorf("%s: %+v", name, j.Stop)
		}
		if r := w.reads(call(tool.Read, map[string]any{"path": name}))[0]; !r.Failed || strings.Contains(r.Result.Text, "1\tv") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// The other name comes to be after the call was judged.
	w.put("late.txt", "old")
	j := w.judge(write("late.txt", "x"))
	w.ok(os.Link(filepath.Join(w.dir, "late.txt"), filepath.Join(w.outside, "late.txt")))
	if ran := w.run(j, Approved{}); ran.State != Voided || contentOf(t, filepath.Join(w.outside, "late.txt")) != "old" {
		t.Errorf("%+v", ran)
	}
	if contentOf(t, victim) != "v" {
		t.Error("written through the hard link")
	}
}

// A read that policy asks about is read only when it is approved, by an INTENT as all that a person decides; its failure is known.
func TestApprovedRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policy.Rule{ID: "ask", Effect: policy.EffectAsk, Tool: tool.Read})
	w.put("a.txt", "text")
	c := call(tool.Read, map[string]any{"path": "a.txt"})
	j := w.judge(c)
	if j.Verdict() != policy.Ask || !j.Reads() {
		t.Fatalf("%+v", j.Explanation)
	}
	if r := w.ReadAll(t.Context(), 1, j)[0]; r.Result.Status != tool.Waiting || w.root.asked["read"] > 0 {
		t.Errorf("%+v", r)
	}
	if ran := w.run(j, w.approve(j)); ran.State != Executed || ran.Result.Text != "1\ttext" || !ran.Result.Untrusted || len(w.intents) != 1 || w.root.asked["lock"] > 0 {
		t.Errorf("%+v", ran)
	}
	if ran, err := w.Reconcile(t.Context(), w.intents[0], w.book); err != nil || ran.State != NotDone {
		t.Errorf("%+v, %v", ran, err)
	}
	w.ok(os.Remove(filepath.Join(w.dir, "a.txt")))
	if ran := w.run(j, w.approve(j)); ran.State != Failed || ran.Result.Status != tool.Failed {
		t.Errorf("%+v", ran)
	}
}

// Edited arguments are another call: judged anew from the first step, with another digest; what was approved before does not start it.
func TestEditedArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deny("secret/**"))
	first := w.judge(write("a.txt", "1"))
	for _, bad := range []Call{write("secret/a.txt", "1"), write("../a.txt", "1"), call(tool.Write, map[string]any{"path": "a.txt"})} {
		if j := w.judge(bad); j.Stop == nil {
			t.Errorf("%s may go on", bad.Args)
		}
	}
	second := w.judge(write("a.txt", "2"))
	if ran := w.run(second, w.approve(first)); ran.State != Refused || w.content("a.txt") != "-" {
		t.Errorf("%+v", ran)
	}
	if ran := w.run(second, w.approve(second)); ran.State != Executed || w.content("a.txt") != "2" {
		t.Errorf("%+v", ran)
	}
}

// An approved call that is judged anew and is stopped by then is void, with a reason that the record has.
func TestApprovedThenStopped(t *testing.T) {
	t.Parallel()
	for want, meet := range map[string]func(w *world, c *Call){
		"POLICY_DENY":  func(w *world, _ *Call) { w.Engine = engine(w, deny("**")) },
		"TOOL_CHANGED": func(w *world, c *Call) { w.Tools = registry(w, theirs()) },
		"STALE_TARGET": func(w *world, _ *Call) { w.ok(os.Remove(filepath.Join(w.dir, "a.txt"))) },
	} {
		w := newWorld(t)
		w.put("a.txt", "1")
		c := call(tool.Delete, map[string]any{"path": "a.txt"})
		j := w.judge(c)
		ok := w.approve(j)
		c.Definition = j.Tool.Hash
		meet(w, &c)
		ran := w.run(w.judge(c), ok)
		if ran.State != Voided || string(ran.Void.Reason) != want || len(w.voids) != 1 || len(w.intents) > 0 {
			t.Errorf("%s: %+v", want, ran)
		}
		if e := rows(t, ran.Intent.VoidEntry(w.Session, ran.Void))[0]; e.Verdict != want {
			t.Errorf("%+v", e)
		}
	}
}

// A root that has the name of the work folder is not taken for it.
func TestRootsOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.txt", "work")
	w.ok(os.WriteFile(filepath.Join(w.skills, "a.txt"), []byte("skills"), 0o644))
	w.Mounts.Others[0] = &renamed{w.Mounts.Others[0]}
	if got := w.text(call(tool.Read, map[string]any{"path": "/skills/a.txt"})); got != "1\tskills" {
		t.Error(fmt.Sprint(got))
	}
}
