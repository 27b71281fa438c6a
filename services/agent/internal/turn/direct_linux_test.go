package turn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func owner() gate.Who {
	return gate.Who{Name: "ann", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser}}
}

// TestExplain: the verdict with every rule that was looked at, the risk, and what a person would be asked; and nothing is written.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{
		{ID: "no", Effect: policy.EffectDeny, Path: "private/**", Reason: "nobody writes there"}, {ID: "notes", Effect: policy.EffectAllow, Tool: "create", Path: "notes.md"},
	}
	before, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	for name, c := range map[string]struct {
		tool, args string
		verdict    policy.Verdict
		rule, stop string
	}{
		"asked":      {"create", `{"path":"a.md","content":"霧"}`, policy.Ask, "", ""},
		"allowed":    {"create", `{"path":"notes.md","content":"霧"}`, policy.Allow, "notes", ""},
		"denied":     {"create", `{"path":"private/a.md"}`, policy.Deny, "no", router.CodePolicy},
		"outside":    {"read", `{"path":"../a.md"}`, policy.Deny, "", "OUTSIDE"},
		"unknown":    {"burn", `{}`, policy.Deny, "", router.CodeUnknownTool},
		"no fit":     {"read", `{"file":"a.md"}`, policy.Deny, "", router.CodeArguments},
		"only looks": {"list", `{}`, policy.Allow, "", ""},
	} {
		x, err := r.Explain(t.Context(), ns, Query{Session: id, Tool: c.tool, Args: []byte(c.args), Who: owner()})
		r.ok(err)
		if x.Verdict != c.verdict || (x.Stop != nil) != (c.stop != "") || x.Stop != nil && c.stop != "OUTSIDE" && x.Stop.Code != c.stop {
			t.Errorf("%s: %s, %+v", name, x.Verdict, x.Stop)
		}
		if d := x.Explanation.Decided; c.rule != "" && (len(x.Explanation.Looks) < 2 || x.Explanation.Looks[d].Rule != c.rule) {
			t.Errorf("%s: %+v", name, x.Explanation)
		}
		if x.Stop == nil && (x.Approval == nil || len(x.Pages) != 1 || x.NotAsked != "" || !x.Explanation.Risk.Level.Known()) {
			t.Errorf("%s: %+v", name, x)
		}
		if c.tool == "create" && x.Stop == nil && !strings.Contains(x.Pages[0].Content, "+霧") {
			t.Errorf("%s: shows %+v", name, x.Pages)
		}
	}
	if _, err := r.Explain(t.Context(), "other", Query{Session: id, Tool: "list", Args: []byte(`{}`), Who: gate.Who{Name: "eve", Namespace: "other"}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of another namespace's session: %v", err)
	}
	if after, err := r.Ledger.Get(t.Context(), ns, id); err != nil || after.Version != before.Version {
		t.Errorf("the session has changed: %v", err)
	}
}

// call makes a call without a model.
func (r *rig) call(who gate.Who, dry bool, digest string, name, args string) (Called, error) {
	return r.Call(r.Context(), ns, Call{Session: id, Tool: name, Args: []byte(args), DryRun: dry, Digest: hashes([]string{digest})[0], Who: who})
}

const makeA = `{"path":"a.md","content":"霧"}`

