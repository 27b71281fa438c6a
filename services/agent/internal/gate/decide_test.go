package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// refused checks that a ruling is a refusal that changes nothing.
func refused(t *testing.T, name string, r Ruling, want Code) {
	t.Helper()
	switch {
	case r.Refused == nil || r.Refused.Code != want || r.Refused.Why == "":
		t.Errorf("%s: %+v, want %s", name, r.Refused, want)
	case r.Event != nil || r.Standing != nil || r.Record != nil || r.Repeated:
		t.Errorf("%s: a refusal that changes something: %+v", name, r)
	}
}

// Whoever may not decide does not, and learns why, but not of what is another's (S10, S13).
func TestAgent08WhoDecides(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	a := m.Approval
	other := bob
	other.Namespace = "other"
	twin := alice
	twin.Token = "t9" // The requester's second token is the same person.
	strict := Terms{}
	for name, tt := range map[string]struct {
		who  Who
		want Code
	}{
		"another namespace": {other, NotFound}, "nobody": {Who{Namespace: "default", Roles: bob.Roles}, NotPerson}, "a user who is admin": {mallory, NotApprover},
		"the requester": {alice, OwnRequest}, "the requester's second token": {twin, OwnRequest},
	} {
		refused(t, name, Decide(a, m.Content, yes(a, tt.who), strict), tt.want)
	}
	for name, r := range map[string]Ruling{
		"another person": Decide(a, m.Content, yes(a, bob), strict), "the requester where that may be": Decide(a, m.Content, yes(a, twin), DefaultTerms()),
		"the requester denies": Decide(a, m.Content, with(yes(a, alice), session.Deny), strict),
	} {
		if r.Refused != nil || r.Event == nil {
			t.Errorf("%s: %+v", name, r.Refused)
		}
	}
	state, all := apply(t, a, Decide(a, m.Content, yes(a, bob), strict))
	if d := all[0].Decision; all[0].State != Approved || d.Name != "bob" || d.Token != "t2" || state.Step != session.Execution || d.Start.Sub(d.At) != StartWithin {
		t.Errorf("%+v", all[0])
	}
}

// The token of a session decides nothing, whatever roles it has: not by itself, not by words, and it extends nothing (cases/agent.md c2).
func TestAgent02TheSessionDoesNotDecide(t *testing.T) {
	t.Parallel()
	m := one(t, judged(t, origin("a1"), "delete", map[string]any{"path": "docs/a.md"}, files{"docs/a.md": "old\n"}))
	a := m.Approval
	bound := alice
	bound.Session, bound.Roles = "s1", []string{"owner", policy.RoleUser, policy.RoleApprover, policy.RoleAdmin}
	for _, d := range []session.Decision{session.Approve, session.Deny, Edit} {
		refused(t, string(d), Decide(a, m.Content, with(yes(a, bound), d), DefaultTerms()), NotPerson)
	}
	refused(t, "extend", Extend(a, Extension{Who: bound, Until: noon.Add(time.Hour), Now: noon}), NotPerson)
	if r, j := ByWords([]Approval{a}, Message{Text: "approve a1", Who: bound, Now: noon}); r.Decision != "" || j.ID != "" {
		t.Errorf("by words: %+v %+v", r, j)
	}
}

// A decision is about what was shown: another digest, a record or arguments that were changed since, are refused, and what was changed breaks
// the session (cases/agent.md c4).
func TestAgent04WhatRunsIsWhatWasShown(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "hello"))
	a := m.Approval
	r := yes(a, bob)
	other := one(t, write(t, "a1", "docs/a.md", "rm")).Approval
	r.Digest = other.Digest
	ruling := Decide(a, m.Content, r, DefaultTerms())
	refused(t, "another digest", ruling, WrongDigest)
	if ruling.Refused.Want != a.Digest || ruling.Refused.Got != other.Digest || strings.Contains(ruling.Refused.Why, string(a.Digest)) {
		t.Errorf("both digests are for the record, and not for the caller: %+v", ruling.Refused)
	}
	changed := m.Content
	changed.Args = strings.Replace(changed.Args, "hello", "rm", 1)
	swapped := a
	swapped.Subject.CallHash = other.Subject.CallHash
	for name, ruling := range map[string]Ruling{
		"other arguments": Decide(a, changed, yes(a, bob), DefaultTerms()), "another call": Decide(swapped, m.Content, yes(a, bob), DefaultTerms()),
	} {
		if ruling.Refused == nil || ruling.Refused.Code != Broken {
			t.Fatalf("%s: %+v", name, ruling.Refused)
		}
		state, all := apply(t, a, ruling)
		if state.Lifecycle != session.Failed || all[0].State != Canceled {
			t.Errorf("%s: %s, the approval is %s", name, state.Lifecycle, all[0].State)
		}
	}
	a.V = 99
	refused(t, "another version", Decide(a, m.Content, yes(a, bob), DefaultTerms()), Foreign)
	if got, err := other.DigestOf(canon.ToolCall{Call: a.Subject.CallHash, Targets: a.Subject.Targets}); err != nil || got == other.Digest {
		t.Errorf("another call has the digest of this one: %v", err)
	}
}

