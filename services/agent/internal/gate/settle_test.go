package gate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// history is a session with the approvals that a store would hold of it.
type history struct {
	t     *rapid.T
	m     session.Machine
	state session.State
	all   map[string]Approval
	texts map[string]Content
	now   time.Time
	seq   int64
	ids   int
	calls [2]ToolCall
	seen  map[State]int
	keys  *audit.Keys
	head  audit.Head
	rows  map[audit.Kind]int
}

func (h *history) id(prefix string) string { h.ids++; return fmt.Sprintf("%s%d", prefix, h.ids) }

func (h *history) flip(name string) bool { return rapid.Bool().Draw(h.t, name) }

func (h *history) list() []Approval {
	var out []Approval
	for _, a := range h.all {
		out = append(out, a)
	}
	return newest(out)
}

// one is some approval: more often one that waits, where there is any.
func (h *history) one() Approval {
	all := h.list()
	if on := waitingOn(all); len(on) > 0 && rapid.IntRange(0, 3).Draw(h.t, "waits") > 0 {
		return h.all[on[rapid.IntRange(0, len(on)-1).Draw(h.t, "approval")]]
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(h.t, "approval")]
}

// call is one of two calls under new ids.
func (h *history) call(id string) ToolCall {
	c := h.calls[rapid.IntRange(0, 1).Draw(h.t, "which")]
	c.ID, c.Call, c.Now, c.Seq = h.id("a"), id, h.now, h.seq
	c.Life = time.Duration(rapid.IntRange(1, 10).Draw(h.t, "life")) * time.Minute
	return c
}

func (h *history) made(c Change, m Made) (Change, session.Proposal) {
	h.texts[m.Approval.ID] = m.Content
	c.Made = append(c.Made, m.Approval)
	a := m.Approval
	return c, session.Proposal{ID: a.Call, Ask: true, Approval: a.ID, Digest: string(a.Digest), Until: a.Expires}
}

// answer is something that a model says.
func (h *history) answer() (session.Event, Change) {
	c := Change{At: h.now, Seq: h.seq}
	steps := []session.Step{session.Planning, session.Execution, session.Execution, session.Review, session.Awaiting, h.state.Step}
	e := session.Answered{
		Step: rapid.SampledFrom(steps).Draw(h.t, "step"), Utterance: h.id("u"), No: rapid.IntRange(0, 9).Draw(h.t, "no") == 7,
		Next:    rapid.SampledFrom([]session.Next{session.NextContinue, session.NextContinue, session.NextDone, session.NextUser}).Draw(h.t, "next"),
		AskPlan: h.flip("plan"), AskResult: h.flip("result"),
	}
	for range rapid.IntRange(0, 3).Draw(h.t, "calls") {
		made, err := ForCalls([]ToolCall{h.call(h.id("c"))}, 0)
		must(h.t, err)
		var p session.Proposal
		c, p = h.made(c, made[0])
		p.Ask = h.flip("ask")
		e.Calls = append(e.Calls, p)
	}
	o := h.call(h.id("p")).Origin
	gate, err := ForPlan(Plan{Origin: o, Name: "n", Aim: "m"})
	if h.state.Step == session.Review {
		gate, err = ForResult(Result{Origin: o, Text: "done"})
	}
	must(h.t, err)
	c, e.Gate = h.made(c, gate)
	return e, c
}