// TestCallWithoutAModel: what the policy asks about is made by an approver, with the digest of their own dry run, and as it was shown (C76).
func TestCallWithoutAModel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := approver("bob")
	shown, err := r.call(bob, true, "", "create", makeA)
	r.ok(err)
	if shown.Verdict != policy.Ask || shown.Digest == "" || !strings.Contains(shown.Pages[0].Content, "+霧") || r.file("a.md") != "" || len(r.kinds()) != 1 {
		t.Fatalf("%+v, %v", shown, r.kinds())
	}
	// Who may not make it is given no digest: it could be tried out what content it is over (S21).
	if users, err := r.call(owner(), true, "", "create", makeA); err != nil || users.Digest != "" || users.Verdict != policy.Ask {
		t.Errorf("a user's dry run: %+v, %v", users, err)
	}
	others, err := r.call(approver("cho"), true, "", "create", makeA)
	r.ok(err)
	for name, c := range map[string]struct {
		who    gate.Who
		digest string
		code   gate.Code
	}{
		"a user":            {owner(), string(shown.Digest), gate.NotApprover},
		"without a dry run": {bob, "", gate.WrongDigest},
		"a session":         {gate.Who{Session: id, Namespace: ns, Roles: []string{policy.RoleApprover}}, string(shown.Digest), gate.NotPerson},
	} {
		if _, err := r.call(c.who, false, c.digest, "create", makeA); refusal(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string][2]string{"somebody else's dry run": {string(others.Digest), makeA}, "another content": {string(shown.Digest), `{"path":"a.md","content":"雨"}`}} {
		if got, err := r.call(bob, false, c[0], "create", c[1]); err != nil || got.State != router.Voided || r.file("a.md") != "" {
			t.Errorf("%s: %+v, %v", name, got.State, err)
		}
	}
	r.ok(writeFile(r, "a.md", "他人の文"))
	if got, err := r.call(bob, false, string(shown.Digest), "create", makeA); err != nil || got.State == router.Executed || r.file("a.md") != "他人の文" {
		t.Errorf("a changed target: %+v, %v", got, err)
	}
	r.ok(os.Remove(filepath.Join(r.dir, "a.md")))
	got, err := r.call(bob, false, string(shown.Digest), "create", makeA)
	r.ok(err)
	if got.State != router.Executed || got.Result.Status != tool.Executed || r.file("a.md") != "霧" {
		t.Errorf("%+v, %q", got, r.file("a.md"))
	}
	r.ok(os.Remove(filepath.Join(r.dir, "a.md")))
	if got, err := r.call(bob, false, string(shown.Digest), "create", makeA); err != nil || got.State != router.Voided || r.file("a.md") != "" {
		t.Errorf("the digest is used up: %+v, %v", got, err)
	}
	r.ok(writeFile(r, "a.md", "霧"))
	n := r.kinds()
	if n[audit.Approve] != 1 || n[audit.Intent] != 1 || n[audit.Execute] != 1 || n[audit.Ask] != 0 {
		t.Errorf("rows: %v", n)
	}
	if s, err := r.Ledger.Get(t.Context(), ns, id); err != nil || s.State.Step != session.Planning || s.Turns != 0 || s.Direct != nil {
		t.Errorf("%+v, %v", s, err)
	}
	r.Terms.RequesterMayApprove = false
	if _, err := r.call(bob, false, string(shown.Digest), "delete", `{"path":"a.md"}`); refusal(err) != gate.OwnRequest {
		t.Errorf("where nobody approves what they ask for: %v", err)
	}
	r.sound()
}

// TestADigestIsGoodForOneCall: of two calls at once with the digest of one dry run one is made, and who made the other is told to look again. What the
// one has made is taken away in between: nothing else than that it was made tells the other from a first call (C76).
func TestADigestIsGoodForOneCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := approver("bob")
	shown, err := r.call(bob, true, "", "create", makeA)
	r.ok(err)
	r.reading = func() {
		if got, err := r.call(bob, false, string(shown.Digest), "create", makeA); err != nil || got.State != router.Executed || r.file("a.md") != "霧" {
			t.Errorf("the one: %+v, %v", got, err)
		}
		r.ok(os.Remove(filepath.Join(r.dir, "a.md")))
	}
	got, err := r.call(bob, false, string(shown.Digest), "create", makeA)
	r.ok(err)
	if got.State != router.Voided || !strings.Contains(got.Result.Text, "make a dry run again") || r.file("a.md") != "" {
		t.Errorf("the other: %+v, %+v", got.State, got.Result)
	}
	if n := r.kinds(); n[audit.Approve] != 1 || n[audit.Intent] != 1 || n[audit.Execute] != 1 || n[audit.Void] != 1 {
		t.Errorf("rows: %v", n)
	}
	again, err := r.call(bob, true, "", "create", makeA)
	r.ok(err)
	if got, err := r.call(bob, false, string(again.Digest), "create", makeA); err != nil || got.State != router.Executed || again.Digest == shown.Digest {
		t.Errorf("after another dry run: %+v, %v", got, err)
	}
	r.sound()
}

