package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func sumOf(text string) canon.Hash { return canon.Sum([]byte(text)) }

// answer is an envelope on its way into the ledger.
type answer struct {
	*Engine
	s     ledger.Session
	rt    router.Router
	h     heard
	env   envelope.Envelope
	named []ledger.Named
	calls []router.Call
	// event is the answer as the state machine gets it.
	event session.Answered
	// judged and reads are one for each call; none where the state machine takes none of them.
	judged []router.Judged
	reads  []router.Read
	// why says why nobody could be asked about its plan or result.
	why string
}

// answered has the calls of an answer judged, carries out those that only look, and gives what writes all of it in one transaction.
func (e *Engine) answered(ctx context.Context, ns string, s ledger.Session, r router.Router, h heard, env envelope.Envelope) (func(*ledger.Work) error, error) {
	a := &answer{Engine: e, s: s, rt: r, h: h, env: env, event: session.Answered{
		Step: session.Step(env.Step), Next: session.Next(env.NextStep), No: !env.Consents(), Others: len(env.Calls),
		AskPlan: r.Engine.AsksPlan(), AskResult: r.Engine.AsksResult(), Plan: env.Plan != nil,
	}}
	for _, c := range env.Calls {
		id := e.IDs.ID() // Never the model's own: servers count anew in each answer, and a result is found by it.
		a.named = append(a.named, ledger.Named{ID: id, Name: c.Name, Args: argsOf(id)})
		a.calls = append(a.calls, router.Call{ID: id, Tool: c.Name, Args: []byte(c.Args)})
	}
	if len(a.calls) == 0 || a.barred() {
		return a.write, ctx.Err()
	}
	a.judged = r.JudgeAll(ctx, e.session(ns, s, after(s, env)), a.calls...)
	if why := a.circles(); why != "" {
		return e.circle(h, a.judged, why), ctx.Err()
	}
	a.event.Calls = make([]session.Proposal, a.effects())
	a.event.Others -= len(a.event.Calls)
	if a.barred() {
		a.judged = nil
		return a.write, ctx.Err()
	}
	if why, stops := a.tooLarge(); stops {
		return e.undone(h, a.judged, session.Stopped{Reason: session.ReasonBudget, Why: why, Called: true}), ctx.Err()
	}
	a.reads = r.ReadAll(ctx, e.Limits.Reads, a.judged...)
	return a.write, ctx.Err()
}

// barred says that the state machine takes nothing of the answer, so that nothing of it is carried out, reads included (C62, C63).
func (a *answer) barred() bool { return a.Machine.Bars(a.s.State, a.event) != "" }

// looks says of a call that it only reads, and may.
func looks(j router.Judged) bool { return j.Reads() && j.Verdict() == policy.Allow }

// effects counts the calls that are neither refused nor reads.
func (a *answer) effects() (n int) {
	for _, j := range a.judged {
		if j.Stop == nil && !looks(j) {
			n++
		}
	}
	return n
}

// after is the step that the answer's calls are judged in: the one after the move (C62).
func after(s ledger.Session, env envelope.Envelope) session.Step {
	if to := session.Step(env.Step); to != session.Awaiting {
		return to
	}
	return s.State.Step
}

// session is what the router goes by.
func (e *Engine) session(ns string, s ledger.Session, step session.Step) router.Session {
	t := s.Talk
	left := s.ToolCallsLeft(e.Limits.ToolCalls)
	recent := slices.Clone(t.Recent)
	return router.Session{
		Namespace: ns, Session: s.ID, Task: s.Task, Turn: s.State.Turn.ID, Roles: []string{policy.RoleUser}, InExecution: step == session.Execution,
		Standing: standing(s), Denied: hashes(t.Denied), Unknown: hashes(t.Unknown), Now: e.Clock.Now(),
		Guard: func(hash canon.Hash) string {
			if left--; left < 0 {
				return overBudget
			}
			recent = append(recent, string(hash))
			return looped(recent, e.Limits.Same)
		},
	}
}

// overBudget is why a call is refused that the budget of calls of tools has no room for.
const overBudget = "the budget of calls of tools is spent"

// over says of a call that the budget of calls of tools refused it.
func over(j router.Judged) bool {
	return j.Stop != nil && j.Stop.Code == router.CodeGuard && j.Stop.Reason == overBudget
}

// circles says why all calls of an answer were stopped as a loop; empty: they were not.
func (a *answer) circles() (why string) {
	recent := slices.Clone(a.s.Talk.Recent)
	for _, j := range a.judged {
		recent = append(recent, string(j.CallHash))
		if why = looped(recent, a.Limits.Same); why == "" || j.Stop == nil || j.Stop.Code != router.CodeGuard {
			return ""
		}
	}
	return why
}

