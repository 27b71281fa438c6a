package session

import (
	"fmt"
	"slices"
	"strings"
)

// Row is a change of step that there is (field/review-agent.md 2a). What no row names is refused (C24).
type Row struct {
	From    Step
	Trigger Trigger
	To      Step
	// Status is what may follow.
	Status []Status
	// Guard is what else must hold, for the documentation: Apply judges it.
	Guard string
}

func rows(from []Step, t Trigger, to Step, guard string, status ...Status) []Row {
	var all []Row
	for _, f := range from {
		all = append(all, Row{f, t, to, status, guard})
	}
	return all
}

// Table is every change of step that there is, in the order of field/review-agent.md 2a.
var Table = slices.Concat(
	rows([]Step{Planning}, ByModel, Execution, "first move of the utterance; both checks yes; no approval of the plan is asked for", InProgress, Success, RequiresInput),
	rows([]Step{Planning, Execution}, ByModel, Review, "first move of the utterance; both checks yes", InProgress, RequiresInput),
	rows([]Step{Review}, ByModel, Execution, "first move of the utterance; both checks yes", InProgress, Success, RequiresInput),
	rows([]Step{Review}, ByModel, Done, "next_step done; first move of the utterance; both checks yes; no call open; no approval of the result is asked for, or it was approved", Success),
	rows([]Step{Planning, Execution, Review}, ByGate, Awaiting, "one kind: PLAN from PLANNING, RESULT from REVIEW, tool calls from each, OUTCOME from EXECUTION", RequiresInput),
	rows([]Step{Execution, Review, Planning}, ByError, Planning, "fewer than 3 recoveries of this task; else the turn ends", Error, RequiresInput),
	rows([]Step{Awaiting}, ByDecision, Execution, "nothing pending, a call can run; or the plan is approved; or an outcome was told", InProgress),
	rows([]Step{Awaiting}, ByDecision, Review, "the result is approved", InProgress),
	rows([]Step{Awaiting}, ByDecision, Planning, "nothing pending, no call can run; with a denial the model gets the reasons", InProgress, RequiresInput),
	rows([]Step{Awaiting}, ByExpiry, Execution, "nothing pending, a call can run", InProgress),
	rows([]Step{Awaiting}, ByExpiry, Planning, "nothing pending, no call can run, or an outcome stayed unknown", InProgress, RequiresInput),
	rows([]Step{Awaiting}, BySupersede, Planning, "a message takes the place of what was asked", InProgress),
	rows([]Step{Awaiting}, ByCancel, Planning, "", InProgress),
	rows([]Step{Awaiting}, ByFatal, Planning, "the record does not verify", Error),
	rows([]Step{Done, Planning, Execution, Review}, ByNewTask, Planning, "a message after DONE or CANCELED", InProgress),
)

// removable are the rows that a configuration may take away. Every other one is somebody's only way out (C78).
var removable = [][2]Step{{Planning, Execution}, {Planning, Review}, {Execution, Review}, {Review, Execution}}

// Without is a row of trigger MODEL that a configuration takes away, such as PLANNING->REVIEW.
type Without struct{ From, To Step }

// String is how a configuration writes it.
func (w Without) String() string { return string(w.From) + "->" + string(w.To) }

// CheckWithout says in sentences what is wrong with rows that are to be taken away: a row that may not be, or all ways to DONE.
func CheckWithout(all []Without) []string {
	var wrong []string
	for _, w := range all {
		if !slices.Contains(removable, [2]Step{w.From, w.To}) {
			wrong = append(wrong, fmt.Sprintf("%s cannot be taken away: only PLANNING->EXECUTION, PLANNING->REVIEW, EXECUTION->REVIEW and REVIEW->EXECUTION can", w))
		}
	}
	if slices.Contains(all, Without{Planning, Review}) && slices.Contains(all, Without{Execution, Review}) {
		wrong = append(wrong, "PLANNING->REVIEW and EXECUTION->REVIEW cannot both be taken away: no task could be finished then")
	}
	return wrong
}

// ParseWithout reads what a configuration says, such as PLANNING->REVIEW. CheckWithout judges it.
func ParseWithout(text string) Without {
	from, to, _ := strings.Cut(text, "->")
	return Without{Step(strings.TrimSpace(from)), Step(strings.TrimSpace(to))}
}

// key is what a row is found by.
type key struct {
	from Step
	by   Trigger
	to   Step
}

var byKey = func() map[key]Row {
	all := map[key]Row{}
	for _, r := range Table {
		all[key{r.From, r.Trigger, r.To}] = r
	}
	return all
}()

// row finds a row of the table that this machine has.
func (m Machine) row(from Step, t Trigger, to Step) (Row, bool) {
	if t == ByModel && slices.Contains(m.Without, Without{from, to}) {
		return Row{}, false
	}
	r, ok := byKey[key{from, t, to}]
	return r, ok
}

// Allowed are the steps that an answer can name to leave a step, in the order of the table: what a refusal tells. DONE is none of them: next_step ends a
// task. Where the plan is asked about EXECUTION is none in PLANNING: AWAITING_APPROVAL is the way there. One that is named may be refused still, for what
// the Guard of its row says.
func (m Machine) Allowed(from Step, asksPlan bool) []Step {
	var all []Step
	for _, r := range Table {
		_, ok := m.row(r.From, r.Trigger, r.To)
		named := r.Trigger == ByModel && r.To != Done || r.Trigger == ByGate
		asked := asksPlan && r.From == Planning && r.To == Execution
		if ok && named && !asked && r.From == from {
			all = append(all, r.To)
		}
	}
	return all
}
