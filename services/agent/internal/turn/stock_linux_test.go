package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// stock makes the sessions of the fixture, each by its name in a state of its own. Clock and ids are those of a test, so that they are stored
// the same each time.
type stock struct {
	*rig
	desk *clienttool.Desk
}

// Router implements Tools: with those that the caller of a session has declared.
func (k *stock) Router(ctx context.Context, ns string, s ledger.Session) (router.Router, error) {
	r, err := k.rig.Router(ctx, ns, s)
	if r.Mounts.Work != nil {
		r.Mounts.Work = same{r.Mounts.Work}
	}
	if err != nil || len(s.Tools) == 0 {
		return r, err
	}
	all, err := clienttool.Tools(append(tool.BuiltIns(), s.Tools...))
	if err != nil {
		return r, err
	}
	r.Effects = k.desk.Effects(ns, s.ID)
	r.Tools, err = tool.NewRegistry(all...)
	return r, err
}

// same is a work folder that says the same of its files each time: their numbers, the names under which they are staged, and what the file system
// can do are others in each run.
type same struct{ folder.Root }

func (r same) Lock(ctx context.Context) (folder.Held, error) {
	held, err := r.Root.Lock(ctx)
	return sameHeld{held, new(folder.Staged)}, err
}

// sameHeld keeps what is staged. Nothing is looked at after a crash.
type sameHeld struct {
	folder.Held
	real *folder.Staged
}

func (h sameHeld) Stage(ctx context.Context, c folder.Change) (folder.Staged, error) {
	s, err := h.Held.Stage(ctx, c)
	*h.real = s
	if s.Name != "" {
		s.Name = ".tsumugi-staged-0123456789abcdef"
	}
	s.Weak = false
	s.File, s.Folder = folder.Identity{Device: 1, Inode: 3}, folder.Identity{Device: 1, Inode: 2}
	if s.FolderTo != (folder.Identity{}) {
		s.FolderTo, s.Changed = s.Folder, 1
	}
	return s, err
}

// staged is what is really staged, in the attempt of what it is told as.
func (h sameHeld) staged(s folder.Staged) folder.Staged {
	out := *h.real
	out.Attempt = s.Attempt
	return out
}

func (h sameHeld) Check(ctx context.Context, s folder.Staged) error {
	return h.Held.Check(ctx, h.staged(s))
}

func (h sameHeld) Apply(ctx context.Context, s folder.Staged) folder.Outcome {
	out := h.Held.Apply(ctx, h.staged(s))
	out.Weak = false
	return out
}

func (h sameHeld) Finish(ctx context.Context, s folder.Staged) (string, error) {
	return h.Held.Finish(ctx, h.staged(s))
}

// over has the engine of the rig work with the tools of the stock.
func (k *stock) over(r *rig) *stock {
	k.rig, k.desk = r, clienttool.New(r.Ledger, r.clock)
	r.Tools = k
	return k
}

func (k *stock) create(name string, f ledger.Fresh) {
	k.Helper()
	f.ID, f.Owner, f.Root, f.Locale = name, ann.Name, cmp.Or(f.Root, "work"), cmp.Or(f.Locale, "ja")
	_, err := k.Ledger.Create(k.Context(), ns, f, ann)
	k.ok(err)
}

// say sends a message to a session, which the model answers with lines, until it rests.
func (k *stock) say(name, text string, lines ...string) {
	k.Helper()
	k.queue(name, text)
	k.drive(name, lines...)
}

func (k *stock) queue(name, text string) {
	k.Helper()
	_, err := k.Send(k.Context(), ns, name, k.message(approver(ann.Name), text))
	k.ok(err)
}

func (k *stock) drive(name string, lines ...string) {
	k.Helper()
	k.model.lines = lines
	_, err := k.Drive(k.Context(), ns, name)
	k.ok(err)
}