// decide goes through the gate; a ruling that has an event and refuses nothing is taken by the machine, but for a call that was changed too
// often.
func (h *history) decide() (session.Event, Change) {
	a := h.one()
	answers := []session.Decision{session.Approve, session.Approve, session.Deny, Edit, session.Happened}
	if a.Kind == canon.KindOutcome {
		answers = []session.Decision{session.Happened, session.DidNotOccur, session.Deny}
	}
	r := Request{Who: bob, Digest: a.Digest, Now: h.now, Seq: h.seq, Decision: rapid.SampledFrom(answers).Draw(h.t, "decision")}
	if rapid.IntRange(0, 9).Draw(h.t, "wrong") == 7 {
		r.Digest = canon.Sum(nil)
	}
	if r.Decision == Edit {
		if c := h.call(a.Call); a.Kind == canon.KindToolCall {
			m, err := ForEdit(a, bob.Name, c)
			must(h.t, err)
			h.texts[m.Approval.ID] = m.Content
			r.Replacement = &m
		}
	}
	ruling := Decide(a, h.texts[a.ID], r, DefaultTerms())
	if ruling.Record != nil {
		h.put(*ruling.Record)
		h.record(Rows([]Approval{*ruling.Record}, ruling.Change))
	}
	if row, ok := ruling.refusal().Row(a, r.Who, h.now); ok {
		h.record([]audit.Entry{row})
	}
	if ruling.Event != nil {
		_, _, err := h.m.Apply(h.state, ruling.Event)
		var refused *session.RefusedError
		if err != nil && (!errors.As(err, &refused) || refused.Code != session.RefusedFull) {
			h.t.Fatalf("the gate takes %+v, and the machine does not: %s", r, err)
		}
	}
	return ruling.Event, ruling.Change
}

// refusal is one that there always is, for its row.
func (r Ruling) refusal() *Refusal {
	if r.Refused == nil {
		return &Refusal{Code: NotFound}
	}
	return r.Refused
}

// record puts rows behind the record of the session.
func (h *history) record(rows []audit.Entry) {
	for _, row := range rows {
		_, head, err := h.keys.Append(h.head, row)
		must(h.t, err)
		h.head = head
		h.rows[row.Kind]++
	}
}

func (h *history) extend() (session.Event, Change) {
	a := h.one()
	r := Extend(a, Extension{Who: bob, Until: h.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(h.t, "minutes")) * time.Minute), Now: h.now, Seq: h.seq})
	return r.Event, r.Change
}

// any is some event, such as an owner, a person or a fault brings, whether it fits or not.
func (h *history) any() (session.Event, Change) {
	c := Change{At: h.now, Seq: h.seq}
	call := "none"
	if n := len(h.state.Calls); n > 0 {
		call = h.state.Calls[rapid.IntRange(0, n-1).Draw(h.t, "of")].ID
	}
	mode := rapid.SampledFrom([]session.OnPending{session.Queue, session.Supersede, session.Interrupt}).Draw(h.t, "mode")
	events := []session.Event{
		session.Sent{ID: h.id("m"), Mode: mode, Approvals: Needed(h.state), TurnID: h.state.Turn.ID, NewTurn: h.id("t"), NewUtterance: h.id("u")},
		session.Stopped{Reason: session.ReasonBudget, Called: h.flip("called")}, session.Unreadable{}, session.PickedUp{}, session.CrashLooped{},
		session.Ended{Call: call, Failed: h.flip("failed")}, session.ProvenUndone{Call: call}, session.ParkedFor{}, session.Resumed{}, session.BatchFailed{},
		nil,
		session.CancelSent{TurnID: h.state.Turn.ID}, session.WorkStopped{Turn: h.id("t"), Utterance: h.id("u")}, session.Broken{Why: "it does not verify"},
	}
	weights := []int{5, 10, 6, 7, 8, 9, 0, 3, 12, 4, 2, 5, 10, 0, 1, 11}
	if rapid.IntRange(0, 199).Draw(h.t, "fatal") == 137 {
		weights = []int{13}
	}
	e := events[rapid.SampledFrom(weights).Draw(h.t, "event")]
	if e == nil {
		return h.unknown(call)
	}
	return e, c
}

// unknown is a call of which nobody knows whether it happened.
func (h *history) unknown(call string) (session.Event, Change) {
	m, err := ForOutcome(Outcome{Origin: h.call(call).Origin, Tool: "write", Root: "work", Subject: canon.Outcome{Call: canon.Sum(nil), Intent: h.seq, Attempt: 1}})
	must(h.t, err)
	c, p := h.made(Change{At: h.now, Seq: h.seq}, m)
	return session.NotProven{Call: call, Approval: p.Approval, Digest: p.Digest, Until: p.Until}, c
}

