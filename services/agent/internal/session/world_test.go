package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// scope bounds the universe that is explored: those of the model that the rules were checked with (field/agent_model.py).
type scope struct {
	name                         string
	calls, budget, rec, reasks   int
	file                         bool // the tool can prove what it did; else nobody can tell
	crash, stall, att, world     bool
	admin, fatal, ask, askAlways bool
	question, edit, late, large  bool
	noInterrupt, small, mixed    bool
}

var scopes = []scope{
	{name: "gate", calls: 2, budget: 3, rec: 2, reasks: 1, ask: true, question: true, edit: true, admin: true},
	{name: "bounds", calls: 1, budget: 7, rec: 3, reasks: 2, ask: true, question: true, fatal: true},
	{name: "opaque", calls: 2, budget: 3, rec: 2, reasks: 1, ask: true, crash: true, stall: true, admin: true},
	{name: "file", calls: 2, budget: 3, rec: 2, reasks: 1, file: true, ask: true, crash: true, stall: true, admin: true},
	{name: "loop", calls: 2, budget: 3, rec: 2, crash: true, stall: true, att: true},
	{name: "floop", calls: 2, budget: 3, rec: 2, file: true, crash: true, stall: true, att: true},
	{name: "world", calls: 1, budget: 3, rec: 2, file: true, crash: true, stall: true, admin: true, world: true, edit: true},
	{name: "always", small: true, calls: 1, budget: 4, rec: 2, reasks: 1, ask: true, askAlways: true, crash: true},
	{name: "late", calls: 1, budget: 2, rec: 1, ask: true, edit: true, late: true},
	{name: "three", calls: 3, budget: 2, rec: 1, edit: true, noInterrupt: true, large: true},
	{name: "full", calls: 2, budget: 4, rec: 3, reasks: 2, ask: true, crash: true, stall: true, att: true, admin: true, fatal: true, question: true, edit: true, large: true},
	{name: "ffull", calls: 2, budget: 3, rec: 2, reasks: 1, file: true, ask: true, crash: true, stall: true, att: true, admin: true, fatal: true, question: true, edit: true, large: true},
}

// The one time of the universe: a deadline has passed or has not.
var (
	past, now, future = time.Unix(1, 0).UTC(), time.Unix(500, 0).UTC(), time.Unix(1000, 0).UTC()
)

// ghost is what happened to a call outside of the record.
type ghost struct {
	effects  int8
	outcomes int8
	ack      byte   // 'a' approved, 'd' denied: what a person was told
	shown    string // the digest that was approved
}

// world is a session and what is around it.
type world struct {
	State
	ghosts  []ghost
	pc      string // what the owner is in the middle of: "", M a call of the model, Xi the effect of call i, Yi after it
	stalled string // the stalled owner: "", Xi before the effect of call i, O0 and O1 of a call that is gone
	deny    bool   // an administrator added a rule
	moves   int8   // MODEL rows in this utterance
	fs      byte   // the file: B as seen, O another content, L a link, A written
	net     string // a request under way: its kind, and what it names
	stale   bool   // what it is about is no longer what is there
}

// edge is a transition of the universe. Class: U user, S system, C clock, F fault, W world.
type edge struct {
	class byte
	label string
	to    world
	notes []Note
}

// of is a label with the number of a call.
func of(before, after string, i int) string {
	type key struct {
		before, after string
		i             int
	}
	k := key{before, after, i}
	if l, ok := labels.Load(k); ok {
		return l.(string)
	}
	l := before + strconv.Itoa(i) + after
	labels.Store(k, l)
	return l
}

var labels sync.Map

// universe makes edges with the product's machine.
type universe struct {
	scope
	m Machine
	// without is the rule that is taken away, to see that a property notices; nil: all hold.
	without *mutant
	out     []edge
	said    map[saying][]answer
	broken  func(prop, what string)
	// ways are those by which the session left AWAITING_APPROVAL, by the outcomes.
	ways map[string]string
}

func newUniverse(c scope) *universe {
	return &universe{scope: c, said: map[saying][]answer{}, ways: map[string]string{}, m: Machine{Limits: Limits{
		Recoveries: c.rec, Reasks: c.reasks, ModelCalls: c.budget, Failures: 1, PickUps: 3, Queue: 1, Edits: 1, Attempts: 2,
	}}}
}

// next is what the owner does.
func (u *universe) next(w world) Todo { return u.without.duty(u.m, w.State) }

func (w world) clone() world {
	w.Calls, w.ghosts = slices.Clone(w.Calls), slices.Clone(w.ghosts)
	return w
}