// TestCallsThatNeedNobody: reads and what a rule allows are made at once, what is stopped is a result, and each is a row.
func TestCallsThatNeedNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
	made, err := r.call(owner(), false, "", "create", makeA)
	r.ok(err)
	read, err := r.call(owner(), false, "", "read", `{"path":"a.md"}`)
	r.ok(err)
	stopped, err := r.call(owner(), false, "", "read", `{"path":"../a.md"}`)
	r.ok(err)
	for _, dry := range []bool{true, false} {
		unknown, err := r.call(owner(), dry, "", "burn", `{}`)
		r.ok(err)
		if unknown.Stop == nil || unknown.Stop.Code != router.CodeUnknownTool || unknown.Result.Status != tool.Refused {
			t.Errorf("a tool that there is not: %+v", unknown)
		}
	}
	if made.State != router.Executed || !strings.Contains(read.Result.Text, "霧") || stopped.Result.Status != tool.Refused || stopped.Stop == nil {
		t.Errorf("%+v\n%+v\n%+v", made, read, stopped)
	}
	if n := r.kinds(); n[audit.Allow] != 2 || n[audit.Execute] != 1 || n[audit.Refusal] != 2 {
		t.Errorf("rows: %v", n)
	}
	r.sound()
}

// TestNoCallBesideATurn: while a turn is open nothing is called without a model, a wait for an approval among that.
func TestNoCallBesideATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	var refused *session.RefusedError
	if _, err := r.call(approver("bob"), true, "", "list", `{}`); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	r.sound()
}

// TestACallThatDied: the process is killed when the call has begun, before its outcome is written. Another one finds out, when its time is over;
// until then nothing else is called without a model, and turns go on.
func TestACallThatDied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
	r.faulty = &faulty{at: 2} // INTENT, outcome
	r.restart()
	asked := Call{Session: id, Tool: "create", Args: []byte(makeA), Who: owner(), ID: "call-1"}
	if _, err := r.Call(t.Context(), ns, asked); !errors.Is(err, errFault) {
		t.Fatalf("the process was not killed: %v", err)
	}
	r.faulty = nil
	r.restart()
	var refused *session.RefusedError
	if _, err := r.call(owner(), false, "", "list", `{}`); !errors.As(err, &refused) {
		t.Errorf("beside another call: %v", err)
	}
	if _, err := r.Call(t.Context(), ns, asked); !errors.As(err, &refused) {
		t.Errorf("while nobody knows what became of it: %v", err)
	}
	s := r.send("港は？", say("PLANNING", "done", "reply", "糸崎です。"))
	if s.State.Status != session.Success || s.Direct == nil {
		t.Fatalf("%+v", s)
	}
	until, err := r.Drive(t.Context(), ns, id)
	r.ok(err)
	if _, next, err := r.store.Due(t.Context(), "x", r.clock.now, 1); err != nil || !until.Equal(s.Direct.Until) || !next.Equal(until) {
		t.Errorf("it is looked at %s and %s, not %s; %v", until, next, s.Direct.Until, err)
	}
	r.clock.now = until.Add(time.Second)
	if s := r.drive(); s.Direct != nil || r.file("a.md") != "霧" {
		t.Errorf("%+v, %q", s.Direct, r.file("a.md"))
	}
	if n := r.kinds(); n[audit.Execute] != 1 || n[audit.Intent] != 1 {
		t.Errorf("rows: %v", n)
	}
	if read, err := r.call(owner(), false, "", "read", `{"path":"a.md"}`); err != nil || !strings.Contains(read.Result.Text, "霧") {
		t.Errorf("%+v, %v", read, err)
	}
	r.ok(os.Remove(filepath.Join(r.dir, "a.md")))
	if got, err := r.Call(t.Context(), ns, asked); err != nil || !got.Replayed || got.State != router.Executed || got.Result.Status != tool.Executed || r.file("a.md") != "" {
		t.Errorf("the same call again: %+v, %v", got, err)
	}
	asked.Args = []byte(`{"path":"b.md","content":"霧"}`)
	if _, err := r.Call(t.Context(), ns, asked); !errors.Is(err, store.ErrTaken) {
		t.Errorf("another call of that id: %v", err)
	}
	asked.ID = "call-2"
	for _, again := range []bool{false, true} {
		if got, err := r.Call(t.Context(), ns, asked); err != nil || got.Replayed != again || got.State != router.Executed {
			t.Errorf("%+v, %v", got, err)
		}
	}
	r.sound()
}