// outcome is what comes of a call that has begun.
func (h *history) outcome(call string) (session.Event, Change) {
	c := Change{At: h.now, Seq: h.seq}
	switch rapid.IntRange(0, 3).Draw(h.t, "outcome") {
	case 0:
		return h.unknown(call)
	case 1:
		return session.Ended{Call: call, Failed: h.flip("failed")}, c
	case 2:
		return session.ProvenUndone{Call: call}, c
	}
	return session.Ended{Call: call}, c
}

// duty is what the owner would do next.
func (h *history) duty() (session.Event, Change) {
	c := Change{At: h.now, Seq: h.seq}
	switch todo := h.m.Next(h.state, h.now); todo.Duty {
	case session.OpenTurn:
		return session.TurnOpened{Turn: h.id("t"), Utterance: h.id("u")}, c
	case session.CallModel:
		return h.answer()
	case session.BeginCall:
		i := slices.IndexFunc(h.state.Calls, func(x session.Call) bool { return x.ID == todo.Call })
		void := rapid.SampledFrom([]session.Reason{"", "", "", session.VoidStale, session.VoidPolicy, session.VoidToolChanged}).Draw(h.t, "void")
		return session.Began{Call: todo.Call, Digest: h.state.Calls[i].Digest, Void: void, At: h.now}, c
	case session.Reconcile:
		return h.outcome(todo.Call)
	case session.EndBatch:
		return session.BatchFailed{}, c
	case session.Recover:
		return session.Recovered{Utterance: h.id("u")}, c
	case session.StopBudget:
		return session.Stopped{Reason: session.ReasonBudget}, c
	case session.BreakLoop:
		return session.CrashLooped{}, c
	case session.FinishStop:
		return session.WorkStopped{Turn: h.id("t"), Utterance: h.id("u")}, c
	case session.Expire:
		return session.Lapsed{Approval: todo.ID, At: h.now}, c
	}
	return h.any()
}

// put stores an approval: what it was may become this (2c), and nothing that was decided changes.
func (h *history) put(a Approval) {
	was, ok := h.all[a.ID]
	next := map[State][]State{
		Pending: {Pending, Approved, Denied, Expired, Canceled, Superseded, Edited, Happened, NotHappened}, Approved: {Approved, Consumed, Voided},
	}
	if a.Kind == canon.KindPlan || a.Kind == canon.KindResult {
		next[Pending] = append(next[Pending], Consumed) // by its row, in the transaction of the decision
	}
	if ok && was.State != a.State && !slices.Contains(next[was.State], a.State) {
		h.t.Fatalf("%s goes from %s to %s", a.ID, was.State, a.State)
	}
	if ok && (was.Digest != a.Digest || was.Subject.CallHash != a.Subject.CallHash || was.Decision != nil && was.Decision != a.Decision) {
		h.t.Fatalf("what %s means changes", a.ID)
	}
	if a.State == Consumed && (a.Decision == nil || a.Decision.Decision != session.Approve || a.ConsumedAt.Sub(a.Decision.At) >= StartWithin) {
		h.t.Fatalf("%s is consumed without an approval in time: %+v", a.ID, a.Decision)
	}
	h.all[a.ID] = a
	h.seen[a.State]++
}

func (h *history) step() {
	h.now = h.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 7, 1, 30, 0, 200, 1, 1500, 1}).Draw(h.t, "seconds")) * time.Second)
	h.seq++
	var e session.Event
	var c Change
	switch dice := rapid.IntRange(0, 9).Draw(h.t, "who"); {
	case dice == 9:
		e, c = h.any()
	case dice == 8 && len(h.all) > 0:
		e, c = h.extend()
	case dice > 5 && len(h.all) > 0 || h.state.AwaitsApproval() && dice > 0:
		e, c = h.decide()
	default:
		e, c = h.duty()
	}
	if e == nil {
		return
	}
	var needed []Approval
	for _, id := range Needed(h.state) {
		needed = append(needed, h.all[id])
	}
	after, notes, err := h.m.Apply(h.state, e)
	if err != nil {
		return // Nothing changed, and nothing is settled.
	}
	changed, err := Settle(needed, notes, c)
	if err != nil {
		h.t.Fatalf("%T: %s", e, err)
	}
	for _, a := range changed {
		h.put(a)
	}
	h.record(Rows(changed, c))
	h.state = after
	if err := Agree(h.state, h.list()); err != nil {
		h.t.Fatalf("after %T: %s", e, err)
	}
	if on := waitingOn(h.list()); h.state.AwaitsApproval() != (len(on) > 0) || (h.state.Step == session.Awaiting) != (len(on) > 0) {
		h.t.Fatalf("after %T: the step is %s, and %v wait", e, h.state.Step, on)
	}
}