// Requests that do not fit are refused with the field that is wrong.
func TestRequests(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	call, outcome := one(t, write(t, "a1", "docs/a.md", "new\n")), all[canon.KindOutcome]
	for name, tt := range map[string]struct {
		m      Made
		change func(r *Request)
		want   Code
	}{
		"no decision":          {call, func(r *Request) { r.Decision = "" }, Invalid},
		"another word":         {call, func(r *Request) { r.Decision = "YES" }, Invalid},
		"HAPPENED for a call":  {call, func(r *Request) { r.Decision = session.Happened }, WrongAnswer},
		"APPROVE an outcome":   {outcome, func(r *Request) { r.Decision = session.Approve }, WrongAnswer},
		"DENY an outcome":      {outcome, func(r *Request) { r.Decision = session.Deny }, WrongAnswer},
		"words for an outcome": {outcome, func(r *Request) { r.Decision, r.Words = session.Happened, true }, NotByWords},
		"edit a plan":          {all[canon.KindPlan], func(r *Request) { r.Decision = Edit }, WrongAnswer},
		"edit nothing":         {call, func(r *Request) { r.Decision = Edit }, BadEdit},
		"a long reason":        {call, func(r *Request) { r.Reason = strings.Repeat("理", MaxReason+1) }, Invalid},
		"a reason not UTF-8":   {call, func(r *Request) { r.Reason = "\xff" }, Invalid},
		"no time":              {call, func(r *Request) { r.Now = time.Time{} }, Invalid},
		"no digest":            {call, func(r *Request) { r.Digest = "" }, WrongDigest},
		"DENY without digest":  {call, func(r *Request) { r.Decision, r.Digest = session.Deny, "" }, WrongDigest},
		"DENY for more":        {call, func(r *Request) { r.Decision, r.Scope = session.Deny, policy.SessionExact }, Invalid},
		"a scope by words":     {call, func(r *Request) { r.Words, r.Scope = true, policy.SessionExact }, NotByWords},
		"an unknown scope":     {call, func(r *Request) { r.Scope = "ALWAYS" }, NotOffered},
		"a wider path":         {call, func(r *Request) { r.Scope, r.Path, r.Rule = policy.SessionToolPath, ".", "r1" }, NotOffered},
		"a path without scope": {call, func(r *Request) { r.Path = "docs" }, NotOffered},
		"a scope for a plan":   {all[canon.KindPlan], func(r *Request) { r.Scope, r.Rule = policy.SessionExact, "r1" }, NotOffered},
		"a rule without id":    {call, func(r *Request) { r.Scope = policy.SessionExact }, Invalid},
		"another last page":    {call, func(r *Request) { r.ContentDigest = canon.Sum(nil) }, Unread},
	} {
		r := yes(tt.m.Approval, bob)
		tt.change(&r)
		refused(t, name, Decide(tt.m.Approval, tt.m.Content, r, DefaultTerms()), tt.want)
	}
	for d, want := range map[session.Decision]State{session.Happened: Happened, session.DidNotOccur: NotHappened} {
		state, all := apply(t, outcome.Approval, Decide(outcome.Approval, outcome.Content, with(yes(outcome.Approval, bob), d), DefaultTerms()))
		if all[0].State != want || state.Step != session.Execution {
			t.Errorf("%s: %s in %s", d, all[0].State, state.Step)
		}
	}
}