// apply is the machine's answer, with the ghosts of what it says; false where it refuses.
func (u *universe) apply(w world, e Event) (world, []Note, bool) {
	s, notes, ok := u.without.answer(u.m, w.State, e)
	if !ok {
		return w, nil, false
	}
	u.checkResults(w, s, notes)
	n := w
	n.State, n.ghosts = s, slices.Clone(w.ghosts)
	n.Reason, n.LastError = "", "" // Texts for people.
	for i := range n.Calls {
		n.Calls[i].Reason = ""
	}
	u.batch(&n, e)
	u.checkSet(w, n, notes)
	for _, note := range notes {
		switch {
		case note.Of == OfStep && note.Trigger == ByModel:
			n.moves++
		case note.Of == OfTurn && note.To == string(Working) && note.From == "":
			n.stale = n.stale || n.net != ""
		case note.Of == OfStep && note.Trigger == ByGate:
			n.stale = n.stale || n.net != "" && n.net[0] != 'c'
		case note.Of == OfApproval && note.To == "EDITED": // An approval of another call stays what its sender saw.
			n.stale = n.stale || n.net == "a "+note.ID
		}
	}
	if n.moves > 1 {
		u.broken("I2", "two MODEL transitions in one utterance")
	}
	if s.Turn.Utterance != w.Turn.Utterance || s.Turn.Running == NoTurn {
		n.moves = 0
	}
	if n.Turn.Utterance != "" {
		n.Turn.Utterance = "u"
	}
	return n, notes, true
}

// checkResults: a batch is closed when each call of it has its one result. A plan or a result has it with its approval.
func (u *universe) checkResults(w world, after State, notes []Note) {
	if len(after.Calls) > 0 {
		return
	}
	for _, c := range w.Calls {
		p := c.Progress
		for _, n := range notes {
			if n.Of == OfCall && n.ID == c.ID {
				p = Progress(n.To)
			}
		}
		if !p.Final() && (c.Kind == KindTool || p != Approved) {
			u.broken("O7", fmt.Sprintf("call %s is %s when its batch is closed", c.ID, p))
		}
	}
}

// checkSet: which way the session leaves AWAITING_APPROVAL depends on the outcomes, and not on which of them came last.
func (u *universe) checkSet(w, n world, notes []Note) {
	left := func(note Note) bool {
		return note.Of == OfStep && note.From == string(Awaiting) && (note.Trigger == ByDecision || note.Trigger == ByExpiry)
	}
	if !slices.ContainsFunc(notes, left) {
		return
	}
	var set []string
	if slices.ContainsFunc(notes, func(note Note) bool { return note.Reason == ReasonDenials }) {
		set = append(set, "one denial too many") // It counts what came before, too (S28).
	}
	for _, c := range w.Calls {
		for _, note := range notes {
			if note.Of == OfCall && note.ID == c.ID {
				c.Progress = Progress(note.To)
			}
		}
		set = append(set, string(c.Kind)+" "+string(c.Progress))
	}
	slices.Sort(set)
	key, way := strings.Join(set, ", "), fmt.Sprintf("%s, %s, turn %q", n.Step, n.Status, n.Turn.Running)
	if before, ok := u.ways[key]; ok && before != way {
		u.broken("T2", fmt.Sprintf("with %s it goes to %s, or to %s, by what came last", key, before, way))
	}
	u.ways[key] = way
}

// batch begins new ghosts where the batch is another one. A stalled owner keeps the count of effects of its call.
func (u *universe) batch(n *world, e Event) {
	switch e.(type) {
	case Answered, Unreadable, Stopped:
	default:
		if len(n.Calls) == len(n.ghosts) {
			return
		}
	}
	if strings.HasPrefix(n.stalled, "X") {
		n.stalled = fmt.Sprintf("O%d", n.ghosts[n.stalled[1]-'0'].effects)
	}
	n.ghosts = make([]ghost, len(n.Calls))
	if len(n.Calls) > 0 {
		n.fs = 'B'
	}
}

// add is an edge by an event that may be refused.
func (u *universe) add(class byte, label string, w world, e Event, after func(n *world)) {
	n, notes, ok := u.apply(w, e)
	if !ok {
		return
	}
	if after != nil {
		after(&n)
	}
	u.out = append(u.out, edge{class, label, n, notes})
}

// put is an edge beside the record.
func (u *universe) put(class byte, label string, w world, change func(n *world)) {
	n := w.clone()
	change(&n)
	u.out = append(u.out, edge{class, label, n, nil})
}

func (u *universe) edges(w world) []edge {
	u.out = u.out[:0]
	if w.Lifecycle != Failed {
		u.user(w)
		u.clock(w)
		u.faults(w)
	}
	u.owner2(w)
	if w.Lifecycle != Failed {
		u.around(w)
		u.system(w)
	}
	return u.out
}

// gen is a generation of ids that no request under way names.
func (w world) gen(prefix string) string {
	if strings.Contains(w.net, prefix+"0") {
		return prefix + "1"
	}
	return prefix + "0"
}