// alternating is how many calls, of two by turns, are a loop.
const alternating = 6

// looped says that the last n calls are one, or that two alternate in the last six; empty: neither (c29).
func looped(recent []string, n int) string {
	same := func(count, step int) bool {
		if len(recent) < count {
			return false
		}
		last := recent[len(recent)-count:]
		for i := step; i < count; i++ {
			if last[i] != last[i-step] {
				return false
			}
		}
		return true
	}
	switch {
	case n > 0 && same(n, 1):
		return fmt.Sprintf("this very call was made %d times with nothing else between: something else is needed", n)
	case same(alternating, 2):
		return fmt.Sprintf("this call and one other were made by turns, %d times in all: something else is needed", alternating)
	}
	return ""
}

func hashes(all []string) (out []canon.Hash) {
	for _, h := range all {
		out = append(out, canon.Hash(h))
	}
	return out
}

// write writes the answer: what the model said, its calls with their rows, and what the state machine makes of it.
func (a *answer) write(w *ledger.Work) error {
	if err := a.heard(w, a.h, a.named); err != nil {
		return err
	}
	changedTools(w, a.rt.Tools)
	w.Session.Pins = a.rt.Pins
	for i, c := range a.calls {
		if err := put(w, a.named[i].Args, c.Args); err != nil {
			return err
		}
	}
	e := a.event
	e.Utterance = a.IDs.ID()
	made, err := a.propose(w, &e)
	if err != nil {
		return err
	}
	if len(a.calls) == 0 {
		w.Reply = saidIn(a.env)
	}
	if len(a.calls) == 0 && !e.No {
		if err := a.gated(w, &e, &made); err != nil {
			return err
		}
	}
	a.ask(w, &e)
	w.Asked = sumOf(a.h.text)
	notes, err := w.Apply(e, gate.Change{Made: raisedBy(w.Seq(), made)})
	if err != nil {
		return err
	}
	if err := a.keep(w, made); err != nil {
		return err
	}
	if err := a.notMade(w, notes); err != nil {
		return err
	}
	if !slices.ContainsFunc(notes, session.Note.Whole) {
		if err := a.changed(w, notes); err != nil {
			return err
		}
	}
	if err := a.warn(w); err != nil {
		return err
	}
	if err := a.goOn(w, notes); err != nil {
		return err
	}
	return a.settle(w)
}

// propose tells the state machine of the calls, writes the rows of those that are judged and the results of those that are over, and
// makes the approvals of those that a person is asked about.
func (a *answer) propose(w *ledger.Work, e *session.Answered) (made []gate.Made, err error) {
	w.Session.Calls = map[string]ledger.Call{}
	if a.judged == nil {
		return nil, nil // The state machine refuses them.
	}
	e.Calls, e.Others = nil, 0
	var effects []int
	for i, j := range a.judged {
		id := a.calls[i].ID
		w.Session.Charge(over(j))
		w.Session.Talk.Recent = latest(append(w.Session.Talk.Recent, string(j.CallHash)), alternating)
		switch {
		case j.Stop != nil:
			e.Others++
		case looks(j):
			e.ReadFailed = append(e.ReadFailed, a.reads[i].Failed)
			a.countShown(w, i)
			if !a.reads[i].Failed {
				referTo(w.Session, j.Tool.Full(), j.Args)
			}
		default:
			effects = append(effects, i)
			continue
		}
		if err := putJSON(w, resultOf(id), a.resultOf(i)); err != nil {
			return nil, err
		}
		rows(w, j.Entries(""))
	}
	return a.raise(w, e, effects)
}

func (a *answer) resultOf(i int) tool.Result {
	if j := a.judged[i]; j.Stop != nil {
		return j.Result()
	}
	return a.reads[i].Result
}

func rows(w *ledger.Work, all []audit.Entry) {
	for _, e := range all {
		w.Row(e)
	}
}

// origin is where an approval comes from.
func (a *answer) origin(w *ledger.Work, call string) gate.Origin {
	s := w.Session
	return gate.Origin{
		ID: a.IDs.ID(), Salt: a.IDs.ID(), Namespace: w.Namespace(), Session: s.ID, Task: s.Task, Turn: s.State.Turn.ID, Call: call, Seq: w.Seq(), Requester: requester(*s), Owner: s.Owner,
		Now: w.Now, Life: a.Limits.Approval, Said: gate.Said{Intent: a.intent(), Rationale: a.env.Rationale},
	}
}

