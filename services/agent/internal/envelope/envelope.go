// Package envelope reads the answers of a model in a session (seed 001, 7.1): from the text of an answer it takes either
// one object of that form, or all reasons why it cannot be used, in words with which the model can be asked again.
//
// It is strict where a mistake would be believed: a field that is not there is never made up (but for the prompt pattern
// and whether an action of a plan is optional, and the result says so), a key that nobody knows, a key twice, a value of
// another type or word is refused, and there must be exactly one object. It mends only what cannot change the meaning: a
// byte order mark, what the model thought first, a fence, prose around the object, a comma before a closing bracket,
// comments; and it tells each of these (field/agent.md 4, cases/agent.md c16 and c32). Nothing is ever closed or completed,
// and nothing at all is mended inside of arguments of calls.
//
// What may follow from an answer (transitions, calls, what a "no" forbids) is not judged here.
package envelope

import (
	"strings"
	"unicode/utf8"
)

// Bounds of an answer.
const (
	// MaxBytes is the length of an answer's text, with thoughts and prose, and of the arguments of one call: 512 KiB.
	MaxBytes = 512 << 10
	// MaxDepth is how deep brackets may stand in each other, that of the answer's object included.
	MaxDepth = 32
	// MaxObjects is how many things that look like objects are looked at before the search is given up.
	MaxObjects = 64
	// MaxReasons is how many reasons an error holds; the rest is not told.
	MaxReasons = 32
)

// Limits of texts in code points (seed 001, 5.1 and 5.2). Text of a model over its limit is cut, and the result says so (C20
// of field/agent.md); names and paths are not, because a cut one names something else.
const (
	// MaxSentence holds for rationale, the reasons of both checks, and the question. The seed gives no number.
	MaxSentence = 400
	// MaxLine holds for goal, why_now, a state_delta of text, and a plan's aim, risk, criterion and descriptions of actions.
	MaxLine = 200
	// MaxItem holds for each item of plan_brief and open_questions, and for the name and each step of a plan.
	MaxItem = 100
	// MaxName holds for the name of a tool and for the kind of an action, MaxPath for its path.
	MaxName = 128
	MaxPath = 1024
)

// Counts. An answer with more is refused: to leave out an item would change what the model said.
const (
	MaxSteps     = 3  // of plan_brief and of a plan
	MaxQuestions = 2  // open_questions
	MaxCalls     = 16 // actions, or calls in the provider's own form
	MaxActions   = 16 // of a plan
)

// NextStep is what the model wants to happen next (seed 001, 7.1). It ends the turn or goes on (C23).
type NextStep string

// The values of NextStep.
const (
	Done        NextStep = "done"
	PendingUser NextStep = "pending_user"
	Defer       NextStep = "defer"
	Continue    NextStep = "continue"
)

// Step is the step that the model asks for; the same as now means to stay (C61). DONE is none of them: it is reached by
// next_step alone (C4).
type Step string

// The values of Step.
const (
	Planning         Step = "PLANNING"
	Execution        Step = "EXECUTION"
	Review           Step = "REVIEW"
	AwaitingApproval Step = "AWAITING_APPROVAL"
)

// Pattern says which layers the next prompt has. The third one, base_specialized, is not the model's to choose (C12).
type Pattern string

// The values of Pattern.
const (
	BaseMain            Pattern = "base_main"
	BaseMainSpecialized Pattern = "base_main_specialized"
)

// Verdict is what the model thinks of a result under review. It never satisfies the gate (C22).
type Verdict string

// The values of Verdict; a model may write 承認, 要修正 and 拒否 too, as the layer of the review has them in Japanese.
const (
	Approve Verdict = "approve"
	Correct Verdict = "correct"
	Reject  Verdict = "reject"
)

// Check is a yes or no with its reason. The zero value is no.
type Check struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// Delta is what the model wants to change (C21): either a Note, which is kept with the answer and changes nothing, last_delta neither,
// or a merge patch over four of the five items: what is nil stays, what is empty is cleared.
type Delta struct {
	Note          string    `json:"note,omitempty"`
	Goal          *string   `json:"goal,omitempty"`
	WhyNow        *string   `json:"why_now,omitempty"`
	PlanBrief     *[]string `json:"plan_brief,omitempty"`
	OpenQuestions *[]string `json:"open_questions,omitempty"`
}

// Empty says that nothing of the session would change; a Note changes nothing.
func (d Delta) Empty() bool {
	return d.Goal == nil && d.WhyNow == nil && d.PlanBrief == nil && d.OpenQuestions == nil
}

// Call is a call that the model proposes.
type Call struct {
	// ID is the provider's; empty for one of `actions`.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is the raw JSON text, byte for byte as the model wrote it. Of `actions` it is a whole object without a key twice
	// and without anything mended; of the provider it is not looked at, but for its length and its encoding.
	Args string `json:"args"`
	// Provider says that it came as the provider's own tool call.
	Provider bool `json:"provider,omitempty"`
}