func (w world) sent(mode OnPending, approvals ...string) Sent {
	return Sent{ID: "m", Mode: mode, Approvals: approvals, TurnID: w.Turn.ID, NewTurn: w.gen("t"), NewUtterance: "v"}
}

func (w world) pending() []string {
	var all []string
	for _, c := range w.Calls {
		if c.Progress.Asks() {
			all = append(all, c.Approval)
		}
	}
	return all
}

func (u *universe) user(w world) {
	u.add('U', "send", w, Sent{ID: "m", Mode: Queue}, nil)
	if u.late {
		u.lateRequests(w)
	}
	if w.Lifecycle != Open {
		return
	}
	u.add('U', "cancel", w, CancelSent{w.Turn.ID}, nil)
	if !u.noInterrupt && w.Step != Awaiting {
		if w.Turn.Running == Working || w.Turn.Running == Parked {
			u.add('U', "send(INTERRUPT)", w, w.sent(Interrupt), nil)
		}
	}
	if w.Step == Awaiting {
		u.add('U', "send(SUPERSEDE)", w, w.sent(Supersede, w.pending()...), nil)
		for i := range w.Calls {
			u.decide(w, i)
		}
	}
}

func (u *universe) decide(w world, i int) {
	c := w.Calls[i]
	told := func(ack byte) func(n *world) {
		return func(n *world) {
			if i < len(n.ghosts) {
				n.ghosts[i].ack = ack
				n.ghosts[i].outcomes++
			}
		}
	}
	if u.without.rule(ackFirst) && c.Progress == Pending && !c.Due(now) {
		u.put('U', of("approve ", " is acknowledged, and its process dies before the write", i), w, func(n *world) { n.ghosts[i].ack = 'a' })
	}
	switch {
	case c.Progress == Pending && !c.Due(now):
		u.add('U', of("approve ", "", i), w, Decided{c.Approval, c.Digest, Approve, now, future}, func(n *world) {
			if i < len(n.ghosts) {
				told('a')(n)
				n.ghosts[i].shown = c.Digest
			}
		})
		u.add('U', of("deny ", "", i), w, Decided{c.Approval, c.Digest, Deny, now, future}, told('d'))
		if u.edit {
			u.add('U', of("edit ", "", i), w, Edited{c.Approval, c.Digest, c.Approval + "e", c.Digest + "e", now, future}, nil)
		}
		if strings.HasSuffix(c.Digest, "e") { // what was shown before the edit
			u.add('U', of("approve ", " with the digest from before the edit", i), w,
				Decided{c.Approval, strings.TrimSuffix(c.Digest, "e"), Approve, now, future}, func(n *world) { n.ghosts[i].shown = strings.TrimSuffix(c.Digest, "e") })
		}
	case c.Progress == Pending: // Judged in its own transaction: it expires.
		u.add('U', of("approve ", " too late", i), w, Decided{c.Approval, c.Digest, Approve, now, future}, func(n *world) {
			if i < len(n.Calls) && n.Calls[i].Progress.Runnable() {
				u.broken("I7", "an approval after its time is accepted")
			}
		})
	case c.Progress == Expired:
		u.add('U', of("deny ", " after expiry", i), w, Decided{c.Approval, c.Digest, Deny, now, future}, told('d'))
	case c.Progress == OutcomePending && !c.Due(now):
		u.add('U', of("outcome ", ": it happened", i), w, Decided{c.Approval, c.Digest, Happened, now, future}, nil)
		u.add('U', of("outcome ", ": it did not happen", i), w, Decided{c.Approval, c.Digest, DidNotOccur, now, future}, nil)
	}
}

// lateRequests leave their sender now and arrive at any later time.
func (u *universe) lateRequests(w world) {
	if w.net == "" {
		if w.Lifecycle == Open && w.Turn.Running != NoTurn {
			u.put('U', "cancel is sent", w, func(n *world) { n.net, n.stale = "c "+w.Turn.ID, false })
		}
		if w.Lifecycle == Open && w.Step == Awaiting {
			u.put('U', "supersede is sent", w, func(n *world) { n.net, n.stale = "s "+strings.Join(w.pending(), " "), false })
			u.put('U', "approve is sent", w, func(n *world) { n.net, n.stale = "a "+w.pending()[0], false })
		}
		return
	}
	names, i := strings.Fields(w.net)[1:], -1
	var e Event
	switch w.net[0] {
	case 'c':
		e = CancelSent{names[0]}
	case 's':
		e = w.sent(Supersede, names...)
	default:
		i = slices.IndexFunc(w.Calls, func(c Call) bool { return c.Approval == names[0] })
		digest := ""
		if i >= 0 {
			digest = w.Calls[i].Digest
		}
		e = Decided{names[0], digest, Approve, now, future}
	}
	n, notes, ok := u.apply(w, e)
	if unseen := func(id string) bool { return !slices.Contains(names, id) }; ok && w.net[0] == 's' && slices.ContainsFunc(w.pending(), unseen) {
		u.broken("U1", w.net+" closes an approval that its sender never saw")
	}
	if ok && w.stale && len(notes) > 0 && (w.net[0] != 'c' || w.Lifecycle == Open) {
		u.broken("U1", w.net+" acts on what its sender never saw")
	}
	if ok && i >= 0 && i < len(n.ghosts) && n.Calls[i].Progress == Approved {
		n.ghosts[i].ack, n.ghosts[i].shown = 'a', n.Calls[i].Digest
		n.ghosts[i].outcomes++
	}
	n.net, n.stale = "", false
	u.out = append(u.out, edge{'U', w.net + " arrives", n, notes})
}

