package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// Plan is a plan of a model that a person is asked about (seed 001, 3.3).
type Plan struct {
	Origin
	Name, Aim, Risk, Criterion string
	Steps                      []string
	Actions                    []Action
	Items                      canon.Items
}

// Action is something that a plan means to do. It authorises nothing (C64).
type Action struct {
	Kind, Path, Description string
	Optional                bool
}

// ForPlan makes the approval of a plan. Approved, it lets the session go to EXECUTION and no call start (C64).
func ForPlan(p Plan) (Made, error) {
	text, hidden := shown(p.text())
	if hidden != "" {
		return Made{}, &MakeError{Call: p.Call, Why: "the plan is too long to be shown"}
	}
	items := p.Items
	a := p.record(canon.KindPlan, Subject{Items: &items})
	a.Risk = believed(p.Risk)
	a.Points = p.Said.points([]Line{computed(
		fmt.Sprintf("A plan of %d steps and %d actions. Approving it lets the work begin; each change of a file is judged by itself when it is proposed.", len(p.Steps), len(p.Actions)),
		fmt.Sprintf("手順 %d 件、操作 %d 件の計画です。承認すると作業が始まりますが、ファイルの変更は提案されるたびに個別に判断します。", len(p.Steps), len(p.Actions)))}, nil, DiffStat{Bytes: len(text)})
	return a.finish(text, "")
}

// text is the plan as it is shown, field by field, each as the model wrote it. Further lines of a field are set in, so that none looks
// like a field.
func (p Plan) text() string {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(value, "\n", "\n    ")) }
	field("name", p.Name)
	field("aim", p.Aim)
	for i, s := range p.Steps {
		field(fmt.Sprintf("step %d", i+1), s)
	}
	field("risk (as the model sees it)", p.Risk)
	field("criterion", p.Criterion)
	for i, a := range p.Actions {
		kind := a.Kind
		if a.Optional {
			kind += " (optional)"
		}
		field(fmt.Sprintf("action %d", i+1), fmt.Sprintf("%s %s: %s", kind, a.Path, a.Description))
	}
	return b.String()
}

// believed is the risk of a plan, raised by what a model says of it, in the words of seed 001, 3.3: one that begins with `高` or `high`. Whatever else it says changes
// nothing (cases/agent.md c28).
func believed(says string) policy.Assessment {
	a := because(policy.CodePlan, policy.Medium)
	says = strings.ToLower(strings.TrimSpace(says))
	if strings.HasPrefix(says, "高") || strings.HasPrefix(says, "high") {
		return raise(a, policy.Reason{Code: policy.CodeModelSays, Level: policy.High})
	}
	return a
}

// because is a risk of one reason.
func because(code policy.Code, level policy.Risk) policy.Assessment {
	return policy.Assessment{Level: level, Reasons: []policy.Reason{{Code: code, Level: level}}}
}

// Result is a result that a person is asked about.
type Result struct {
	Origin
	Text string
	// Executed are the rows that it judges.
	Executed []canon.Executed
}

// ForResult makes the approval of a result. Approved, it lets the task end and no call start (C64).
func ForResult(r Result) (Made, error) {
	text, hidden := shown(r.Text)
	if hidden != "" {
		return Made{}, &MakeError{Call: r.Call, Why: "the result is too long to be shown"}
	}
	a := r.record(canon.KindResult, Subject{Executed: r.Executed})
	a.Risk = because(policy.CodeResult, policy.Low)
	impact := []Line{computed(fmt.Sprintf("A result after %d executed calls. Approving it lets the task end; it changes no file.", len(r.Executed)),
		fmt.Sprintf("実行した呼び出し %d 件の結果です。承認するとタスクを終えられます。ファイルは変わりません。", len(r.Executed)))}
	for i, e := range r.Executed {
		if i == maxListed {
			break
		}
		var paths []string
		for _, t := range e.Targets {
			paths = append(paths, t.Path)
		}
		impact = append(impact, computed(fmt.Sprintf("%s: %s", path(e.Status), listed(paths, ", ")), ""))
	}
	a.Points = r.Said.points(impact, nil, DiffStat{Bytes: len(text)})
	return a.finish(text, "")
}

// Outcome is a call of which nothing proves whether it happened (C49).
type Outcome struct {
	Origin
	// Tool, Root and Subject are those of the call.
	Tool, Root string
	Subject    canon.Outcome
	// Args are the arguments of the call, JSON; Began is when it began.
	Args  []byte
	Began time.Time
	// Why is what could not be proved, a sentence; it may be empty.
	Why string
}

// ForOutcome asks a person whether something happened. It is no approval: nothing runs again by it.
func ForOutcome(o Outcome) (Made, error) {
	a := o.record(canon.KindOutcome, Subject{
		Tool: o.Tool, Root: o.Root, CallHash: o.Subject.Call, Targets: o.Subject.Targets, Intent: o.Subject.Intent, Attempt: o.Subject.Attempt,
		ArgsBytes: len(o.Args),
	})
	if len(o.Args) > 0 {
		a.Subject.Args = canon.Sum(o.Args)
	}
	var paths []string
	for _, t := range o.Subject.Targets {
		paths = append(paths, t.Path)
	}
	text, hidden := shown(o.Why)
	if hidden != "" {
		return Made{}, &MakeError{Call: o.Call, Why: "what is known is too long to be shown"}
	}
	name, began := path(o.Tool), o.Began.UTC().Format(time.RFC3339)
	impact := []Line{computed(
		fmt.Sprintf("Nobody can tell whether the call of %s that began at %s happened. Look, and say HAPPENED or NOT_HAPPENED; it is never run again by itself.", name, began),
		fmt.Sprintf("%s に始まった %s の呼び出しが実行されたかどうか分かりません。確認のうえ HAPPENED か NOT_HAPPENED で答えてください。自動で再実行することはありません。", began, name))}
	if len(paths) > 0 {
		impact = append(impact, computed("It is about "+listed(paths, ", ")+".", "対象: "+listed(paths, "、")))
	}
	a.Risk = because(policy.CodeOutcome, policy.Unknown)
	a.Points = o.Said.points(impact, nil, DiffStat{})
	return a.finish(text, string(o.Args))
}