// What has several pages needs the digest of the last one, and what is not shown needs a word for it and the configuration's leave (S23).
// Denying needs neither.
func TestApprovingWhatIsNotShownWhole(t *testing.T) {
	t.Parallel()
	long := one(t, write(t, "a1", "docs/a.md", strings.Repeat("日本語の行\n", canon.PageBytes/16)))
	r := yes(long.Approval, bob)
	no := Decide(long.Approval, long.Content, r, DefaultTerms())
	refused(t, "unread", no, Unread)
	if raw, err := json.Marshal(no.Refused); err != nil || strings.Contains(string(raw), string(long.Approval.ContentDigest)) {
		t.Errorf("the refusal gives away what proves that the last page was read: %s", raw)
	}
	r.Words = true
	refused(t, "by words", Decide(long.Approval, long.Content, r, DefaultTerms()), NotByWords)
	r.Words, r.ContentDigest = false, long.Approval.ContentDigest
	if got := Decide(long.Approval, long.Content, r, DefaultTerms()); got.Refused != nil {
		t.Errorf("read to the end: %s", got.Refused)
	}
	c := write(t, "a1", "docs/a.md", "new\n")
	c.Plan.Diff, c.Plan.NotShown, c.Subject.Hidden = "", "BINARY", true
	hidden := one(t, c)
	r = yes(hidden.Approval, bob)
	may := Terms{RequesterMayApprove: true, ApproveUnshown: true}
	refused(t, "not acknowledged", Decide(hidden.Approval, hidden.Content, r, may), Unshown)
	r.Unshown = true
	refused(t, "not configured", Decide(hidden.Approval, hidden.Content, r, DefaultTerms()), NeverUnshown)
	got := Decide(hidden.Approval, hidden.Content, r, may)
	if got.Refused != nil || !got.Change.Decision.Unshown {
		t.Errorf("acknowledged: %+v", got)
	}
	for _, m := range []Made{long, hidden} {
		if got := Decide(m.Approval, m.Content, with(yes(m.Approval, bob), session.Deny), Terms{}); got.Refused != nil {
			t.Errorf("denied: %s", got.Refused)
		}
	}
}

// No time is a yes: what is over expires, an approval after it is refused and starts nothing, and a denial after it is kept as one; one in
// time counts (cases/agent.md c10).
func TestAgent10TimeIsNoYes(t *testing.T) {
	t.Parallel()
	c := write(t, "a1", "docs/a.md", "new\n")
	c.Life = 2 * time.Second
	m := one(t, c)
	a := m.Approval
	at := func(d session.Decision, after time.Duration) Request {
		r := with(yes(a, bob), d)
		r.Now = noon.Add(after)
		return r
	}
	if got := Decide(a, m.Content, at(session.Approve, time.Second), DefaultTerms()); got.Refused != nil {
		t.Errorf("in time: %s", got.Refused)
	}
	late := Decide(a, m.Content, at(session.Approve, 2*time.Second), DefaultTerms())
	if late.Refused == nil || late.Refused.Code != Over {
		t.Fatalf("at its end: %+v", late.Refused)
	}
	state, all := apply(t, a, late)
	expired := all[0]
	if expired.State != Expired || expired.Decision != nil || state.Step != session.Planning || state.Status != session.RequiresInput {
		t.Errorf("%+v in %s %s", expired, state.Step, state.Status)
	}
	refused(t, "approved once more", Decide(expired, m.Content, at(session.Approve, 3*time.Second), DefaultTerms()), Over)
	other := at(session.Deny, 3*time.Second)
	other.Digest = canon.Sum([]byte("another"))
	refused(t, "denied late by another digest", Decide(expired, m.Content, other, DefaultTerms()), Over)
	denied := Decide(expired, m.Content, at(session.Deny, 3*time.Second), DefaultTerms())
	if denied.Refused != nil || denied.Event != nil || denied.Record == nil || denied.Record.State != Expired || denied.Record.LateDenial.Name != "bob" {
		t.Fatalf("denied late: %+v", denied)
	}
	if again := Decide(*denied.Record, m.Content, at(session.Deny, 4*time.Second), DefaultTerms()); !again.Repeated || again.Record != nil {
		t.Errorf("denied late twice: %+v", again)
	}
	refused(t, "approved after the denial", Decide(*denied.Record, m.Content, at(session.Approve, 4*time.Second), DefaultTerms()), Over)
	first := Decide(a, m.Content, at(session.Deny, 3*time.Second), DefaultTerms())
	if _, all := apply(t, a, first); first.Refused != nil || all[0].State != Expired || all[0].LateDenial == nil || all[0].Decision != nil {
		t.Errorf("denied before anybody closed it: %+v", all)
	}
}

