package envelope

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// yesNo are the words that a check may begin with (C15), and what they mean. Case is no matter.
var yesNo = []struct {
	word string
	ok   bool
}{{"yes", true}, {"no", false}, {"はい", true}, {"いいえ", false}}

// separators may stand behind the word of a check. Anything else makes it another word ("nothing", "yes/no").
const separators = " \t\r\n,.:;!-–—、。，．：；！（(「　"

// check reads a yes or no with its reason: text that begins with one of the words, or {ok, reason}.
func (r *reader) check(f fields, key string) Check {
	path, n := join(f.path, key), f.values[key]
	switch {
	case n == nil:
		return Check{}
	case n.kind == object:
		return r.checkObject(path, n)
	case n.kind != text:
		r.refuse(WrongType, path, kindNames[n.kind], `"yes: ..." / "no: ..."`)
		return Check{}
	}
	s, ok := r.text(path, n)
	if !ok {
		return Check{}
	}
	yes, reason, ok := yesOrNo(s)
	if !ok {
		r.refuse(WrongValue, path, quote(s), `"yes: ..." / "no: ..."`)
		return Check{}
	}
	return Check{yes, r.oneLine(path, &node{kind: text, text: reason}, MaxSentence, false)}
}

func (r *reader) checkObject(path string, n *node) Check {
	f, _ := r.take(path, n, 2, "ok", "reason")
	reason := r.line(f, "reason", MaxSentence, false)
	ok := f.values["ok"]
	if ok != nil && ok.kind != boolean {
		r.refuse(WrongType, join(path, "ok"), kindNames[ok.kind], kindNames[boolean])
	}
	return Check{ok != nil && ok.truth, reason}
}

// splitWord parts a text behind its first word of yesNo.
func splitWord(s string) (yes bool, rest string, ok bool) {
	for _, w := range yesNo {
		if len(s) < len(w.word) || !strings.EqualFold(s[:len(w.word)], w.word) {
			continue
		}
		rest := s[len(w.word):]
		if first, _ := utf8.DecodeRuneInString(rest); rest == "" || strings.ContainsRune(separators, first) {
			return w.ok, rest, true
		}
	}
	return false, s, false
}

// yesOrNo reads the word that a check begins with, and the reason behind it. "yes and no", "yes or no" and "yes, no." are
// neither; "yes, no rule is broken" is a yes.
func yesOrNo(s string) (yes bool, reason string, ok bool) {
	yes, reason, ok = splitWord(strings.TrimSpace(s))
	if !ok {
		return false, "", false
	}
	reason = strings.TrimLeft(reason, " \t\r\n,.:;!、。，．：；！　")
	rest := reason
	for _, w := range []string{"and ", "or ", "|", "/", "または", "又は"} {
		if len(rest) > len(w) && strings.EqualFold(rest[:len(w)], w) {
			rest = strings.TrimLeft(rest[len(w):], separators)
			break
		}
	}
	other, last, both := splitWord(rest)
	if both && other != yes && (rest != reason || strings.Trim(last, separators) == "") {
		return false, "", false
	}
	return yes, reason, true
}

// untouchable are what a state_delta may not name (C21): they are the person's, or the agent's.
var untouchable = []string{"constraints", "step", "status", "decision_log", "pending_gate"}

// delta reads a state_delta. In the form of a patch null clears, as RFC 7396 has it.
func (r *reader) delta(f fields) Delta {
	const key = "state_delta"
	n := f.values[key]
	if n == nil || n.kind == text {
		return Delta{Note: r.line(f, key, MaxLine, false)}
	}
	if n.kind != object {
		r.refuse(WrongType, key, kindNames[n.kind], "string / object")
		return Delta{}
	}
	var d Delta
	known := []string{"goal", "why_now", "plan_brief", "open_questions"}
	for _, m := range n.members {
		path := join(key, m.key)
		value := m.value
		switch {
		case slices.Contains(untouchable, m.key):
			r.refuse(Untouchable, path, "", strings.Join(known, ", "))
		case !slices.Contains(known, m.key):
			r.unknown(path, m.key, known)
		case m.key == "goal":
			d.Goal = r.patchLine(path, value)
		case m.key == "why_now":
			d.WhyNow = r.patchLine(path, value)
		case m.key == "plan_brief":
			d.PlanBrief = r.patchList(path, value, MaxSteps)
		default:
			d.OpenQuestions = r.patchList(path, value, MaxQuestions)
		}
	}
	return d
}