// TestADirectCallOfWhichNobodyKnows is remembered: an equal call is asked about whatever rules say, of a person and of the model (C49).
func TestADirectCallOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
	r.faulty = &faulty{at: 2} // INTENT, outcome
	r.restart()
	if _, err := r.call(owner(), false, "", "create", makeA); !errors.Is(err, errFault) {
		t.Fatalf("the process was not killed: %v", err)
	}
	r.faulty, r.homeless, r.missing = nil, true, errGone
	r.restart()
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	begun := s.Direct.Call
	r.clock.now = s.Direct.Until.Add(time.Second)
	s = r.drive()
	if n := r.kinds(); n[audit.UnknownOutcome] != 1 || s.Direct != nil || len(s.Talk.Unknown) != 1 || !slices.Equal(s.Unproven, []string{begun}) {
		t.Fatalf("rows %v, %+v, %q, %q", n, s.Direct, s.Talk.Unknown, s.Unproven)
	}
	r.homeless, r.missing = false, nil
	r.ok(os.Remove(filepath.Join(r.dir, "a.md")))
	if got, err := r.call(owner(), true, "", "create", makeA); err != nil || got.Verdict != policy.Ask {
		t.Errorf("a dry run of the same call: %s, %v", got.Verdict, err)
	}
	if _, err := r.call(owner(), false, "", "create", makeA); refusal(err) != gate.NotApprover || r.file("a.md") != "" {
		t.Errorf("the same call: %v", err)
	}
	if got, err := r.call(owner(), false, "", "create", `{"path":"b.md"}`); err != nil || got.State != router.Executed {
		t.Errorf("another call: %+v, %v", got.State, err)
	}
	if s := r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "霧")})); s.State.Step != session.Awaiting || r.file("a.md") != "" {
		t.Errorf("the model's: %+v", s.State)
	}
	r.sound()
}

// TestACallLikeOneOfWhichNobodyKnows does not begin unasked, also where the other one ends after it was judged for the last time before its INTENT (C48,
// C49).
func TestACallLikeOneOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, unknown := range []bool{false, true} {
		r := newRig(t)
		r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
		r.beginning = func(s ledger.Session, call string) {
			if !unknown {
				return
			}
			_, err := r.Ledger.Change(t.Context(), ns, id, ann, func(w *ledger.Work) error {
				w.Session.Talk.Unknown = []string{s.Calls[call].Hash}
				w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "test", ArgsDigest: string(canon.Sum(nil))})
				return nil
			})
			r.ok(err)
		}
		s := r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)), say("EXECUTION", "done", "reply", "はい。"))
		told := r.told(1)[0]
		if made := r.file("f00.md") != ""; made == unknown || s.State.Status != session.Success || strings.Contains(told, `"VOIDED"`) != unknown {
			t.Errorf("unknown %v: made %v, %+v, the model is told %s", unknown, made, s.State, told)
		}
		if n := r.kinds(); (n[audit.Intent] == 0) != unknown || (n[audit.Void] == 1) != unknown {
			t.Errorf("unknown %v: rows %v", unknown, n)
		}
		r.sound()
	}
}

// TestTheSameCallAtOnce: of one call that is sent many times at once one is made, and nobody is told that it was not (S15).
func TestTheSameCallAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "create", Effect: policy.EffectAllow, Tool: "create"}, {ID: "write", Effect: policy.EffectAllow, Tool: "write"}}
	r.ok(writeFile(r, "b.md", "雨"))
	for round, one := range []Call{{Tool: "create", Args: []byte(makeA)}, {Tool: "write", Args: []byte(`{"path":"b.md","content":"霧"}`)}} {
		one.Session, one.Who, one.ID = id, owner(), fmt.Sprint("call-", round)
		var made, again atomic.Int32
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				got, err := r.Call(t.Context(), ns, one)
				var refused *session.RefusedError
				switch {
				case errors.As(err, &refused): // It, or another one, is at work.
				case err != nil || got.State != router.Executed || got.Result.Status != tool.Executed:
					t.Errorf("%+v, %v", got, err)
				case got.Replayed:
					again.Add(1)
				default:
					made.Add(1)
				}
			})
		}
		all.Wait()
		if got, err := r.Call(t.Context(), ns, one); err != nil || !got.Replayed || made.Load() != 1 {
			t.Errorf("%s was made %d times and told again %d times; then %+v, %v", one.Tool, made.Load(), again.Load(), got, err)
		}
	}
	if n := r.kinds(); n[audit.Intent] != 2 || n[audit.Execute] != 2 || r.file("a.md") != "霧" || r.file("b.md") != "霧" {
		t.Errorf("rows: %v", n)
	}
	r.sound()
}