// Plan is a plan as a record (seed 001, 3.3 and 12.1.1), which an approval of the kind PLAN shows.
type Plan struct {
	Name      string   `json:"name"`
	Aim       string   `json:"aim"`
	Steps     []string `json:"steps"`
	Risk      string   `json:"risk"`
	Criterion string   `json:"criterion"`
	Actions   []Action `json:"actions,omitempty"`
}

// Action is a thing that a plan means to do. It authorises nothing (C64).
type Action struct {
	Kind        string `json:"kind"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Optional    bool   `json:"optional"`
}

// Envelope is an answer that can be used.
type Envelope struct {
	Rationale       string   `json:"rationale"`
	GoalConsistency Check    `json:"goal_consistency"`
	ConstraintCheck Check    `json:"constraint_check"`
	NextStep        NextStep `json:"next_step"`
	Step            Step     `json:"step"`
	PromptPattern   Pattern  `json:"prompt_pattern"`
	// Reply is the answer for the person, verbatim. The seed has no field for it and text around the object is no answer, so it
	// is one of ours. Empty if there is none.
	Reply      string `json:"reply,omitempty"`
	StateDelta Delta  `json:"state_delta,omitzero"`
	Calls      []Call `json:"calls,omitempty"`
	Plan       *Plan  `json:"plan,omitempty"`
	// Question is the one question to the person (C32), verbatim; empty if there is none.
	Question      string  `json:"question,omitempty"`
	ReviewVerdict Verdict `json:"review_verdict,omitempty"`
}

// Consents says that both checks are yes. Otherwise there is no move to EXECUTION, no call, no gate and no end of the task in
// this utterance (C15, C63).
func (e *Envelope) Consents() bool { return e.GoalConsistency.OK && e.ConstraintCheck.OK }

// Repair is something that was mended before an answer could be read.
type Repair string

// The repairs, in the order in which a result has them.
const (
	MarkRemoved     Repair = "bom"
	ThinkStripped   Repair = "think"
	FenceChosen     Repair = "fence"
	ProseIgnored    Repair = "prose"
	CommaRemoved    Repair = "trailing_comma"
	CommentsRemoved Repair = "comments"
)

// Cut tells of a text that was longer than its limit.
type Cut struct {
	Path string `json:"path"`
	// Length and Limit are in code points.
	Length int `json:"length"`
	Limit  int `json:"limit"`
}

// Result is an answer that was read, and what was done to read it. Whoever keeps it keeps the raw text beside it.
type Result struct {
	Envelope Envelope `json:"envelope"`
	Repairs  []Repair `json:"repairs,omitempty"`
	// Defaulted are paths of fields that the model left out and that have a default.
	Defaulted []string `json:"defaulted,omitempty"`
	Cuts      []Cut    `json:"cuts,omitempty"`
	// Tidied are paths of texts of one line that had ends of lines, other controls or invisible characters.
	Tidied []string `json:"tidied,omitempty"`
}

// Notes are all that was done to read an answer, each in a word or two: a repair, or what became of the field with a path.
func (r *Result) Notes() (all []string) {
	for _, repair := range r.Repairs {
		all = append(all, string(repair))
	}
	for _, path := range r.Defaulted {
		all = append(all, "defaulted "+path)
	}
	for _, cut := range r.Cuts {
		all = append(all, "cut "+cut.Path)
	}
	for _, path := range r.Tidied {
		all = append(all, "tidied "+path)
	}
	return all
}

// ToolCall is a call in the provider's own form.
type ToolCall struct{ ID, Name, Arguments string }

// Answer is what a model server gave.
type Answer struct {
	Text string
	// CutOff says that the server stopped because of a limit of length. Such an answer is never used, even if an object in it
	// ends: what was not written could be a second one.
	CutOff bool
	Calls  []ToolCall
}

// Parse reads an answer. The error is an *Error with all reasons.
func Parse(a Answer) (*Result, error) {
	if reason, bad := unreadable(a); bad {
		return nil, &Error{Reasons: []Reason{reason}}
	}
	text, marked := strings.CutPrefix(a.Text, "\ufeff")
	found, reasons := find(text)
	if len(reasons) > 0 {
		if len(a.Calls) > 0 {
			// No check of the model's stands beside them, and none is made up.
			reasons = append([]Reason{{Code: CallsAlone}}, reasons...)
		}
		return nil, fail(reasons)
	}
	r := reader{src: text, reasons: found.reasons}
	envelope := r.envelope(found.node)
	r.provided(envelope, a.Calls)
	if len(r.reasons) > 0 {
		return nil, fail(r.reasons)
	}
	repairs := found.repairs
	if marked {
		repairs = append([]Repair{MarkRemoved}, repairs...)
	}
	return &Result{Envelope: *envelope, Repairs: repairs, Defaulted: r.defaulted, Cuts: r.cuts, Tidied: r.tidied}, nil
}

// unreadable refuses what must not even be searched.
func unreadable(a Answer) (Reason, bool) {
	switch {
	case a.CutOff:
		return Reason{Code: CutOff}, true
	case len(a.Text) > MaxBytes:
		return Reason{Code: TooLarge, Found: count(len(a.Text)), Want: count(MaxBytes)}, true
	case !utf8.ValidString(a.Text):
		return Reason{Code: InvalidUTF8}, true
	}
	return Reason{}, false
}
