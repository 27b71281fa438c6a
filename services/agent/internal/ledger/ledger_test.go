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

// apply applies events, each in its own transaction.
func (r *rig) apply(ctx context.Context, id string, events ...session.Event) (s Session, err error) {
	for _, e := range events {
		s, err = r.Change(ctx, ns, id, ann, func(w *Work) error {
			if a, ok := e.(session.Answered); ok {
				w.Session.Calls = map[string]Call{}
				for _, c := range append(a.Calls, a.Gate) {
					w.Session.Calls[c.ID] = Call{Tool: "write", Hash: hash("call " + c.ID), Args: hash("args " + c.ID), Before: audit.Absent, After: hash("after")}
				}
			}
			_, err := w.Apply(e)
			return err
		})
		if err != nil {
			return Session{}, err
		}
	}
	return s, nil
}

func (r *rig) events(t testing.TB, id string, events ...session.Event) Session {
	t.Helper()
	s, err := r.apply(t.Context(), id, events...)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

func gated(until time.Time) []session.Event {
	return []session.Event{
		session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"},
		session.Answered{Step: session.Execution, Calls: []session.Proposal{{ID: "c1", Ask: true, Approval: "a1", Digest: hash("a1"), Until: until}}},
	}
}

// TestAWholeTurn: a call that is asked for, approved and done has a row for each of it, with the hashes that bind them.
func TestAWholeTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	later := r.clock.Now().Add(time.Hour)
	s := r.events(t, "s", append(gated(later),
		session.Decided{Approval: "a1", Digest: hash("a1"), Decision: session.Approve, At: r.clock.Now(), Start: later},
		session.Began{Call: "c1", Digest: hash("a1"), At: r.clock.Now()}, session.Ended{Call: "c1"},
		session.Answered{Step: session.Execution, Next: session.NextDone})...)
	want := []string{
		"create CREATED", "turn QUEUED", "turn RUNS", "transition IN_PROGRESS", "turn ANSWERED", "transition EXECUTION", "ask PENDING", "transition AWAITING_APPROVAL", "transition REQUIRES_USER_INPUT",
		"approve APPROVED", "transition EXECUTION", "transition IN_PROGRESS", "intent INTENT", "execute EXECUTED", "turn ANSWERED", "turn STOPPED", "transition SUCCESS",
	}
	if diff := cmp.Diff(want, r.rows(t, "s")); diff != "" {
		t.Error(diff)
	}
	for row, err := range r.Rows(t.Context(), ns, "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]audit.Kind{audit.Ask, audit.Approve, audit.Intent, audit.Execute}, row.Kind) &&
			(row.CallHash != hash("call c1") || row.ArgsDigest != hash("args c1") || row.Digest != hash("a1") || row.Before != audit.Absent) {
			t.Errorf("%+v", row)
		}
	}
	if s.Turns != 1 || len(s.Calls) != 0 || s.State.Status != session.Success || s.Thread.Delta == "" {
		t.Errorf("%+v", s)
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

// TestOneOutcome: 32 callers approve, deny, cancel, supersede and expire one approval; it gets one outcome, and one row says so (C56).
func TestOneOutcome(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		r := newRig(t)
		r.create(t, "s")
		now := r.clock.Now()
		until := now.Add(time.Minute)
		r.events(t, "s", gated(until)...)
		events := []session.Event{
			session.Decided{Approval: "a1", Digest: hash("a1"), Decision: session.Approve, At: now, Start: until},
			session.Decided{Approval: "a1", Digest: hash("a1"), Decision: session.Deny, At: now},
			session.CancelSent{TurnID: "t1"}, session.Lapsed{Approval: "a1", At: until},
			session.Sent{ID: "m2", Mode: session.Supersede, Approvals: []string{"a1"}, NewTurn: "t2", NewUtterance: "u2"},
		}
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				var refused *session.RefusedError
				if _, err := r.apply(t.Context(), "s", events[(i+round)%len(events)]); err != nil && !errors.As(err, &refused) {
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
			if row.Digest == hash("a1") && slices.Contains([]audit.Kind{audit.Approve, audit.Deny, audit.Expiry, audit.Cancel, audit.Supersede}, row.Kind) {
				outcomes++
			}
		}
		if outcomes != 1 {
			t.Errorf("%d outcomes: %v", outcomes, r.rows(t, "s"))
		}
		r.sound(t, "s")
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
	b, err := r.Update(ctx, ns, "a", a.Etag(), ann, func(s *Session) { s.Items.PlanBrief = []string{"下書き"} })
	if err != nil || b.Version != a.Version+1 || b.Etag() == a.Etag() {
		t.Errorf("%+v, %v", b, err)
	}
	var stale *etag.StaleError
	if _, err := r.Update(ctx, ns, "a", a.Etag(), ann, func(*Session) {}); !errors.As(err, &stale) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Update(ctx, ns, "a", "", ann, func(s *Session) { s.Items.WhyNow = "a\nb" }); !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
	c, err := r.Create(ctx, ns, Fresh{ID: "c", Owner: "bob", Continues: "a"}, ann)
	if err != nil || !cmp.Equal(c.Items, b.Items) || c.Continues != "a" {
		t.Errorf("%+v, %v", c, err)
	}
	r.events(t, "a", gated(r.clock.Now().Add(time.Hour))...)
	var works *NotEndedError
	if _, err := r.Create(ctx, ns, Fresh{ID: "d", Continues: "a"}, ann); !errors.As(err, &works) {
		t.Errorf("error %v", err)
	}
	if err := r.Delete(ctx, ns, "a", "", ann); !errors.As(err, &works) {
		t.Errorf("error %v", err)
	}
	r.events(t, "a", session.CancelSent{TurnID: "t1"}, session.WorkStopped{})
	if err := r.Delete(ctx, ns, "a", "", ann); err != nil {
		t.Error(err)
	}
	if _, err := r.Get(ctx, ns, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if err := r.Delete(ctx, ns, "a", "", ann); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	list, err := r.List(ctx, ns, store.SessionFilter{}, store.Place{}, 10)
	if err != nil || len(list) != 1 || list[0].ID != "c" {
		t.Errorf("%+v, %v", list, err)
	}
	r.sound(t, "a") // its rows stay
	r.sound(t, "c")
}

// TestClocks is S16: a time never runs back, and a clock that is far behind lets nothing begin; a denial works.
func TestClocks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	until := r.clock.Now().Add(24 * time.Hour)
	r.events(t, "s", gated(until)...)
	r.clock.add(-2 * time.Minute)
	approve := session.Decided{Approval: "a1", Digest: hash("a1"), Decision: session.Approve, At: r.clock.Now(), Start: until}
	var behind *ClockBehindError
	if _, err := r.apply(t.Context(), "s", approve); !errors.As(err, &behind) {
		t.Errorf("error %v", err)
	}
	approve.Decision = session.Deny
	s := r.events(t, "s", approve)
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
		"a byte of a row": {`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), 'APPROVED', 'approved') AS BLOB)`, true},
		"a row is gone":   {`DELETE FROM records WHERE seq = 3`, true},
		"the last two":    {`DELETE FROM records WHERE seq > (SELECT max(seq) - 2 FROM records)`, true},
		"what it changed": {`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"港の話を書く"', '"海の話を書く"') AS BLOB) WHERE seq = 1`, false},
		"the session":     {`UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '港の話を書く', '海の話を書く') AS BLOB)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create(t, "s")
			until := r.clock.Now().Add(time.Hour)
			r.events(t, "s", append(gated(until), session.Decided{Approval: "a1", Digest: hash("a1"), Decision: session.Approve, At: r.clock.Now(), Start: until})...)
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
		for i := range 40 {
			now, until := r.clock.Now(), r.clock.Now().Add(time.Minute)
			id := func(prefix string) string { return prefix + fmt.Sprint(rapid.IntRange(0, 3).Draw(d, "id")) }
			s, err := r.Get(t.Context(), ns, "s")
			if err != nil {
				d.Fatal(err)
			}
			asked := session.Proposal{ID: id("c"), Ask: rapid.Bool().Draw(d, "ask"), Approval: fmt.Sprint("a", i), Digest: hash(fmt.Sprint("a", i)), Until: until}
			call := session.Call{}
			if len(s.State.Calls) > 0 {
				call = s.State.Calls[0]
			}
			e := rapid.SampledFrom([]session.Event{
				session.Sent{ID: fmt.Sprint("m", i), Mode: session.Queue}, session.TurnOpened{Turn: fmt.Sprint("t", i), Utterance: fmt.Sprint("u", i)},
				session.Answered{Step: session.Execution, Calls: []session.Proposal{asked}}, session.Answered{Step: session.Review, Next: session.NextContinue, Utterance: "v"},
				session.Answered{Step: session.Review, Next: session.NextDone}, session.Unreadable{Why: "no object"}, session.CancelSent{TurnID: s.State.Turn.ID}, session.WorkStopped{},
				session.Decided{Approval: call.Approval, Digest: call.Digest, Decision: session.Approve, At: now, Start: until},
				session.Decided{Approval: call.Approval, Digest: call.Digest, Decision: session.Deny, At: now},
				session.Edited{Approval: call.Approval, Digest: call.Digest, NewApproval: fmt.Sprint("e", i), NewDigest: hash(fmt.Sprint("e", i)), At: now, Until: until},
				session.Lapsed{Approval: call.Approval, At: until}, session.Began{Call: call.ID, Digest: call.Digest, At: now}, session.Ended{Call: call.ID},
				session.Ended{Call: call.ID, Failed: true}, session.BatchFailed{}, session.Recovered{Utterance: "r"}, session.PickedUp{},
				session.NotProven{Call: call.ID, Approval: fmt.Sprint("o", i), Digest: hash(fmt.Sprint("o", i)), Until: until},
			}).Draw(d, "event")
			var refused *session.RefusedError
			if _, err := r.apply(t.Context(), "s", e); err != nil && !errors.As(err, &refused) {
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
