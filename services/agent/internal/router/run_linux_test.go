package router

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// An approved change is staged, written down, made, written down and cleaned up, in this order, and each has its row.
func TestApprovedChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.txt", "old")
	j := w.judge(write("a.txt", "new"))
	if ran := w.run(j, Approved{}); ran.State != Refused || w.root.asked["lock"] > 0 {
		t.Fatalf("it runs unapproved: %+v", ran)
	}
	var order []string
	w.root.step = func(s string) { order = append(order, s) }
	w.before = func() {
		order = append(order, "begin")
		if len(w.staged()) != 1 || w.content("a.txt") != "old" {
			t.Error("INTENT before the new content is staged, or after the change")
		}
	}
	ran := w.run(j, w.approve(j))
	if ran.State != Executed || ran.Result.Status != tool.Executed || ran.Result.Untrusted || w.content("a.txt") != "new" || len(w.staged()) > 0 {
		t.Errorf("%+v", ran)
	}
	if want := []string{"locked", "staged", "begin", "applying", "applied", "finishing", "finished"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	i := w.intents[0]
	if i.Before != folder.Of([]byte("old")) || i.After != folder.Of([]byte("new")) || i.Staged == nil || i.Digest == "" || i.Attempt != 1 {
		t.Errorf("%+v", i)
	}
	e := rows(t, i.Entry(w.Session), w.ends[0].Entry(w.Session))
	if e[0].Kind != audit.Intent || e[1].Kind != audit.Execute || e[1].Digest != string(i.Digest) || e[1].After != string(i.After) {
		t.Errorf("%+v", e)
	}
}

// cases/agent.md c4: what runs is what was approved. With other arguments it is refused and both hashes are told; with a digest of something
// else the call is void.
func TestAgent4(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.txt", "old")
	shown := w.judge(write("a.txt", "hello"))
	ok := w.approve(shown)
	ran := w.run(w.judge(write("a.txt", "rm")), ok)
	if ran.State != Refused || !strings.Contains(ran.Result.Text, string(shown.CallHash)) {
		t.Errorf("%+v", ran)
	}
	ok.Approval = "a2"
	if ran := w.run(shown, ok); ran.State != Voided || w.root.asked["lock"] > 0 {
		t.Errorf("the digest of another approval: %+v", ran)
	}
	other := w.Session
	other.Session = "s2"
	if ran := w.run(w.Judge(t.Context(), other, write("a.txt", "hello")), w.approve(shown)); ran.State != Voided {
		t.Errorf("the approval of another session: %+v", ran)
	}
	if w.content("a.txt") != "old" || len(w.intents) > 0 {
		t.Error("something was started")
	}
}

// cases/agent.md c31: a target that has changed since it was shown, in whatever way and at whatever moment, is left as it is; the call is
// void, and the result tells what is there now.
func TestAgent31(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		name string
		do   func(w *world)
		now  folder.Hash
	}{
		{"changed", func(w *world) { w.put("a.txt", "9") }, folder.Of([]byte("9"))},
		{"deleted", func(w *world) { w.ok(os.Remove(filepath.Join(w.dir, "a.txt"))) }, folder.Absent},
		{"swapped for a link", func(w *world) {
			a := filepath.Join(w.dir, "a.txt")
			w.ok(errors.Join(os.Remove(a), os.Symlink(filepath.Join(w.outside, "v.txt"), a)))
		}, ""},
	} {
		for _, when := range []string{"decided", "staged", "applying"} {
			for _, rejudged := range []bool{false, true} {
				if rejudged && when != "decided" {
					continue
				}
				t.Run(change.name+" "+when+map[bool]string{true: " judged anew"}[rejudged], func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					w.put("a.txt", "1")
					if err := os.WriteFile(filepath.Join(w.outside, "v.txt"), []byte("v"), 0o644); err != nil {
						t.Fatal(err)
					}
					j := w.judge(write("a.txt", "2"))
					ok := w.approve(j)
					if when == "decided" {
						change.do(w)
					} else {
						w.root.step = func(s string) {
							if s == when {
								change.do(w)
							}
						}
					}
					if rejudged {
						j = w.judge(write("a.txt", "2"))
					}
					w.stale(w.run(j, ok), when == "applying", change.now)
					if contentOf(t, filepath.Join(w.outside, "v.txt")) != "v" {
						t.Error("written through the link")
					}
				})
			}
		}
	}
	t.Run("created", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		j := w.judge(write("a.txt", "2"))
		ok := w.approve(j)
		w.put("a.txt", "9")
		w.stale(w.run(j, ok), false, folder.Of([]byte("9")))
	})
}