// asked are the approvals of a session that wait, the first one first.
func (k *stock) asked(name string) (all []gate.Approval) {
	k.Helper()
	k.ok(k.Ledger.Read(k.Context(), ns, func(v store.View) error {
		found, err := v.Approvals(store.ApprovalFilter{Session: name, State: string(gate.Pending)}, store.Place{}, store.MaxPage)
		for _, f := range found {
			a, wrong := ledger.Approval(f)
			err = errors.Join(err, wrong)
			all = append(all, a)
		}
		return err
	}))
	slices.SortFunc(all, func(a, b gate.Approval) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// rule decides about the first approval that waits.
func (k *stock) rule(name string, r gate.Request) {
	k.Helper()
	a := k.asked(name)[0]
	r.Who, r.Digest, r.Decision = approver("bob"), a.Digest, cmp.Or(r.Decision, session.Approve)
	_, err := k.Decide(k.Context(), ns, a.ID, r)
	k.ok(err)
}

// wrote is an answer that makes a file.
func wrote(path string, more ...any) string {
	return say("EXECUTION", "continue", append([]any{"actions", []any{call("create", "path", path, "content", "霧\n")}}, more...)...)
}

var isDone = say("EXECUTION", "done", "reply", "できました。")

// asksTheSky is an answer that calls the tool of the caller.
func asksTheSky(town string) string {
	return say("EXECUTION", "continue", "actions", []any{call("sky", "town", town)})
}

// sky declares the tool of a caller.
func (k *stock) sky() []tool.Definition {
	k.Helper()
	all, err := clienttool.Definitions([]clienttool.Declared{{
		Name: "sky", Description: "空模様", Input: `{"type":"object","properties":{"town":{"type":"string"}},"additionalProperties":false}`, Timeout: time.Hour,
	}})
	k.ok(err)
	return all
}

var items = session.Items{
	Goal: "霧の物語を書く", WhyNow: "締切が近い", Constraints: []string{"done.md だけ"}, PlanBrief: []string{"書く"}, OpenQuestions: []string{"題は？"},
}

// fill makes the sessions.
func (k *stock) fill() {
	k.Helper()
	k.rules = []policy.Rule{{ID: "sky", Effect: policy.EffectAllow, Tool: "sky", Reason: "空は見てよい"}, {ID: "gone", Effect: policy.EffectAsk, Tool: "delete", Reason: "消す前に聞く"}}
	k.ended()
	k.continued()
	k.stopped()
	k.asking()
	k.parked()
	k.decided()
	k.clients()
	k.direct()
	k.queue(id, "書いて")
	k.ok(k.Under(ledger.NewHold("process", time.Minute)).Ledger.Claim(k.Context(), ns, id, system))
}

// ended are sessions whose task is over, or that were deleted.
func (k *stock) ended() {
	k.Helper()
	k.create("done", ledger.Fresh{Items: items, Refs: []string{"file:done.md"}})
	k.say("done", "書いて", wrote("done.md"))
	k.rule("done", gate.Request{})
	k.drive("done", say("EXECUTION", "continue"), say("REVIEW", "continue"), say("REVIEW", "done", "reply", "できました。"))
	k.ok(writeFile(k.rig, "old.md", "霜\n"))
	k.create("changed", ledger.Fresh{})
	k.say("changed", "直して", say("EXECUTION", "continue", "actions", []any{
		call("write", "path", "done.md", "content", "雨\n"), call("move", "source", "done.md", "destination", "kept.md"), call("delete", "path", "old.md"),
	}))
	k.rule("changed", gate.Request{Scope: policy.SessionExact, Reason: "直してよい"})
	for range k.asked("changed") {
		k.rule("changed", gate.Request{})
	}
	k.drive("changed", isDone)
	k.create("deleted", ledger.Fresh{})
	k.say("deleted", "書いて", say("PLANNING", "done", "reply", "はい。"))
	_, err := k.Ledger.Delete(k.Context(), ns, "deleted", "", ann)
	k.ok(err)
}

// continued is a session that goes on from one that is done, with what is written where there are servers, folders of prompts and such, which a test
// has not.
func (k *stock) continued() {
	k.Helper()
	k.create("fresh", ledger.Fresh{Settings: ledger.Settings{Backend: "m", Locale: "en", Policy: "default", Tools: k.sky()}, Continues: "done"})
	_, err := k.Ledger.Change(k.Context(), ns, "fresh", ann, func(w *ledger.Work) error {
		w.Session.Direct = &ledger.Direct{Call: "call", Until: w.Now.Add(time.Hour)}
		w.Session.Pins = tool.Pins{"files": {"read_graph": canon.Sum([]byte("read_graph"))}}
		w.Session.Zone, w.Session.Hours = "Asia/Tokyo", "24"
		w.Session.Notice("AGENTS.md は変わりました。")
		w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "asked for", ArgsDigest: string(canon.Sum(nil))})
		return nil
	})
	k.ok(err)
}

// stopped are sessions whose work was stopped, by a person or by what went wrong.
func (k *stock) stopped() {
	k.Helper()
	k.create("canceled", ledger.Fresh{})
	k.say("canceled", "書いて", wrote("canceled.md"))
	s, err := k.Ledger.Get(k.Context(), ns, "canceled")
	k.ok(err)
	_, err = k.Cancel(k.Context(), ns, "canceled", s.State.Turn.ID, ann)
	k.ok(err)
	k.drive("canceled")
	k.create("failed", ledger.Fresh{})
	k.ok(k.apply(k.Context(), ns, "failed", session.Broken{}))
	k.create("unreachable", ledger.Fresh{})
	k.say("unreachable", "書いて", "霧")
}

