package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const ns = "default"

var ann = audit.Actor{Name: "ann", Kind: audit.Person}

type rig struct {
	*Ledger
	clock *clock
	path  string
	store *sqlite.Store
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{clock: &clock{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}, path: filepath.Join(t.TempDir(), "agent.db")}
	r.open(t)
	return r
}

func (r *rig) open(t testing.TB) {
	t.Helper()
	s, err := sqlite.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	keys, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	if err != nil {
		t.Fatal(err)
	}
	r.store, r.Ledger = s, New(s, keys, session.Machine{Limits: session.DefaultLimits()}, r.clock)
}

func (r *rig) create(t testing.TB, id string) Session {
	t.Helper()
	s, err := r.Create(t.Context(), ns, Fresh{ID: id, Owner: "ann", Items: session.Items{Goal: "港の話を書く", Constraints: []string{"短く"}}}, ann)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hash(text string) string { return string(canon.Sum([]byte(text))) }

// plan is the approval of a plan, as a model's answer raises it.
func (r *rig) plan(t testing.TB, id string, life time.Duration) gate.Made {
	t.Helper()
	made, err := gate.ForPlan(gate.Plan{
		Origin: gate.Origin{ID: id, Namespace: ns, Session: "s", Task: "task", Turn: "t1", Call: "plan", Seq: 5, Requester: "ann", Now: r.clock.Now(), Life: life},
		Name:   "下書き", Aim: "港の話", Steps: []string{"書く"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// asks is the answer that raises it.
func asks(made gate.Made) session.Event {
	a := made.Approval
	return session.Answered{
		Step: session.Execution, Next: session.NextContinue, AskPlan: true,
		Gate: session.Proposal{ID: "plan", Approval: a.ID, Digest: string(a.Digest), Until: a.Expires},
	}
}

// apply applies an event in a transaction of its own, with the rows that its caller owes for calls.
func (r *rig) apply(ctx context.Context, id string, e session.Event, made ...gate.Approval) (Session, error) {
	return r.Change(ctx, ns, id, ann, func(w *Work) error {
		call := func(kind audit.Kind, verdict, id string) {
			w.Row(audit.Entry{Kind: kind, Verdict: verdict, Reason: "test", CallHash: hash("call " + id), ArgsDigest: hash("args " + id)})
		}
		if a, ok := e.(session.Answered); ok {
			w.Session.Calls = map[string]Call{}
			for _, c := range a.Calls {
				w.Session.Calls[c.ID] = Call{Tool: "write", Hash: hash("call " + c.ID)}
				call(audit.Allow, "ALLOWED", c.ID)
			}
		}
		notes, err := w.Apply(e, gate.Change{Made: made})
		for _, n := range notes {
			if n.Of == session.OfCall && w.Session.Calls[n.ID].Hash != "" && n.From != "" {
				call(audit.Execute, n.To, n.ID)
			}
		}
		return err
	})
}

func (r *rig) events(t testing.TB, id string, events ...session.Event) (s Session) {
	t.Helper()
	for _, e := range events {
		var err error
		if s, err = r.apply(t.Context(), id, e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
	return s
}

// gated opens a turn and asks for a plan.
func (r *rig) gated(t testing.TB, id string, made gate.Made) {
	t.Helper()
	r.events(t, id, session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"})
	if _, err := r.apply(t.Context(), id, asks(made), made.Approval); err != nil {
		t.Fatal(err)
	}
}

// decide decides about an approval as a caller does: judged in the transaction.
func (r *rig) decide(ctx context.Context, id string, made gate.Made, d session.Decision) (Session, error) {
	return r.Change(ctx, ns, id, ann, func(w *Work) error {
		a, err := w.Approved(made.Approval.ID)
		if err != nil {
			return err
		}
		who := gate.Who{Name: "ann", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
		ruling := gate.Decide(a, made.Content, gate.Request{Who: who, Decision: d, Digest: a.Digest, Now: w.Now, Seq: w.Seq()}, gate.DefaultTerms())
		if ruling.Event == nil {
			return ruling.Refused
		}
		_, err = w.Apply(ruling.Event, ruling.Change)
		return err
	})
}

// rows are the kinds and verdicts of a session's rows.
func (r *rig) rows(t testing.TB, id string) (all []string) {
	t.Helper()
	for row, err := range r.Rows(t.Context(), ns, id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(row.Kind)+" "+row.Verdict)
	}
	return all
}

// sound: the rows verify, and make the session that is stored.
func (r *rig) sound(t testing.TB, id string) {
	t.Helper()
	if _, err := r.Verify(t.Context(), ns, id); err != nil {
		t.Errorf("verify: %v", err)
	}
	if _, err := r.Replay(t.Context(), ns, id); err != nil {
		t.Errorf("replay: %v", err)
	}
}

// TestAWholeTurn: a plan that is asked for and approved, and a call that is allowed, begun and done, have a row for each of it.
func TestAWholeTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	made := r.plan(t, "a1", time.Hour)
	r.gated(t, "s", made)
	if _, err := r.decide(t.Context(), "s", made, session.Approve); err != nil {
		t.Fatal(err)
	}
	s := r.events(t, "s", session.Answered{Step: session.Execution, Calls: []session.Proposal{{ID: "c1"}}},
		session.Began{Call: "c1", At: r.clock.Now()}, session.Ended{Call: "c1"}, session.Answered{Step: session.Execution, Next: session.NextDone})
	want := []string{
		"create CREATED", "turn QUEUED", "turn RUNS", "transition IN_PROGRESS", "ask ASK", "turn ANSWERED", "transition AWAITING_APPROVAL", "transition REQUIRES_USER_INPUT",
		"approve APPROVE", "transition EXECUTION", "transition IN_PROGRESS", "allow ALLOWED", "turn ANSWERED", "execute INTENT", "execute EXECUTED", "turn ANSWERED",
		"turn STOPPED", "transition SUCCESS",
	}
	if diff := cmp.Diff(want, r.rows(t, "s")); diff != "" {
		t.Error(diff)
	}
	if s.Turns != 1 || len(s.Calls) != 0 || s.State.Status != session.Success || s.Thread.Delta == "" {
		t.Errorf("%+v", s)
	}
	err := r.store.Read(t.Context(), ns, func(v store.View) error {
		a, err := v.Approval("a1")
		if a.State != string(gate.Consumed) {
			t.Errorf("the approval is %s", a.State)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	r.sound(t, "s")
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	r.open(t)
	back, err := r.Get(t.Context(), ns, "s")
	if diff := cmp.Diff(s, back); diff != "" || err != nil {
		t.Errorf("after a restart: %v %s", err, diff)
	}
	r.sound(t, "s")
}

// TestAChangeOfACallIsTold: what a call does without a row of it is not written (field/agent.md I5).
func TestAChangeOfACallIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	r.events(t, "s", session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"}, session.Answered{Step: session.Execution, Next: session.NextContinue, Utterance: "u2"})
	_, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error {
		w.Session.Calls = map[string]Call{"c1": {Tool: "write", Hash: hash("call c1")}}
		_, err := w.Apply(session.Answered{Step: session.Execution, Calls: []session.Proposal{{ID: "c1"}}}, gate.Change{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "no row tells it") {
		t.Errorf("error %v", err)
	}
}

// TestOneOutcome: 32 callers approve, deny, cancel, supersede and expire one approval; it gets one outcome, and one row says so (C56).
func TestOneOutcome(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		r := newRig(t)
		r.create(t, "s")
		made := r.plan(t, "a1", time.Minute)
		r.gated(t, "s", made)
		end := made.Approval.Expires
		tries := []func() (Session, error){
			func() (Session, error) { return r.decide(t.Context(), "s", made, session.Approve) },
			func() (Session, error) { return r.decide(t.Context(), "s", made, session.Deny) },
			func() (Session, error) { return r.apply(t.Context(), "s", session.CancelSent{TurnID: "t1"}) },
			func() (Session, error) { return r.apply(t.Context(), "s", session.Lapsed{Approval: "a1", At: end}) },
			func() (Session, error) {
				return r.apply(t.Context(), "s", session.Sent{ID: "m2", Mode: session.Supersede, Approvals: []string{"a1"}, NewTurn: "t2", NewUtterance: "u2"})
			},
		}
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				var refused *session.RefusedError
				var no *gate.Refusal
				if _, err := tries[(i+round)%len(tries)](); err != nil && !errors.As(err, &refused) && !errors.As(err, &no) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		outcomes := 0
		for row, err := range r.Rows(t.Context(), ns, "s", 1) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Digest == string(made.Approval.Digest) && slices.Contains([]audit.Kind{audit.Approve, audit.Deny, audit.Expiry, audit.Cancel, audit.Supersede}, row.Kind) {
				outcomes++
			}
		}
		if outcomes != 1 {
			t.Errorf("%d outcomes: %v", outcomes, r.rows(t, "s"))
		}
		r.sound(t, "s")
	}
}

// TestContinuedItems: each of the five items is taken from the session that is continued, unless the new one brings its own.
func TestContinuedItems(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := session.Items{Goal: "港の地図", WhyNow: "明日までに", Constraints: []string{"本番に触れない"}, PlanBrief: []string{"下書き"}, OpenQuestions: []string{"縮尺は？"}}
	for i, tt := range []struct{ brings, want session.Items }{
		{session.Items{}, old},
		{session.Items{Goal: "航路図"}, session.Items{Goal: "航路図", WhyNow: old.WhyNow, Constraints: old.Constraints, PlanBrief: old.PlanBrief, OpenQuestions: old.OpenQuestions}},
		{session.Items{WhyNow: "今夜"}, session.Items{Goal: old.Goal, WhyNow: "今夜", Constraints: old.Constraints, PlanBrief: old.PlanBrief, OpenQuestions: old.OpenQuestions}},
		{session.Items{Constraints: []string{"一頁"}}, session.Items{Goal: old.Goal, WhyNow: old.WhyNow, Constraints: []string{"一頁"}, PlanBrief: old.PlanBrief, OpenQuestions: old.OpenQuestions}},
		{session.Items{PlanBrief: []string{"清書"}}, session.Items{Goal: old.Goal, WhyNow: old.WhyNow, Constraints: old.Constraints, PlanBrief: []string{"清書"}, OpenQuestions: old.OpenQuestions}},
		{session.Items{OpenQuestions: []string{"色は？"}}, session.Items{Goal: old.Goal, WhyNow: old.WhyNow, Constraints: old.Constraints, PlanBrief: old.PlanBrief, OpenQuestions: []string{"色は？"}}},
	} {
		from, to := fmt.Sprint("from", i), fmt.Sprint("to", i)
		if _, err := r.Create(t.Context(), ns, Fresh{ID: from, Owner: "ann", Items: old}, ann); err != nil {
			t.Fatal(err)
		}
		got, err := r.Create(t.Context(), ns, Fresh{ID: to, Owner: "ann", Items: tt.brings, Continues: from}, ann)
		if err != nil || !cmp.Equal(got.Items, tt.want) {
			t.Errorf("%d: %+v, %v", i, got.Items, err)
		}
	}
}

// TestSessions: a session is made once, listed, changed by whoever read it, continued when it has ended, and gone when it is deleted.
func TestSessions(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	a := r.create(t, "a")
	if _, err := r.Create(ctx, ns, Fresh{ID: "a", Owner: "bob"}, ann); !errors.Is(err, store.ErrTaken) {
		t.Errorf("error %v", err)
	}
	var wrong *FieldsError
	if _, err := r.Create(ctx, ns, Fresh{ID: "x", Items: session.Items{Goal: strings.Repeat("港", 201), Constraints: []string{"a", "b", "c"}}, Refs: []string{"web:x"}}, ann); !errors.As(err, &wrong) || len(wrong.Wrong) != 3 {
		t.Errorf("error %v", err)
	}
	if _, err := r.Get(ctx, "other", "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another namespace: %v", err)
	}
	const flow = "conversation:flows/6f9a2c1e-0b1d-4d55-9a0e-3f1f6f0e8a77"
	b, err := r.Update(ctx, ns, "a", a.Etag(), ann, func(s *Session) error {
		s.Items.PlanBrief, s.Nodes = []string{"下書き"}, 3
		s.Thread = session.Thread{Refs: []string{"conversation:3", flow}}.Refer("file:a.md").Refer("conversation:1")
		return nil
	})
	if err != nil || b.Version != a.Version+1 || b.Etag() == a.Etag() {
		t.Errorf("%+v, %v", b, err)
	}
	var stale *etag.StaleError
	if _, err := r.Update(ctx, ns, "a", a.Etag(), ann, func(*Session) error { return nil }); !errors.As(err, &stale) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Update(ctx, ns, "a", "", ann, func(s *Session) error { s.Items.WhyNow = "a\nb"; return nil }); !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
	c, err := r.Create(ctx, ns, Fresh{ID: "c", Owner: "bob", Continues: "a"}, ann)
	if err != nil || !cmp.Equal(c.Items, b.Items) || c.Continues != "a" {
		t.Errorf("%+v, %v", c, err)
	}
	if !slices.Equal(c.Thread.Refs, []string{"conversation:sessions/a/3", flow, "file:a.md", "conversation:sessions/a/1"}) {
		t.Errorf("numbers are of the session that counted them: %q", c.Thread.Refs)
	}
	r.events(t, "a", session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"})
	var works *NotEndedError
	if _, err := r.Create(ctx, ns, Fresh{ID: "d", Continues: "a"}, ann); !errors.As(err, &works) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Delete(ctx, ns, "a", "", ann); !errors.As(err, &works) {
		t.Errorf("error %v", err)
	}
	r.events(t, "a", session.CancelSent{TurnID: "t1"}, session.WorkStopped{})
	now, err := r.Get(ctx, ns, "a")
	if err != nil {
		t.Fatal(err)
	}
	stale = nil
	if _, err := r.Delete(ctx, ns, "a", b.Etag(), ann); !errors.As(err, &stale) {
		t.Errorf("by what it was before: %v", err)
	}
	if kept, err := r.Get(ctx, ns, "a"); err != nil || kept.Version != now.Version {
		t.Errorf("what was not deleted: %+v, %v", kept, err)
	}
	if _, err := r.Delete(ctx, ns, "a", now.Etag(), ann); err != nil {
		t.Error(err)
	}
	if _, err := r.Get(ctx, ns, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Delete(ctx, ns, "a", "", ann); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if list := r.listed(t); len(list) != 1 || list[0].Session.ID != "c" {
		t.Errorf("%+v", list)
	}
	r.sound(t, "a") // its rows stay
	r.sound(t, "c")
}

// TestClocks is S16: a time never runs back, and a clock that is far behind lets nothing begin; a denial works.
func TestClocks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	made := r.plan(t, "a1", 24*time.Hour)
	r.gated(t, "s", made)
	r.clock.add(-2 * time.Minute)
	var behind *ClockBehindError
	if _, err := r.decide(t.Context(), "s", made, session.Approve); !errors.As(err, &behind) {
		t.Errorf("error %v", err)
	}
	s, err := r.decide(t.Context(), "s", made, session.Deny)
	if err != nil {
		t.Fatal(err)
	}
	if s.State.Step != session.Planning || s.Updated.Before(s.Created) {
		t.Errorf("%+v", s)
	}
	r.sound(t, "s")
}

// TestAgent23TamperedRows: a row, or what it says that changed, that another program alters in the file is named.
func TestAgent23TamperedRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		verify bool // else only the replay notices
	}{
		"a byte of a row":  {`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"verdict":"APPROVE"', '"verdict":"APPROVES"') AS BLOB)`, true},
		"a change is gone": {`DELETE FROM records WHERE seq = (SELECT min(seq) FROM records WHERE seq > 1)`, true},
		"a row is gone":    {`UPDATE records SET body = CAST(json_remove(CAST(body AS TEXT), '$.rows[0]') AS BLOB) WHERE seq = (SELECT max(seq) FROM records)`, true},
		"the last two":     {`DELETE FROM records WHERE seq > (SELECT max(seq) - 2 FROM records)`, true},
		"what it changed":  {`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"港の話を書く"', '"海の話を書く"') AS BLOB) WHERE seq = 1`, true},
		"the session":      {`UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '港の話を書く', '海の話を書く') AS BLOB)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create(t, "s")
			made := r.plan(t, "a1", time.Hour)
			r.gated(t, "s", made)
			if _, err := r.decide(t.Context(), "s", made, session.Approve); err != nil {
				t.Fatal(err)
			}
			r.sound(t, "s")
			other, err := durable.Open(r.path, func(*durable.DB) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(other.Transaction(func() error { return other.Exec(c.change) }), other.Close()); err != nil {
				t.Fatal(err)
			}
			var bad *audit.BadRow
			if _, err := r.Verify(t.Context(), ns, "s"); c.verify != errors.As(err, &bad) {
				t.Errorf("verify: %v", err)
			}
			if _, err := r.Replay(t.Context(), ns, "s"); err == nil && !c.verify {
				t.Error("the replay notices nothing")
			}
		})
	}
}

// TestRandomHistories: whatever happens, refused or not, with restarts in between, the rows verify and make the session.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(d *rapid.T) {
		r := newRig(t)
		r.create(t, "s")
		made := r.plan(t, "a", time.Minute)
		for i := range 40 {
			s, err := r.Get(t.Context(), ns, "s")
			if err != nil {
				d.Fatal(err)
			}
			call := session.Call{}
			if len(s.State.Calls) > 0 {
				call = s.State.Calls[0]
			}
			one := []session.Proposal{{ID: fmt.Sprint("c", i)}}
			next := r.plan(t, fmt.Sprint("a", i), time.Minute)
			e := rapid.SampledFrom([]session.Event{
				session.Sent{ID: fmt.Sprint("m", i), Mode: session.Queue}, session.TurnOpened{Turn: fmt.Sprint("t", i), Utterance: fmt.Sprint("u", i)},
				session.Answered{Step: session.Execution, Calls: one}, session.Answered{Step: session.Review, Next: session.NextContinue, Utterance: "v"}, asks(next),
				session.Answered{Step: session.Review, Next: session.NextDone}, session.Unreadable{Why: "no object"}, session.CancelSent{TurnID: s.State.Turn.ID}, session.WorkStopped{},
				session.Decided{Decision: session.Approve}, session.Decided{Decision: session.Deny}, session.Lapsed{Approval: call.Approval, At: made.Approval.Expires},
				session.Began{Call: call.ID, Digest: call.Digest, At: r.clock.Now()}, session.Ended{Call: call.ID}, session.Ended{Call: call.ID, Failed: true},
				session.BatchFailed{}, session.Recovered{Utterance: "r"}, session.PickedUp{},
			}).Draw(d, "event")
			var refused *session.RefusedError
			var no *gate.Refusal
			if decided, ok := e.(session.Decided); ok {
				_, err = r.decide(t.Context(), "s", made, decided.Decision)
			} else if a, ok := e.(session.Answered); ok && a.AskPlan {
				if _, err = r.apply(t.Context(), "s", e, next.Approval); err == nil {
					made = next
				}
			} else {
				_, err = r.apply(t.Context(), "s", e)
			}
			if err != nil && !errors.As(err, &refused) && !errors.As(err, &no) && !errors.Is(err, store.ErrNotFound) {
				d.Fatalf("%T: %v", e, err)
			}
			r.clock.add(time.Duration(rapid.IntRange(0, 30).Draw(d, "seconds")) * time.Second)
		}
		if err := r.store.Close(); err != nil {
			d.Fatal(err)
		}
		r.open(t)
		r.sound(t, "s")
	})
}
