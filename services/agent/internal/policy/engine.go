package policy

import (
	"slices"
	"time"
)

// Engine judges calls by one policy and what a caller has added to it. Its zero value denies all.
type Engine struct {
	policy Policy
	added  []Rule
	shapes []shape
	ready  bool
}

// AsksPlan says that a person is asked about a plan before it is carried out. Without a policy somebody is (S29).
func (e *Engine) AsksPlan() bool { return e == nil || !e.ready || e.policy.AskPlan }

// AsksResult says that a person is asked about a result before the task ends.
func (e *Engine) AsksResult() bool { return e == nil || !e.ready || e.policy.AskResult }

// Step is what was looked at of a call.
type Step string

// The steps, in order. STANDING is looked at only where the verdict would be ASK, those behind it only where it would be ALLOW.
const (
	StepTool      Step = "TOOL"           // a tool of nobody is denied
	StepExtension Step = "EXTENSION"      // the kind of file that would be written
	StepDeny      Step = "DENY_RULE"      // a rule of the policy, or of the session
	StepAsk       Step = "ASK_RULE"       //
	StepAllow     Step = "ALLOW_RULE"     //
	StepDefault   Step = "DEFAULT"        // no rule fits
	StepStanding  Step = "STANDING_RULE"  // what a person allowed for this session (S8)
	StepKind      Step = "UNKNOWN_KIND"   // a file of a kind that is in no list
	StepRisk      Step = "RISK"           // HIGH or not known
	StepRepeated  Step = "LIKE_UNKNOWN"   // equal to a call whose outcome nobody knows (C49)
	StepElsewhere Step = "NOT_IN_EXECUTE" // an effect outside of EXECUTION (C40)
)

// Look is something that was looked at.
type Look struct {
	Step Step `json:"step"`
	// Rule is the id of a rule.
	Rule string `json:"rule,omitempty"`
	// Fits says that it applies to the call; Misses is the first condition of a rule that the call does not fulfil.
	Fits   bool      `json:"fits"`
	Misses Condition `json:"misses,omitempty"`
	// Verdict is what it makes of the call, where it fits.
	Verdict Verdict `json:"verdict"`
	// Reason is the rule's own, What the file that it is about.
	Reason string `json:"reason,omitempty"`
	What   string `json:"what,omitempty"`
}

// Explanation is a verdict with everything that led to it. Judging and explaining are one function, so they cannot differ.
type Explanation struct {
	Verdict Verdict `json:"verdict"`
	// Decided is the index of the look that decided, -1 where there is none.
	Decided int `json:"decided"`
	// Standing is the id of the standing rule that was used; each use is written down (S8).
	Standing string     `json:"standing,omitempty"`
	Policy   string     `json:"policy"`
	Tool     string     `json:"tool"`
	Looks    []Look     `json:"looks"`
	Risk     Assessment `json:"risk"`
}

// Explain judges a call at a time, with the standing rules of its session. The order is: the tool and the kinds of files that are
// never written; rules that deny, ask, allow; the default; then a standing rule may turn ASK into ALLOW; then ALLOW becomes ASK
// where a file's kind is in no list, the risk is HIGH or not known, an equal call has an unknown outcome, or an effect would
// start outside of EXECUTION.
func (e *Engine) Explain(c Call, standing []Standing, now time.Time) Explanation {
	x := Explanation{Decided: -1, Policy: e.policy.Name, Tool: c.Tool.Full(), Looks: []Look{}}
	if !e.ready {
		return x
	}
	x.Risk = e.Assess(c)
	if e.first(c, &x) {
		return x
	}
	e.rules(c, &x)
	if x.Verdict == Ask {
		x.stand(c, standing, now)
	}
	if x.Verdict == Allow {
		e.raise(c, &x)
	}
	return x
}

// look takes down what was looked at. What fits decides so far.
func (x *Explanation) look(l Look) bool {
	if l.Fits {
		x.Decided, x.Verdict = len(x.Looks), l.Verdict
	}
	x.Looks = append(x.Looks, l)
	return l.Fits
}

// first says whether a call is denied before any rule.
func (e *Engine) first(c Call, x *Explanation) bool {
	if c.Tool.Origin.Kind == "" {
		return x.look(Look{Step: StepTool, Fits: true})
	}
	for _, p := range c.Writes {
		if e.policy.Extensions.judge(p) == Deny {
			return x.look(Look{Step: StepExtension, Fits: true, What: p})
		}
	}
	if len(c.Writes) > 0 {
		x.look(Look{Step: StepExtension})
	}
	return false
}

func (e *Engine) rules(c Call, x *Explanation) {
	for _, turn := range []struct {
		verdict Verdict
		step    Step
	}{{Deny, StepDeny}, {Ask, StepAsk}, {Allow, StepAllow}} {
		for _, r := range slices.Concat(e.policy.Rules, e.added) {
			if r.Effect.verdict() != turn.verdict {
				continue
			}
			misses := r.misses(c, x.Risk.Level)
			l := Look{Step: turn.step, Rule: r.ID, Fits: misses == "", Misses: misses, Verdict: turn.verdict}
			if l.Fits {
				l.Reason = r.Reason
			}
			if x.look(l) {
				return
			}
		}
	}
	verdict := Ask
	if !c.Effectful() {
		verdict = Allow
	}
	x.look(Look{Step: StepDefault, Fits: true, Verdict: verdict})
}

func (x *Explanation) stand(c Call, standing []Standing, now time.Time) {
	for _, s := range standing {
		if x.look(Look{Step: StepStanding, Rule: s.ID, Fits: s.Covers(c, x.Risk, now), Verdict: Allow}) {
			x.Standing = s.ID
			return
		}
	}
}

// raise looks for what turns ALLOW into ASK, and takes all of it down.
func (e *Engine) raise(c Call, x *Explanation) {
	x.look(Look{Step: StepRisk, Fits: !x.Risk.Level.Known() || x.Risk.Level == High && !e.policy.AllowHigh, Verdict: Ask})
	for _, p := range c.Writes {
		x.look(Look{Step: StepKind, Fits: e.policy.Extensions.judge(p) != Allow, Verdict: Ask, What: p})
	}
	if c.LikeUnknown {
		x.look(Look{Step: StepRepeated, Fits: true, Verdict: Ask})
	}
	if c.Effectful() {
		x.look(Look{Step: StepElsewhere, Fits: !c.InExecution, Verdict: Ask})
	}
	if x.Verdict != Allow {
		x.Standing = ""
	}
}
