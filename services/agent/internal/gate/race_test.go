package gate

import (
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// ledger is a store of one approval, each of whose transactions sees what the one before has left (C56).
type ledger struct {
	mu    sync.Mutex
	m     session.Machine
	state session.State
	made  Made
	told  []string
}

// decide is the transaction of a decision: what was told is what was stored.
func (l *ledger) decide(t *testing.T, r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ruling := Decide(l.made.Approval, l.made.Content, r, DefaultTerms())
	if ruling.Event != nil {
		l.apply(t, ruling.Event, ruling.Change)
	}
	if ruling.Record != nil {
		l.made.Approval = *ruling.Record
	}
	if ruling.Refused == nil && l.made.Approval.Decision != nil {
		l.told = append(l.told, string(r.Decision))
	}
}

// apply is a transaction of any event; one that comes too late changes nothing.
func (l *ledger) apply(t *testing.T, e session.Event, c Change) {
	after, notes, err := l.m.Apply(l.state, e)
	if err != nil {
		return
	}
	changed, err := Settle([]Approval{l.made.Approval}, notes, c)
	if err != nil {
		t.Error(err)
		return
	}
	for _, a := range changed {
		l.made.Approval = a
	}
	l.state = after
}

// Of 32 callers at once who approve, deny, supersede, cancel, and close what is over, exactly one thing becomes of an approval, and nobody
// is told anything else (C56, C57).
func TestOneOutcomeUnderRaces(t *testing.T) {
	t.Parallel()
	const rounds, callers = 50, 32
	outcomes := map[State]int{}
	for round := range rounds {
		m := one(t, write(t, "a1", "docs/a.md", "new\n"))
		l := &ledger{m: session.Machine{Limits: session.DefaultLimits()}, state: waiting(m.Approval), made: m}
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range callers {
			all.Go(func() {
				<-start
				c := Change{At: noon.Add(time.Minute), Seq: int64(20 + i)}
				event := func(e session.Event) { l.mu.Lock(); defer l.mu.Unlock(); l.apply(t, e, c) }
				switch (i + round) % 5 {
				case 0:
					l.decide(t, yes(m.Approval, bob))
				case 1:
					l.decide(t, with(yes(m.Approval, alice), session.Deny))
				case 2:
					event(session.Sent{ID: "m2", Mode: session.Supersede, Approvals: []string{"a1"}, NewTurn: "t2", NewUtterance: "u2"})
				case 3:
					event(session.CancelSent{TurnID: "turn1"})
				case 4:
					late := yes(m.Approval, bob)
					late.Now = m.Approval.Expires
					l.decide(t, late)
				}
			})
		}
		close(start)
		all.Wait()
		a := l.made.Approval
		outcomes[a.State]++
		for _, told := range l.told {
			if a.Decision == nil || told != string(a.Decision.Decision) {
				t.Fatalf("somebody was told %s, and the approval is %s", told, a.State)
			}
		}
		if a.State == Pending || (a.Decision != nil) != (a.State == Approved || a.State == Voided || a.State == Denied) {
			t.Fatalf("%+v", a)
		}
		if err := Agree(l.state, []Approval{a}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}
