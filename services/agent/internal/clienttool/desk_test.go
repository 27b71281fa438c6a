package clienttool_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// code is why a result was not taken; empty: it was.
func code(t testing.TB, err error) clienttool.Code {
	t.Helper()
	var refused *clienttool.RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused == nil {
		return ""
	}
	return refused.Code
}

// TestACall: a person is asked, the client is told exactly what was approved, its result carries the turn on and is told to the model
// whole; the same result again is the same, another one is refused, also when the session has gone on.
func TestACall(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		r := newRig(t, "")
		r.model.script = asks()
		r.send("天気は？")
		_, err := r.Drive(t.Context(), ns, id)
		r.ok(err)
		a := r.pending()
		if a.Kind != canon.KindToolCall || a.Subject.Tool != "weather" || len(r.open()) != 0 || code(t, r.submit(a.Call, "x")) != clienttool.NotOpen {
			t.Fatalf("%+v, %+v", a, r.open())
		}
		who := gate.Who{Name: "bob", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
		_, err = r.Decide(t.Context(), ns, a.ID, gate.Request{Who: who, Decision: session.Approve, Digest: a.Digest})
		r.ok(err)
		begun := r.clock.Now()
		r.drive()
		call, open := a.Call, r.open()
		if len(open) != 1 || open[0].Call != call || open[0].Tool != "weather" || open[0].Args != `{"days":1,"place":"港"}` ||
			open[0].Until.Before(begun.Add(weather.Timeout-time.Second)) || open[0].Until.After(r.clock.Now().Add(weather.Timeout)) {
			t.Errorf("%+v", open)
		}
		result := clienttool.Result{Text: strings.Repeat("晴", clienttool.MaxResult/3), Failed: failed}
		for i := range 3 {
			replayed, err := r.desk.Submit(t.Context(), ns, id, call, result, ann)
			if err != nil || replayed != (i > 0) {
				t.Errorf("%d: %v, %v", i, replayed, err)
			}
			if code(t, r.submit(call, "雨")) != clienttool.Taken {
				t.Error("another result was taken")
			}
			if i == 1 {
				r.drive()
			}
		}
		if s := r.session(); s.State.Turn.Running != session.NoTurn || len(r.open()) != 0 {
			t.Errorf("%+v, %+v", s.State, r.open())
		}
		status := map[bool]string{false: "EXECUTED", true: "FAILED"}[failed]
		if !strings.Contains(r.model.told(), `"status":"`+status) || !strings.Contains(r.model.told(), result.Text) {
			t.Errorf("the model was told %.200q", r.model.told())
		}
		rows := r.sound()
		if rows[audit.Intent] != 1 || rows[audit.Submit] != 1 || rows[audit.Execute]+rows[audit.Failure] != 1 || rows[audit.Failure] == 1 != failed {
			t.Errorf("%v", rows)
		}
	}
}

// TestNotTaken: what cannot be taken is refused with what is wrong, and changes nothing.
func TestNotTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	call := r.called()
	before := r.session().Version
	var wrong *ledger.FieldsError
	_, err := r.desk.Submit(t.Context(), ns, id, call, clienttool.Result{Text: strings.Repeat("x", clienttool.MaxResult) + "\xff"}, ann)
	if !errors.As(err, &wrong) || len(wrong.Wrong) != 2 || wrong.Wrong[0].Field != "output" || wrong.Wrong[1].Field != "output" {
		t.Errorf("too long and no UTF-8: %v", err)
	}
	if got := code(t, r.submit("other", "x")); got != clienttool.Unknown {
		t.Errorf("of no call: %s", got)
	}
	for _, where := range [][2]string{{"other", id}, {ns, "other"}} {
		if _, err := r.desk.Submit(t.Context(), where[0], where[1], call, clienttool.Result{}, ann); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("in %v: %v", where, err)
		}
	}
	if r.session().Version != before {
		t.Error("a refusal changed the session")
	}
	r.ok(r.submit(call, "")) // Nothing is a result, too.
	r.drive()
	if !strings.Contains(r.model.told(), "no output") {
		t.Errorf("the model was told %q", r.model.told())
	}
	r.sound()
}

// TestTimeIsOver: by the clock of the server; then a person is asked what became of the call, and no result is taken any more (C50). Until
// then a look changes nothing.
func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	for _, looked := range []bool{false, true} {
		r := newRig(t, "", unasked)
		call := r.called()
		before := r.session()
		r.clock.add(weather.Timeout / 2)
		if until := r.drive(); !until.Equal(r.open()[0].Until) || r.session().Version != before.Version {
			t.Errorf("until %s, %+v", until, r.session())
		}
		r.clock.add(weather.Timeout)
		if looked {
			if got := code(t, r.submit(call, "晴れ")); got != clienttool.Late || len(r.open()) != 0 {
				t.Errorf("late: %q, %+v", got, r.open())
			}
		}
		r.drive()
		a := r.pending()
		if s := r.session(); a.Kind != canon.KindOutcome || s.State.Calls[0].Progress != session.OutcomePending {
			t.Errorf("%+v, %+v", a, s.State)
		}
		if got := code(t, r.submit(call, "晴れ")); got != clienttool.Closed {
			t.Errorf("after the end: %q", got)
		}
		r.sound()
	}
}