// intent is what the model says that it means to do (seed 001, 8.3): the aim of its plan, or its words to the person.
func (a *answer) intent() string {
	if a.env.Plan != nil && a.env.Plan.Aim != "" {
		return a.env.Plan.Aim
	}
	return cmp.Or(a.env.Reply, a.env.GoalConsistency.Reason)
}

// gated makes the approval of a plan or a result that the model or the policy asks for.
func (a *answer) gated(w *ledger.Work, e *session.Answered, made *[]gate.Made) error {
	id := a.IDs.ID()
	var m gate.Made
	var err error
	switch s, kind := w.Session, gates(w.Session.State, *e); {
	case kind == session.KindPlan && a.env.Plan != nil:
		p := a.env.Plan
		plan := gate.Plan{
			Origin: a.origin(w, id), Name: p.Name, Aim: p.Aim, Risk: p.Risk, Criterion: p.Criterion, Steps: p.Steps,
			Items: canon.Items{Goal: s.Items.Goal, WhyNow: s.Items.WhyNow, Constraints: s.Items.Constraints, PlanBrief: s.Items.PlanBrief, OpenQuestions: s.Items.OpenQuestions},
		}
		for _, act := range p.Actions {
			plan.Actions = append(plan.Actions, gate.Action{Kind: act.Kind, Path: act.Path, Description: act.Description, Optional: act.Optional})
		}
		m, err = gate.ForPlan(plan)
	case kind == session.KindResult:
		m, err = gate.ForResult(gate.Result{Origin: a.origin(w, id), Text: saidIn(a.env), Executed: s.Talk.Executed})
	default:
		return nil // The state machine refuses it.
	}
	if err = fits(m, err); err != nil {
		return a.unasked(w, err)
	}
	e.Gate = session.Proposal{ID: id, Approval: m.Approval.ID, Digest: string(m.Approval.Digest), Until: m.Approval.Expires}
	*made = append(*made, m)
	return nil
}

// ask has the question of an answer open, which the next message closes, or the clock (C32).
func (a *answer) ask(w *ledger.Work, e *session.Answered) {
	if a.env.Question != "" {
		e.Question = session.Question{ID: a.IDs.ID(), Expires: w.Now.Add(a.Limits.Question)}
	}
}

// keep writes what is shown of the approvals that were raised.
func (a *answer) keep(w *ledger.Work, made []gate.Made) error {
	for _, m := range made {
		if !slices.ContainsFunc(w.Session.State.Calls, func(c session.Call) bool { return c.Approval == m.Approval.ID }) {
			continue // The state machine refused what it was for.
		}
		if err := a.show(w, m); err != nil {
			return err
		}
	}
	return nil
}

// untaken is what a model is told of the changes in an answer that was refused.
const untaken = "the state_delta of this answer is not taken"

// goOn tells the model what became of its answer: where it is asked again without a call between, and where something beside its calls, or beside an
// approval, was refused. Of calls their results tell.
func (a *answer) goOn(w *ledger.Work, notes []session.Note) error {
	if len(a.calls) > 0 || w.Session.State.Turn.Running == session.Waiting {
		return a.beside(w, notes)
	}
	if w.Session.State.Turn.Running != session.Working {
		return nil
	}
	said := map[string]any{"next": "go on", "step": w.Session.State.Step}
	var refused []string
	for _, n := range notes {
		if n.Of == session.OfRefusal {
			refused = append(refused, n.Text)
			said["refused"] = strings.Join(refused, "; ")
			if len(n.Allowed) > 0 {
				said["allowed_steps"] = n.Allowed
			}
		}
		if n.Whole() && !a.env.StateDelta.Empty() {
			said["changes"] = untaken
		}
	}
	if a.why != "" {
		said["refused"] = a.why
	}
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return a.note(w, string(text))
}

// beside keeps what the model is to be told with the results of its calls, or with a decision: some kinds of models take no other message before those.
func (a *answer) beside(w *ledger.Work, notes []session.Note) error {
	i := slices.IndexFunc(notes, func(n session.Note) bool { return n.Of == session.OfRefusal && !n.Whole() })
	if i < 0 {
		return nil
	}
	w.Session.Talk.Beside = noteOf(a.IDs.ID())
	return put(w, w.Session.Talk.Beside, []byte(notes[i].Text))
}

// latest are the last n of a list.
func latest(all []string, n int) []string { return all[max(0, len(all)-n):] }