// stale says that a call met another target than the one that was shown.
func (w *world) stale(ran Ran, begun bool, now folder.Hash) {
	w.Helper()
	if ran.Result.Status != tool.StaleTarget || !ran.Result.NotExecuted || now != "" && !strings.Contains(ran.Result.Text, string(now)) {
		w.Errorf("%+v", ran)
	}
	if begun {
		if ran.State != Failed || len(w.intents) != 1 || len(w.ends) != 1 {
			w.Errorf("%+v", ran)
		}
		rows(w, w.ends[0].Entry(w.Session))
	} else {
		if ran.State != Voided || ran.Void.Reason != session.VoidStale || len(w.intents) > 0 {
			w.Errorf("%+v", ran)
		}
		if e := rows(w, ran.Intent.VoidEntry(w.Session, ran.Void)); e[0].Kind != audit.Void || e[0].Verdict != "STALE_TARGET" {
			w.Errorf("%+v", e)
		}
	}
	if now := w.content("a.txt"); now == "2" || len(w.staged()) > 0 {
		w.Errorf("%q, %q", now, w.staged())
	}
}

// cases/agent.md c25: no change goes through a link that leads out, whatever kind it is; deleting a link takes away the link alone.
func TestAgent25(t *testing.T) {
	t.Parallel()
	w := newWorld(t, allowAll)
	w.put("a.txt", "a")
	if err := os.WriteFile(filepath.Join(w.outside, "v.txt"), []byte("v"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"notes.md": "v.txt", "draft.txt": "new.txt", "out": ""} {
		if err := os.Symlink(filepath.Join(w.outside, to), filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []Call{
		write("notes.md", "x"), write("draft.txt", "x"), write("out/v.txt", "x"), call(tool.Create, map[string]any{"path": "out/x/y.txt"}),
		call(tool.Move, map[string]any{"source": "a.txt", "destination": "out/a.txt"}), call(tool.Create, map[string]any{"path": "draft.txt"}),
	} {
		if j := w.judge(c); j.Stop == nil || j.Stop.Step != StepPath {
			t.Errorf("%s: %+v", c.Args, j.Stop)
		}
	}
	read := w.ReadAll(t.Context(), 1, w.judge(call(tool.Read, map[string]any{"path": "notes.md"})))
	if !read[0].Failed || strings.Contains(read[0].Result.Text, "1\tv") {
		t.Errorf("%+v", read)
	}
	if ran := w.run(w.judge(call(tool.Delete, map[string]any{"path": "notes.md"})), Approved{}); ran.State != Executed {
		t.Errorf("%+v", ran)
	}
	entries, err := os.ReadDir(w.outside)
	if err != nil || len(entries) != 1 || contentOf(t, filepath.Join(w.outside, "v.txt")) != "v" {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "notes.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the link is still there")
	}
}

// What stands in the way when INTENT is written keeps a call from starting, though it was approved or allowed before (C47, C48).
func TestRecheck(t *testing.T) {
	t.Parallel()
	changed := tool.BuiltIns()
	for i := range changed {
		changed[i].Description += "!"
	}
	standing := func(w *world) {
		j := w.judge(write("a.txt", "new"))
		s, err := policy.Stand(j.asked, j.Explanation.Risk, policy.Offer{ID: "r1", Approver: "p", Scope: policy.SessionExact}, noon)
		if err != nil {
			w.Fatal(err)
		}
		w.Standing = []policy.Standing{s}
	}
	for name, tt := range map[string]struct {
		rule   []policy.Rule
		before func(w *world)
		meet   func(w *world)
		reason session.Reason
	}{
		"nothing":           {meet: func(*world) {}},
		"DENY added":        {meet: func(w *world) { w.Engine = engine(w, deny("a.txt")) }, reason: session.VoidPolicy},
		"no engine":         {meet: func(w *world) { w.Engine = nil }, reason: session.VoidPolicy},
		"tool changed":      {meet: func(w *world) { w.Tools = registry(w, changed...) }, reason: session.VoidToolChanged},
		"tool gone":         {meet: func(w *world) { w.Tools = registry(w) }, reason: session.VoidToolChanged},
		"rule gone":         {before: standing, meet: func(w *world) { w.Standing = nil }, reason: session.VoidPolicy},
		"rule lapsed":       {before: standing, meet: func(w *world) { w.Now = noon.Add(policy.StandingLife + 1) }, reason: session.VoidPolicy},
		"rule stands":       {before: standing, meet: func(*world) {}},
		"no longer allowed": {rule: []policy.Rule{allowAll}, meet: func(w *world) { w.Engine = engine(w) }, reason: session.VoidPolicy},
		"step left":         {rule: []policy.Rule{allowAll}, meet: func(w *world) { w.InExecution = false }, reason: session.VoidPolicy},
		"target changed":    {meet: func(w *world) { w.put("a.txt", "9") }, reason: session.VoidStale},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.rule...)
			w.put("a.txt", "old")
			if tt.before != nil {
				tt.before(w)
			}
			j := w.judge(write("a.txt", "new"))
			var ok Approved
			if j.Verdict() == policy.Ask {
				ok = w.approve(j)
			}
			if tt.before != nil {
				if e := rows(t, j.Entries("")...); len(e) != 2 || e[1].Kind != audit.Rule || !strings.Contains(e[1].Reason, "r1") {
					t.Errorf("%+v", e)
				}
			}
			w.before = func() { tt.meet(w) }
			ran := w.run(j, ok)
			if tt.reason == "" {
				if ran.State != Executed || w.content("a.txt") != "new" {
					t.Errorf("%+v", ran)
				}
				return
			}
			if ran.State != Voided || ran.Void.Reason != tt.reason || len(w.intents) > 0 || w.content("a.txt") == "new" || len(w.staged()) > 0 {
				t.Errorf("%+v", ran)
			}
			rows(t, ran.Intent.VoidEntry(w.Session, ran.Void))
		})
	}
}