// Of several decisions the first counts: the same again has the same answer, any other is refused.
func TestOneDecisionCounts(t *testing.T) {
	t.Parallel()
	all := []session.Decision{session.Approve, session.Deny}
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	for _, first := range all {
		_, stored := apply(t, m.Approval, Decide(m.Approval, m.Content, with(yes(m.Approval, bob), first), DefaultTerms()))
		for _, second := range append(all, Edit) {
			got := Decide(stored[0], m.Content, with(yes(m.Approval, alice), second), DefaultTerms())
			if first != second {
				refused(t, string(first+" "+second), got, Closed)
			} else if !got.Repeated || got.Event != nil {
				t.Errorf("%s twice: %+v", first, got)
			}
		}
		wide := with(yes(m.Approval, bob), session.Approve)
		wide.Scope, wide.Rule = policy.SessionExact, "r1"
		refused(t, "wider", Decide(stored[0], m.Content, wide, DefaultTerms()), Closed)
		other := with(yes(m.Approval, bob), first)
		other.Digest = canon.Sum(nil)
		refused(t, "another digest", Decide(stored[0], m.Content, other, DefaultTerms()), Closed)
	}
}

// A standing rule is that of the offer, in the name of whoever decided (C75).
func TestStandingRule(t *testing.T) {
	t.Parallel()
	c := write(t, "a1", "docs/a.md", "new\n")
	m := one(t, c)
	r := yes(m.Approval, bob)
	r.Scope, r.Path, r.Rule = policy.SessionToolPath, "docs", "r1"
	got := Decide(m.Approval, m.Content, r, DefaultTerms())
	if got.Refused != nil || got.Standing == nil || got.Standing.ID != "r1" || got.Standing.Approver != "bob" || got.Change.Decision.Standing != "r1" {
		t.Fatalf("%+v", got)
	}
	if got.Standing.Text("en") != m.Approval.Offers[2].Text.In("en") {
		t.Errorf("the rule is not what was shown: %s", got.Standing.Text("en"))
	}
	if !got.Standing.Covers(c.Judged, m.Approval.Risk, r.Now) {
		t.Error("the rule does not cover its own call")
	}
	if m.Approval.Offers[2].Rule.ID != "" {
		t.Error("the offer changes with the decision")
	}
	if once := Decide(m.Approval, m.Content, yes(m.Approval, bob), DefaultTerms()); once.Standing != nil || once.Change.Decision.Scope != policy.Once {
		t.Errorf("for one call: %+v", once)
	}
}

// Whoever changes arguments becomes their author: the old id closes, the new one has its own digest, and only an approval of that starts
// anything (C58, S7).
func TestEditing(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	edited := func(id string, change func(n *Made)) Request {
		c := write(t, id, "docs/a.md", "better\n")
		c.Call = m.Approval.Call
		n, err := ForEdit(m.Approval, "bob", c)
		must(t, err)
		if change != nil {
			change(&n)
		}
		r := with(yes(m.Approval, bob), Edit)
		r.Replacement = &n
		return r
	}
	for name, r := range map[string]Request{
		"under the same id":  edited("a1", nil),
		"of another tool":    edited("a2", func(n *Made) { n.Approval.Subject.Tool = "create" }),
		"in another folder":  edited("a2", func(n *Made) { n.Approval.Subject.Root = "home" }),
		"of another call":    edited("a2", func(n *Made) { n.Approval.Call = "c9" }),
		"of another turn":    edited("a2", func(n *Made) { n.Approval.Turn = "turn2" }),
		"of another server":  edited("a2", func(n *Made) { n.Approval.Subject.Server = "srv: node srv.js" }),
		"over already":       edited("a2", func(n *Made) { n.Approval.Expires = noon.Add(time.Minute) }),
		"of another session": edited("a2", func(n *Made) { n.Approval.Session = "s2" }),
		"approved already":   edited("a2", func(n *Made) { n.Approval.State = Approved }),
		"in another's name":  edited("a2", func(n *Made) { n.Approval.Editors = []string{"carol"} }),
		"by nobody":          edited("a2", func(n *Made) { n.Approval.Editors = nil }),
		"other arguments":    edited("a2", func(n *Made) { n.Content.Args = "{}" }),
	} {
		refused(t, name, Decide(m.Approval, m.Content, r, DefaultTerms()), BadEdit)
	}
	same := write(t, "a2", "docs/a.md", "new\n")
	same.Call = m.Approval.Call
	n, err := ForEdit(m.Approval, "bob", same)
	must(t, err)
	r := with(yes(m.Approval, bob), Edit)
	r.Replacement = &n
	refused(t, "nothing changed", Decide(m.Approval, m.Content, r, DefaultTerms()), BadEdit)

	r = edited("a2", nil)
	state, all := apply(t, m.Approval, Decide(m.Approval, m.Content, r, DefaultTerms()))
	if len(all) != 2 || all[0].State != Edited || all[0].ReplacedBy != "a2" || all[1].State != Pending || all[1].EditedFrom != "a1" || state.Step != session.Awaiting {
		t.Fatalf("%+v", all)
	}
	refused(t, "the old id", Decide(all[0], m.Content, yes(all[0], alice), DefaultTerms()), Closed)
	old := yes(all[1], alice)
	old.Digest = m.Approval.Digest
	refused(t, "the old digest", Decide(all[1], r.Replacement.Content, old, DefaultTerms()), WrongDigest)
	for _, who := range []Who{alice, bob} {
		refused(t, who.Name+" is an author", Decide(all[1], r.Replacement.Content, yes(all[1], who), Terms{}), OwnRequest)
	}
	carol := bob
	carol.Name = "carol"
	if got := Decide(all[1], r.Replacement.Content, yes(all[1], carol), Terms{}); got.Refused != nil {
		t.Errorf("another person: %s", got.Refused)
	}
}