// TestTaken: a result that was taken is told, also where nobody has looked before the time was over or the work was stopped: it was
// acknowledged.
func TestTaken(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"late", "canceled"} {
		r := newRig(t, "", unasked)
		call := r.called()
		r.ok(r.submit(call, "晴れ"))
		if how == "late" {
			r.clock.add(2 * weather.Timeout)
		} else {
			_, err := r.Cancel(t.Context(), ns, id, r.session().State.Turn.ID, ann)
			r.ok(err)
		}
		r.drive()
		if rows := r.sound(); rows[audit.Execute] != 1 || rows[audit.UnknownOutcome] != 0 || r.pending().ID != "" {
			t.Errorf("%s: %v, %+v", how, rows, r.session().State)
		}
		if how == "late" && !strings.Contains(r.model.told(), "晴れ") {
			t.Errorf("the model was told %q", r.model.told())
		}
	}
}

// TestCanceled: a cancel ends the wait; the call is unknown for good, and asks nobody (C53).
func TestCanceled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	call := r.called()
	_, err := r.Cancel(t.Context(), ns, id, r.session().State.Turn.ID, ann)
	r.ok(err)
	if got := code(t, r.submit(call, "晴れ")); got != clienttool.Closed || len(r.open()) != 0 {
		t.Errorf("%q, %+v", got, r.open())
	}
	r.drive()
	rows := r.sound()
	if s := r.session(); s.State.Lifecycle != session.Canceled || rows[audit.UnknownOutcome] != 1 || r.pending().ID != "" {
		t.Errorf("%+v, %v", s.State, rows)
	}
}

// TestStopped: a process that is stopped leaves the call open, as often as that happens. The result is taken while nobody drives the session,
// and the next process tells it.
func TestStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	call := r.called()
	for range 3 {
		r.ok(r.store.Close())
		r.start()
		r.drive()
		if open := r.open(); len(open) != 1 || open[0].Call != call {
			t.Fatalf("%+v", open)
		}
	}
	r.ok(r.submit(call, "晴れ"))
	r.drive()
	rows := r.sound()
	if s := r.session(); s.State.Status != session.Success || rows[audit.Intent] != 1 || rows[audit.Execute] != 1 || !strings.Contains(r.model.told(), "晴れ") {
		t.Errorf("%+v, %v, %q", s.State, rows, r.model.told())
	}
}

// TestDue: a session that waits for its client is due when the time of the call is over and no sooner; with a result it is due at once.
func TestDue(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	call := r.called()
	due := func() (int, time.Time) {
		keys, next, err := r.store.Due(t.Context(), "", r.clock.Now(), 8)
		r.ok(err)
		return len(keys), next
	}
	if n, next := due(); n != 0 || !next.Equal(r.open()[0].Until) {
		t.Errorf("%d are due, the next at %s", n, next)
	}
	r.ok(r.submit(call, "晴れ"))
	if n, _ := due(); n != 1 {
		t.Errorf("%d are due with a result", n)
	}
	r.drive()
	if n, next := due(); n != 0 || !next.IsZero() {
		t.Errorf("%d are due at the end, the next at %s", n, next)
	}
}

// TestManySubmit: of many who send different results at once one is taken, and that one is told.
func TestManySubmit(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	call := r.called()
	var wait sync.WaitGroup
	taken := make(chan string, 32)
	for i := range 32 {
		wait.Go(func() {
			text := fmt.Sprintf("result %d.", i)
			err := r.submit(call, text)
			if err == nil {
				taken <- text
			} else if code(t, err) != clienttool.Taken {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	r.drive()
	if len(taken) != 1 || !strings.Contains(r.model.told(), <-taken) {
		t.Errorf("%d more were taken, and the model was told %q", len(taken), r.model.told())
	}
	if rows := r.sound(); rows[audit.Submit] != 1 {
		t.Errorf("%v", rows)
	}
}

// TestTwoTurns: a call of a later turn is another one, whatever its arguments.
func TestTwoTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", unasked)
	first := r.called()
	r.ok(r.submit(first, "晴れ"))
	r.drive()
	second := r.called()
	if second == first || code(t, r.submit(first, "雨")) != clienttool.Taken {
		t.Errorf("%s and %s", first, second)
	}
	r.ok(r.submit(second, "雨"))
	r.drive()
	if !strings.Contains(r.model.told(), "雨") {
		t.Errorf("the model was told %q", r.model.told())
	}
	r.sound()
}