// A link on the way that leads elsewhere since the call was shown makes it void, though the same content is there, and though it leads back
// when one looks again. Where it turns to what a rule denies while the change is planned, the call is denied.
func TestLinkOnTheWay(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]map[string]string{
		"decided": {"decided": "two"}, "staged": {"staged": "two"}, "and back": {"locked": "two", "staged": "one"}, "planning": {"planning": "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, deny("secret/**"))
			for _, dir := range []string{"one", "two", "secret"} {
				w.put(dir+"/a.txt", "1")
			}
			link := filepath.Join(w.dir, "l")
			w.ok(os.Symlink("one", link))
			w.root.step = func(step string) {
				if to := turns[step]; to != "" {
					w.ok(errors.Join(os.Remove(link), os.Symlink(to, link)))
				}
			}
			j := w.judge(write("l/a.txt", "2"))
			if name == "planning" {
				if j.Stop == nil || j.Stop.Step != StepPolicy || j.Plan != nil || j.Shown != nil {
					t.Errorf("%+v", j.Stop)
				}
				return
			}
			if !slices.Contains(j.Paths, "one/a.txt") {
				t.Errorf("%q", j.Paths)
			}
			ok := w.approve(j)
			w.root.step("decided")
			ran := w.run(j, ok)
			if ran.State != Voided || w.content("one/a.txt")+w.content("two/a.txt") != "11" || len(w.staged()) > 0 {
				t.Errorf("%+v", ran)
			}
		})
	}
}

// A change that takes longer than it may is unknown, not failed (C50): what proves it stays, the folder stays locked until it has ended, and
// then the proof tells.
func TestChangeTooSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, allowAll)
	all := tool.BuiltIns()
	for i := range all {
		all[i].Timeout = 500 * time.Millisecond
	}
	w.Tools = registry(t, all...)
	w.put("a.txt", "old")
	wait := make(chan struct{})
	w.root.step = func(step string) {
		if step == "applied" {
			<-wait
		}
	}
	ran := w.run(w.judge(write("a.txt", "new")), Approved{})
	if ran.State != Unknown || ran.Result.NotExecuted || len(w.staged()) != 1 {
		t.Errorf("%+v, %q", ran, w.staged())
	}
	if ran := w.run(w.judge(write("b.txt", "new")), Approved{}); ran.State != Parked {
		t.Errorf("two in one folder: %+v", ran)
	}
	close(wait)
	w.Proof = time.Minute
	if ran, err := w.Reconcile(t.Context(), w.intents[0], w.book); err != nil || ran.State != Executed || len(w.staged()) > 0 {
		t.Errorf("%+v, %v", ran, err)
	}
}

// C70: the later of two changes of one file runs upon the earlier one, and is void where that did not run.
func TestBatchRuns(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		w := newWorld(t, allowAll)
		w.put("a.txt", "1")
		all := w.JudgeAll(t.Context(), w.Session, write("a.txt", "2"), write("a.txt", "3"))
		want := "1"
		if first {
			if ran := w.run(all[0], Approved{}); ran.State != Executed {
				t.Fatalf("%+v", ran)
			}
			want = "3"
		}
		if ran := w.run(all[1], Approved{}); (ran.State == Executed) != first || w.content("a.txt") != want {
			t.Errorf("%+v, %q", ran, w.content("a.txt"))
		}
	}
}

// A store that fails leaves nothing started, and what was staged as the proof of that; whoever reconciles finds out. An INTENT that was
// written without the recheck starts nothing.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	down := errors.New("disk full")
	w := newWorld(t, allowAll)
	w.put("a.txt", "old")
	j := w.judge(write("a.txt", "new"))
	w.beginErr = down
	if _, err := w.Run(t.Context(), j, Approved{}, 1, w.book); !errors.Is(err, down) || w.content("a.txt") != "old" || len(w.staged()) != 1 {
		t.Errorf("%v, %q", err, w.staged())
	}
	if ran, err := w.Reconcile(t.Context(), w.intents[0], w.book); err != nil || ran.State != NotDone || len(w.staged()) > 0 {
		t.Errorf("%+v, %v", ran, err)
	}
	w.beginErr, w.endErr = nil, down
	if _, err := w.Run(t.Context(), j, Approved{}, 2, w.book); !errors.Is(err, down) || w.content("a.txt") != "new" || len(w.staged()) != 1 {
		t.Errorf("%v, %q", err, w.staged())
	}
	w.endErr = nil
	if ran, err := w.Reconcile(t.Context(), w.intents[1], w.book); err != nil || ran.State != Executed || len(w.staged()) > 0 {
		t.Errorf("%+v, %v", ran, err)
	}
	if ran := w.run(j, Approved{}); ran.State != Voided {
		t.Errorf("it is done twice: %+v", ran)
	}
	w.blind = true
	j = w.judge(write("a.txt", "newer"))
	if ran, err := w.Run(t.Context(), j, Approved{}, 1, w.book); err == nil || ran.State != NotDone || w.content("a.txt") != "new" || len(w.staged()) > 0 {
		t.Errorf("%+v, %v", ran, err)
	}
	if ran, err := w.Run(t.Context(), j, Approved{}, MaxAttempts+1, w.book); err != nil || ran.State != Refused {
		t.Errorf("%+v, %v", ran, err)
	}
}

// cases/agent.md c34: a tool that checks nothing is kept by the router alone: unapproved, denied, or without an INTENT it is never entered, and
// each time it is to run it is asked about anew. A second tool of its name is not taken in.
func TestAgent34(t *testing.T) {
	t.Parallel()
	e := &scripted{start: func(context.Context, []byte) (Output, error) { return Output{Text: []byte("ok")}, nil }}
	w := newWorld(t).with(e)
	c := call("srv.act", map[string]any{"x": "1"})
	j := w.judge(c)
	if j.Verdict() != policy.Ask || j.Reads() {
		t.Fatalf("its own word that it only reads is believed: %+v", j.Explanation)
	}
	if got := w.ReadAll(t.Context(), 1, j); got[0].Result.Status != tool.Waiting || !got[0].Result.NotExecuted {
		t.Errorf("%+v", got)
	}
	w.run(j, Approved{})
	if _, err := w.Run(t.Context(), j, w.approve(j), 1, nil); err != nil || e.begun.Load() > 0 {
		t.Error("it was entered")
	}
	w.before = func() { w.Engine = engine(t, policy.Rule{ID: "d", Effect: policy.EffectDeny, Tool: "srv.*"}) }
	if ran := w.run(j, w.approve(j)); ran.State != Voided || e.begun.Load() > 0 {
		t.Errorf("%+v", ran)
	}
	if j := w.judge(c); j.Stop == nil || e.begun.Load() > 0 {
		t.Error("it was entered when denied")
	}
	w.Engine, w.before = engine(t), nil
	if ran := w.run(j, w.approve(j)); ran.State != Executed || e.begun.Load() != 1 || !ran.Result.Untrusted || len(w.intents) != 1 {
		t.Errorf("%+v", ran)
	}
	if again := w.judge(c); again.Verdict() != policy.Ask {
		t.Error("the second time it is not asked about")
	}
	one, err := tool.Admit(theirs())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tools.With(one); err == nil {
		t.Error("two tools of one name")
	}
}

// What an effect of somebody else says, and does not say, is told as it is: after INTENT what nobody can prove is unknown, a timeout too (C50).
func TestEffects(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, tt := range map[string]struct {
		start func(ctx context.Context, args []byte) (Output, error)
		state State
	}{
		"done":   {func(_ context.Context, args []byte) (Output, error) { return Output{Text: args}, nil }, Executed},
		"failed": {func(context.Context, []byte) (Output, error) { return Output{Text: []byte("no"), Failed: true}, nil }, Failed},
		"not started": {func(context.Context, []byte) (Output, error) {
			return Output{}, &NotStartedError{errors.New("refused")}
		}, NotDone},
		"died":    {func(context.Context, []byte) (Output, error) { return Output{}, errors.New("EOF") }, Unknown},
		"panic":   {func(context.Context, []byte) (Output, error) { panic("secret") }, Unknown},
		"timeout": {func(ctx context.Context, _ []byte) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() }, Unknown},
		"hangs":   {func(context.Context, []byte) (Output, error) { <-hang; return Output{}, nil }, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &scripted{start: tt.start}
			w := newWorld(t).with(e)
			d := theirs()
			d.Timeout = 50 * time.Millisecond
			w.Tools = registry(t, d)
			j := w.judge(call("srv.act", map[string]any{"x": "1"}))
			ran := w.run(j, w.approve(j))
			if ran.State != tt.state || e.begun.Load() != 1 || len(w.ends) != 1 || strings.Contains(ran.Result.Text, "secret") {
				t.Errorf("%+v", ran)
			}
			if tt.state == Executed && ran.Result.Text != `{"x":"1"}` {
				t.Errorf("it got other bytes than were judged: %q", ran.Result.Text)
			}
			if not := tt.state == NotDone; ran.Result.NotExecuted != not {
				t.Errorf("%+v", ran.Result)
			}
			rows(t, w.intents[0].Entry(w.Session), w.ends[0].Entry(w.Session))
		})
	}
}

// An effect that cannot be reached is parked before anything is written down; one that works in the folder has it alone until it has ended,
// also when its time is over; what it runs in is digested.
func TestEffectInFolder(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	p := &program{scripted: scripted{inFolder: true, ready: errors.New("down")}, process: canon.Process{Folder: "1:2", Profile: "closed"}}
	p.start = func(context.Context, []byte) (Output, error) { <-hang; return Output{}, nil }
	w := newWorld(t).with(p)
	d := theirs()
	d.Timeout = 20 * time.Millisecond
	w.Tools = registry(t, append(tool.BuiltIns(), d)...)
	j := w.judge(call("srv.act", nil))
	before := w.approve(j)
	if ran := w.run(j, before); ran.State != Parked || len(w.intents) > 0 {
		t.Fatalf("%+v", ran)
	}
	p.process.Profile, p.ready = "open", nil
	if ran := w.run(w.judge(call("srv.act", nil)), before); ran.State != Voided || p.begun.Load() > 0 {
		t.Errorf("approved for another sandbox: %+v", ran)
	}
	j = w.judge(call("srv.act", nil))
	if ran := w.run(j, w.approve(j)); ran.State != Unknown || !w.intents[0].InFolder {
		t.Fatalf("%+v", ran)
	}
	busy := w.judge(write("a.txt", "x"))
	if ran := w.run(busy, w.approve(busy)); ran.State != Parked {
		t.Errorf("two in one folder: %+v", ran)
	}
	if ran, err := w.Reconcile(t.Context(), w.intents[0], w.book); err != nil || ran.State != Unknown {
		t.Errorf("%+v, %v", ran, err)
	}
	close(hang)
	w.Lock = time.Minute
	if ran := w.run(busy, w.approve(busy)); ran.State != Executed {
		t.Errorf("%+v", ran)
	}
}

// After a crash an effect of somebody else is what it can prove, and unknown where it cannot, or where the tool is no longer the one that it
// was; it is never started again by that (C49).
func TestReconcileEffect(t *testing.T) {
	t.Parallel()
	p := &proving{scripted{start: func(context.Context, []byte) (Output, error) { return Output{}, nil }}, folder.Outcome{Result: folder.Done}}
	w := newWorld(t).with(p)
	j := w.judge(call("srv.act", nil))
	w.run(j, w.approve(j))
	i := w.intents[0]
	other := theirs()
	other.Description = "does something else"
	for _, tt := range []struct {
		meet func()
		want State
	}{
		{func() {}, Executed},
		{func() { p.out = folder.Outcome{Result: folder.NotDone} }, NotDone},
		{func() { p.out = folder.Outcome{} }, Unknown},
		{func() { w.with(&p.scripted) }, Unknown},
		{func() { w.with(p).Tools = registry(t) }, Unknown},
		{func() { p.out = folder.Outcome{Result: folder.Done}; w.with(p).Tools = registry(t, other) }, Unknown},
	} {
		tt.meet()
		ran, err := w.Reconcile(t.Context(), i, w.book)
		if err != nil || ran.State != tt.want || p.begun.Load() != 1 {
			t.Errorf("%+v, %v; want %s", ran, err, tt.want)
		}
		rows(t, w.ends[len(w.ends)-1].Entry(w.Session))
	}
}

// A turn that is canceled after INTENT has its outcome written down all the same.
func TestCanceledAfterIntent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	e := &scripted{start: func(ctx context.Context, _ []byte) (Output, error) {
		cancel()
		<-ctx.Done()
		return Output{}, ctx.Err()
	}}
	w := newWorld(t).with(e)
	j := w.judge(call("srv.act", nil))
	ran, err := w.Run(ctx, j, w.approve(j), 1, w.book)
	if err != nil || ran.State != Unknown || len(w.ends) != 1 {
		t.Errorf("%+v, %v", ran, err)
	}
}

// resuming goes on by itself: whoever asks again gets what it gives.
type resuming struct {
	scripted
	resume func(ctx context.Context) (Output, error)
}

func (r *resuming) Resume(ctx context.Context, _ Intent) (Output, error) { return r.resume(ctx) }

// What goes on by itself is waited for again after a crash, with its output, and is never started again; where its waiter alone has gone
// nothing is written down, however often.
func TestResumes(t *testing.T) {
	t.Parallel()
	gone := func(context.Context) (Output, error) { return Output{}, &GoesOnError{context.Canceled} }
	r := &resuming{scripted: scripted{start: func(ctx context.Context, _ []byte) (Output, error) { return gone(ctx) }}}
	w := newWorld(t).with(r)
	j := w.judge(call("srv.act", map[string]any{"x": "1"}))
	var on *GoesOnError
	if ran, err := w.Run(t.Context(), j, w.approve(j), 1, w.book); !errors.As(err, &on) || len(w.ends) != 0 || ran.Intent.Args != `{"x":"1"}` {
		t.Fatalf("%+v, %v, %+v", ran, err, w.ends)
	}
	for _, tt := range []struct {
		resume func(context.Context) (Output, error)
		want   State
		text   string
	}{
		{gone, "", ""},
		{func(context.Context) (Output, error) { return Output{Text: []byte("港")}, nil }, Executed, "港"},
		{func(context.Context) (Output, error) { return Output{Text: []byte("no"), Failed: true}, nil }, Failed, "no"},
		{func(context.Context) (Output, error) { return Output{}, errors.New("late") }, Unknown, "late"},
		{func(ctx context.Context) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() }, Unknown, "longer than it may"},
	} {
		r.resume, w.ends = tt.resume, nil
		ran, err := w.Reconcile(t.Context(), w.intents[0], w.book)
		if errors.As(err, &on) != (tt.want == "") || ran.State != tt.want || !strings.Contains(ran.Result.Text, tt.text) || r.begun.Load() != 1 {
			t.Errorf("%+v, %v; want %s", ran, err, tt.want)
		}
		if written := len(w.ends) == 1 && w.ends[0].Proven; written != (tt.want != "") {
			t.Errorf("%s: %+v", tt.want, w.ends)
		}
	}
	w.with(r).Tools = registry(t)
	if ran, err := w.Reconcile(t.Context(), w.intents[0], w.book); err != nil || ran.State != Unknown {
		t.Errorf("without its tool: %+v, %v", ran, err)
	}
}