func (u *universe) clock(w world) {
	if w.Lifecycle == Open && w.Turn.Running != NoTurn {
		for i, c := range w.Calls {
			if c.Progress == OutcomePending && u.without.rule(outcomeClock) {
				continue
			}
			if (c.Progress.Asks() || c.Progress == Approved) && !c.Due(now) {
				u.put('C', of("deadline of ", " passes", i), w, func(n *world) { n.Calls[i].Until = past })
			}
		}
		if u.next(w).Duty == Retry {
			u.add('C', "retry timer", w, Resumed{}, nil)
		}
	}
	if w.Question.ID != "" {
		u.add('C', "the question expires", w, QuestionLapsed{future}, nil)
	}
}

// pickUp is the transaction with which the next owner takes the session.
func (u *universe) pickUp(w world) (world, []Note) {
	if u.att {
		if n, notes, ok := u.apply(w, PickedUp{}); ok {
			return n, notes
		}
	}
	return w.clone(), nil
}

func (u *universe) faults(w world) {
	if u.crash && w.pc != "" {
		n, notes := u.pickUp(w)
		n.pc = ""
		u.out = append(u.out, edge{'F', "crash", n, notes})
	}
	if u.stall && w.stalled == "" && strings.HasPrefix(w.pc, "X") {
		n, notes := u.pickUp(w)
		n.pc, n.stalled = "", w.pc
		u.out = append(u.out, edge{'F', "the owner stalls, another takes over", n, notes})
	}
	if u.stall && w.stalled == "" && w.pc == "M" && w.Step == Planning && u.without.rule(fence) {
		u.put('F', "the owner stalls before it writes the answer, another takes over", w, func(n *world) { n.pc, n.stalled = "", "M" })
	}
	if u.fatal {
		u.add('F', "the record does not verify", w, Broken{}, func(n *world) { n.pc = "" })
	}
}

// owner2 is the stalled owner, when it wakes. Its writes are refused by the epoch; nothing but a lock stops what it does outside.
func (u *universe) owner2(w world) {
	if w.stalled == "" {
		return
	}
	u.put('F', "the stalled owner dies", w, func(n *world) { n.stalled = "" })
	if w.stalled == "M" {
		n := w.clone()
		n.stalled, n.Step = "", Execution
		u.out = append(u.out, edge{'F', "the stalled owner wakes and writes that it goes to EXECUTION", n, []Note{{Of: OfStep, From: string(Planning), To: string(Execution), Trigger: ByModel}}})
		return
	}
	i := int(w.stalled[1] - '0')
	if w.stalled[0] == 'O' {
		if i > 0 {
			u.broken("I4", "a stalled owner repeats the effect of a closed approval")
		}
		u.put('F', "the stalled owner wakes: effect", w, func(n *world) { n.stalled = "" })
		return
	}
	if p := w.Calls[i].Progress; p == CallFailed || p == Voided || p.Runnable() {
		u.broken("O5", fmt.Sprintf("call %d is recorded as %s, and then its effect happens", i, p))
	}
	if n, ok := u.effect(w, i); ok {
		n.stalled = ""
		u.out = append(u.out, edge{'F', "the stalled owner wakes: its effect", n, nil})
	}
}

func (u *universe) around(w world) {
	if u.world && len(w.Calls) > 0 && w.Calls[0].Kind == KindTool && !w.Calls[0].Progress.Final() {
		for _, fs := range []byte{'O', 'B', 'L'} {
			if w.fs != fs {
				u.put('W', "the file becomes "+string(fs), w, func(n *world) { n.fs = fs })
			}
		}
	}
	if u.admin && w.Lifecycle == Open && !w.deny {
		u.put('W', "an administrator adds a DENY rule", w, func(n *world) { n.deny = true })
	}
	if w.pc == "" && u.next(w).Duty == BeginCall {
		u.add('W', "the tool cannot be reached before the start", w, ParkedFor{}, nil)
	}
}