// More time is given only to what waits, only forward, and never beyond a day in all (C74).
func TestExtending(t *testing.T) {
	t.Parallel()
	a := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval
	ask := func(who Who, until, now time.Duration) Ruling {
		return Extend(a, Extension{Who: who, Until: noon.Add(until), Now: noon.Add(now)})
	}
	refused(t, "a user", ask(mallory, time.Hour, 0), NotApprover)
	refused(t, "less time", ask(bob, time.Minute, 0), TooLong)
	refused(t, "more than a day", ask(bob, MaxLife+time.Second, 0), TooLong)
	over := ask(bob, time.Hour, DefaultLife)
	if _, all := apply(t, a, over); over.Refused == nil || over.Refused.Code != Over || all[0].State != Expired {
		t.Errorf("over: %+v %+v", over.Refused, all)
	}
	_, all := apply(t, a, ask(bob, MaxLife+time.Millisecond, time.Minute))
	if got := all[0]; got.State != Pending || got.Expires.Sub(noon) != MaxLife || got.Digest != a.Digest {
		t.Errorf("a day: %+v", got)
	}
	a.State = Approved
	refused(t, "approved", ask(bob, time.Hour, 0), Closed)
	a.State, a.Since = Pending, noon.Add(DefaultLife-MaxLife)
	refused(t, "asked a day ago, and changed since", ask(bob, time.Hour, 0), TooLong)
	c := write(t, "a2", "docs/a.md", "better\n")
	c.Life = time.Hour
	n, err := ForEdit(a, "bob", c)
	must(t, err)
	if n.Approval.Expires.Sub(a.Since) != MaxLife {
		t.Errorf("a change gives more life than there is: until %s", n.Approval.Expires)
	}
}

// Only a digest that was shown, of somebody with the right, in time, makes an event that approves: whatever else is sent.
func TestNothingElseApproves(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	states := []State{Pending, Approved, Consumed, Denied, Expired, Canceled, Superseded, Edited, Voided, ""}
	rapid.Check(t, func(t *rapid.T) {
		a := m.Approval
		a.State = rapid.SampledFrom(states).Draw(t, "state")
		r := Request{
			Who:      rapid.SampledFrom([]Who{alice, bob, mallory, {}}).Draw(t, "who"),
			Decision: rapid.SampledFrom([]session.Decision{session.Approve, session.Deny, session.Happened, "approve", ""}).Draw(t, "decision"),
			Digest:   rapid.SampledFrom([]canon.Hash{a.Digest, a.ContentDigest, ""}).Draw(t, "digest"),
			Now:      noon.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute),
			Unshown:  rapid.Bool().Draw(t, "unshown"), Words: rapid.Bool().Draw(t, "words"), Seq: 3,
		}
		terms := Terms{RequesterMayApprove: rapid.Bool().Draw(t, "own"), ApproveUnshown: rapid.Bool().Draw(t, "blind")}
		got := Decide(a, m.Content, r, terms)
		d, ok := got.Event.(session.Decided)
		approves := ok && d.Decision == session.Approve
		right := r.Who.Name == "bob" || r.Who.Name == "alice" && terms.RequesterMayApprove
		want := a.State == Pending && right && r.Decision == session.Approve && r.Digest == a.Digest && !a.Due(r.Now)
		if approves != want {
			t.Fatalf("approves %v, want %v: %+v", approves, want, got)
		}
	})
}