// The records of approvals and the state of the session are one: over histories of every event, in every order, with times that run out,
// each record is where its call is, and goes no way but those of the notes. A person would otherwise see an approval that no longer
// waits, or none where one does (cases/agent.md c13).
func TestAgent13RecordsFollowTheMachine(t *testing.T) {
	t.Parallel()
	seen, rows := map[State]int{}, map[audit.Kind]int{}
	keys, err := audit.NewKeys("k", map[string][]byte{"k": make([]byte, audit.MinKey)})
	must(t, err)
	templates := [2]ToolCall{write(t, "x", "docs/a.md", "new\n"), write(t, "y", "docs/b.md", "b\n")}
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			t: t, m: session.Machine{Limits: session.DefaultLimits()}, state: session.New(), all: map[string]Approval{}, texts: map[string]Content{},
			now: noon, calls: templates, seen: seen, keys: keys, head: keys.Begin("default", "s1"), rows: rows,
		}
		h.state.Queue = []string{"m0"}
		for range 200 {
			h.step()
		}
	})
	for _, s := range []State{Pending, Approved, Consumed, Denied, Expired, Canceled, Superseded, Edited, Voided, Happened, NotHappened} {
		if seen[s] == 0 {
			t.Errorf("no history had an approval that is %s", s)
		}
	}
	for _, k := range []audit.Kind{
		audit.Ask, audit.Approve, audit.Deny, audit.LateDenial, audit.Edit, audit.Extend, audit.Expiry, audit.Cancel, audit.Supersede, audit.Void, audit.Outcome, audit.Refusal,
	} {
		if rows[k] == 0 {
			t.Errorf("no history had a row of the kind %s", k)
		}
	}
}

// What does not fit is an error, so that the transaction leaves nothing.
func TestSettleRefuses(t *testing.T) {
	t.Parallel()
	a := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval
	note := func(from, to session.Progress) session.Note {
		return session.Note{Of: session.OfCall, ID: a.Call, From: string(from), To: string(to)}
	}
	decided := Change{At: noon, Decision: &Decision{Approval: a.ID}}
	for name, tt := range map[string]struct {
		all  []Approval
		note session.Note
		c    Change
	}{
		"no record":              {nil, note(session.Pending, session.Denied), decided},
		"consumed before":        {[]Approval{a}, note(session.Approved, session.Intent), decided},
		"nobody decided":         {[]Approval{a}, note(session.Pending, session.Approved), Change{At: noon}},
		"another was decided":    {[]Approval{a}, note(session.Pending, session.Denied), Change{At: noon, Decision: &Decision{Approval: "a2"}}},
		"an unknown way":         {[]Approval{a}, note(session.Pending, session.Executed), decided},
		"an approval not made":   {nil, session.Note{Of: session.OfCall, ID: a.Call, To: "PENDING", Text: a.ID}, Change{At: noon}},
		"an id that is in use":   {[]Approval{a}, session.Note{Of: session.OfCall, ID: a.Call, To: "PENDING", Text: a.ID}, Change{At: noon, Made: []Approval{a}}},
		"an outcome not asked":   {nil, note(session.Intent, session.OutcomePending), Change{At: noon}},
		"a word without meaning": {[]Approval{a}, session.Note{Of: session.OfApproval, ID: a.ID, To: "MAYBE"}, Change{At: noon}},
		"consumed unapproved":    {[]Approval{a}, session.Note{Of: session.OfApproval, ID: a.ID, To: "CONSUMED"}, Change{At: noon}},
	} {
		if changed, err := Settle(tt.all, []session.Note{tt.note}, tt.c); err == nil {
			t.Errorf("%s: settled as %+v", name, changed)
		}
	}
}