func (r *reader) patchLine(path string, n *node) *string {
	s := ""
	if n.kind != null {
		s = r.oneLine(path, n, MaxLine, false)
	}
	return &s
}

func (r *reader) patchList(path string, n *node, limit int) *[]string {
	lines := []string{}
	if n.kind != null {
		lines = r.lines(path, n, limit)
	}
	return &lines
}

// calls reads the actions of an answer. Their arguments stay as they are written.
func (r *reader) calls(f fields) []Call {
	var calls []Call
	for i, item := range r.list("actions", f.values["actions"], MaxCalls) {
		f, ok := r.take("actions["+strconv.Itoa(i)+"]", item, 2, "name", "args")
		if !ok {
			continue
		}
		call := Call{Name: r.named(f, "name", MaxName, true)}
		switch args := f.values["args"]; {
		case args == nil:
		case args.kind != object:
			r.refuse(WrongType, join(f.path, "args"), kindNames[args.kind], kindNames[object])
		case args.mended:
			r.refuse(MendedArgs, join(f.path, "args"), "", "")
		default:
			call.Args = r.src[args.start:args.end]
		}
		calls = append(calls, call)
	}
	return calls
}

// provided takes the calls that came in the provider's own form. Both ways in one answer are refused: the same call would be
// made twice.
func (r *reader) provided(e *Envelope, calls []ToolCall) {
	if len(calls) > MaxCalls {
		r.refuse(TooMany, "tool_calls", strconv.Itoa(len(calls)), strconv.Itoa(MaxCalls))
		return
	}
	if len(calls) > 0 && e != nil && len(e.Calls) > 0 {
		r.refuse(CallsTwice, "actions", "", "")
	}
	for i, c := range calls {
		path := "tool_calls[" + strconv.Itoa(i) + "]"
		name := fields{path, map[string]*node{"name": {kind: text, text: c.Name}}}
		switch {
		case len(c.Arguments) > MaxBytes:
			r.refuse(TooLong, path+".arguments", count(len(c.Arguments)), count(MaxBytes))
		case !utf8.ValidString(c.Arguments + c.ID + c.Name):
			r.refuse(InvalidUTF8, path, "", "")
		}
		call := Call{ID: c.ID, Name: r.named(name, "name", MaxName, true), Args: c.Arguments, Provider: true}
		if e != nil {
			e.Calls = append(e.Calls, call)
		}
	}
}

func (r *reader) plan(f fields) *Plan {
	if f.values["plan"] == nil {
		return nil
	}
	f, ok := r.take("plan", f.values["plan"], 5, "name", "aim", "steps", "risk", "criterion", "actions")
	if !ok {
		return nil
	}
	p := &Plan{
		Name: r.line(f, "name", MaxItem, true), Aim: r.line(f, "aim", MaxLine, true),
		Steps: r.lines("plan.steps", f.values["steps"], MaxSteps),
		Risk:  r.line(f, "risk", MaxLine, true), Criterion: r.line(f, "criterion", MaxLine, true),
	}
	if n := f.values["steps"]; n != nil && n.kind == array && len(n.items) == 0 {
		r.refuse(Blank, "plan.steps", "", "")
	}
	for i, item := range r.list("plan.actions", f.values["actions"], MaxActions) {
		p.Actions = append(p.Actions, r.action("plan.actions["+strconv.Itoa(i)+"]", item))
	}
	return p
}

func (r *reader) action(path string, n *node) Action {
	f, ok := r.take(path, n, 3, "kind", "path", "description", "optional")
	if !ok {
		return Action{}
	}
	a := Action{
		Kind: r.named(f, "kind", MaxName, true), Path: r.named(f, "path", MaxPath, false),
		Description: r.line(f, "description", MaxLine, true),
	}
	switch n := f.values["optional"]; {
	case n == nil:
		r.defaulted = append(r.defaulted, join(path, "optional"))
	case n.kind != boolean:
		r.refuse(WrongType, join(path, "optional"), kindNames[n.kind], kindNames[boolean])
	default:
		a.Optional = n.truth
	}
	return a
}