// asking are sessions that wait for a person: about calls, a plan, a result, a question.
func (k *stock) asking() {
	k.Helper()
	k.create("calls", ledger.Fresh{})
	k.say("calls", "書いて", say("EXECUTION", "continue", "reply", "二つ書きます。", "actions", []any{
		call("create", "path", "calls.md", "content", "霧\n"), call("create", "path", "calls2.md", "content", "風\n"),
	}))
	k.queue("calls", "題も")
	_, err := k.Extend(k.Context(), ns, k.asked("calls")[0].ID, gate.Extension{Who: approver("bob"), Until: k.clock.now.Add(time.Hour)})
	k.ok(err)
	k.model.lines = []string{"二つ待っています。"}
	_, err = k.Aside(k.Context(), ns, "calls", ann, "aside", "何を待っていますか。")
	k.ok(err)
	k.asks = [2]bool{true, true}
	k.create("plan", ledger.Fresh{Items: items})
	k.say("plan", "計画して", say("EXECUTION", "continue", "plan", map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}))
	k.create("result", ledger.Fresh{})
	k.say("result", "確かめて", say("REVIEW", "continue"), say("REVIEW", "done", "reply", "できました。"))
	k.asks = [2]bool{}
	k.create("question", ledger.Fresh{})
	k.say("question", "書いて", say("PLANNING", "pending_user", "question", "題は何ですか。"))
	k.say("question", "霧です", say("PLANNING", "pending_user", "question", "長さは？"))
}

// parked is a session that waits for its work folder, which somebody else has.
func (k *stock) parked() {
	k.Helper()
	k.create("parked", ledger.Fresh{})
	k.say("parked", "書いて", wrote("parked.md"))
	k.rule("parked", gate.Request{})
	other, err := workfolder.Open(workfolder.Config{Name: "work", Path: k.dir}, nil)
	k.ok(err)
	held, err := other.Lock(k.Context())
	k.ok(err)
	k.lock = time.Millisecond
	k.drive("parked")
	k.lock = 0
	k.ok(errors.Join(held.Unlock(), other.Close()))
}

// decided are sessions with approvals that ended otherwise than by a yes.
func (k *stock) decided() {
	k.Helper()
	k.create("decided", ledger.Fresh{})
	k.say("decided", "書いて", say("EXECUTION", "continue", "actions", []any{
		call("create", "path", "denied.md", "content", "霧\n"), call("create", "path", "edited.md", "content", "風\n"),
	}))
	k.rule("decided", gate.Request{Decision: session.Deny, Reason: "まだです。"})
	k.rule("decided", gate.Request{Decision: gate.Edit, Args: []byte(`{"path":"edited.md","content":"雨\n"}`)})
	m := k.message(approver(ann.Name), "やめて")
	m.Mode, m.Approvals = session.Supersede, []string{k.asked("decided")[0].ID}
	_, err := k.Send(k.Context(), ns, "decided", m)
	k.ok(err)
	k.drive("decided", say("PLANNING", "done", "reply", "やめました。"))
	k.create("expired", ledger.Fresh{})
	k.say("expired", "書いて", wrote("expired.md"))
	late := k.asked("expired")[0]
	k.clock.now = k.clock.now.Add(k.Limits.Approval)
	k.drive("expired")
	_, err = k.Decide(k.Context(), ns, late.ID, gate.Request{Who: approver("bob"), Decision: session.Deny, Digest: late.Digest})
	k.ok(err)
}

// clients are sessions with calls of their callers: one that is open, one that has its result, one of which nobody knows.
func (k *stock) clients() {
	k.Helper()
	for _, name := range []string{"open", "given", "unknown"} {
		k.create(name, ledger.Fresh{Settings: ledger.Settings{Tools: k.sky()}})
		k.say(name, "空は？", asksTheSky("糸崎"))
	}
	k.submit("given")
	k.submit("unknown")
	k.drive("unknown", say("PLANNING", "continue"), asksTheSky("福山"))
	k.clock.now = k.clock.now.Add(time.Hour)
	k.drive("unknown")
	k.rule("unknown", gate.Request{Decision: session.Happened})
	k.drive("unknown", asksTheSky("尾道"))
	k.clock.now = k.clock.now.Add(time.Hour)
	k.drive("unknown")
}

// submit gives the result of the call that a client has to do.
func (k *stock) submit(name string) {
	k.Helper()
	s, err := k.Ledger.Get(k.Context(), ns, name)
	k.ok(err)
	_, err = k.desk.Submit(k.Context(), ns, name, s.State.Calls[0].ID, clienttool.Result{Text: "曇り", Failed: true}, ann)
	k.ok(err)
}

// direct is a session with a call without a model.
func (k *stock) direct() {
	k.Helper()
	k.create("direct", ledger.Fresh{})
	c := Call{Session: "direct", Tool: "create", Args: []byte(`{"path":"direct.md","content":"霧\n"}`), DryRun: true, ID: "request", Who: approver(ann.Name)}
	out, err := k.Call(k.Context(), ns, c)
	k.ok(err)
	c.DryRun, c.Digest = false, out.Digest
	_, err = k.Call(k.Context(), ns, c)
	k.ok(err)
}
