package envelope

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// reader makes an Envelope of an object. It goes on after a mistake, so that all reasons are told at once.
type reader struct {
	src       string
	reasons   []Reason
	cuts      []Cut
	tidied    []string
	defaulted []string
}

func (r *reader) refuse(code Code, path, found, want string) {
	r.reasons = append(r.reasons, Reason{Code: code, Path: path, Found: found, Want: want})
}

// fields are the members of one object by key; null stands for a field that is not there, but in a merge patch, where it
// clears.
type fields struct {
	path   string
	values map[string]*node
}

// take checks the keys of an object. The first ones of known, as many as required says, must be there.
func (r *reader) take(path string, n *node, required int, known ...string) (fields, bool) {
	f := fields{path, map[string]*node{}}
	if n.kind != object {
		r.refuse(WrongType, path, kindNames[n.kind], kindNames[object])
		return f, false
	}
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.key):
			r.unknown(join(path, m.key), m.key, known)
		case m.value.kind != null:
			f.values[m.key] = m.value
		}
	}
	for _, key := range known[:required] {
		if f.values[key] == nil {
			r.refuse(Missing, join(path, key), "", "")
		}
	}
	return f, true
}

// unknown refuses a key, and names the one that was perhaps meant.
func (r *reader) unknown(path, key string, known []string) {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	want := strings.Join(known, ", ")
	if i := slices.IndexFunc(known, func(k string) bool { return plain(k) == plain(key) }); i >= 0 {
		want = known[i]
	}
	r.refuse(UnknownKey, path, "", want)
}

func (r *reader) envelope(n *node) *Envelope {
	f, ok := r.take("", n, 5, "rationale", "goal_consistency", "constraint_check", "next_step", "step",
		"prompt_pattern", "reply", "state_delta", "actions", "plan", "question", "review_verdict")
	if !ok {
		return nil
	}
	e := &Envelope{
		Rationale:       r.line(f, "rationale", MaxSentence, true),
		GoalConsistency: r.check(f, "goal_consistency"),
		ConstraintCheck: r.check(f, "constraint_check"),
		NextStep:        choose(r, f, "next_step", Done, PendingUser, Defer, Continue),
		Step:            choose(r, f, "step", Planning, Execution, Review, AwaitingApproval),
		PromptPattern:   choose(r, f, "prompt_pattern", BaseMain, BaseMainSpecialized),
		Reply:           r.verbatim(f, "reply", MaxBytes),
		StateDelta:      r.delta(f),
		Calls:           r.calls(f),
		Plan:            r.plan(f),
		Question:        r.verbatim(f, "question", MaxSentence),
		ReviewVerdict:   r.verdict(f),
	}
	if f.values["prompt_pattern"] == nil {
		e.PromptPattern = patternOf(e.Step)
		r.defaulted = append(r.defaulted, "prompt_pattern")
	}
	return e
}

// patternOf is the pattern of a model that names none (C11): the layer of a step, where the step has one.
func patternOf(s Step) Pattern {
	if s == AwaitingApproval {
		return BaseMain
	}
	return BaseMainSpecialized
}

// text gives a string, and whether there is one that can be used.
func (r *reader) text(path string, n *node) (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind != text:
		r.refuse(WrongType, path, kindNames[n.kind], kindNames[text])
		return "", false
	case strings.ContainsRune(n.text, 0):
		r.refuse(HasNUL, path, "", "")
		return "", false
	}
	return n.text, true
}

// verbatim gives a text as the model wrote it; one of blanks alone is none.
func (r *reader) verbatim(f fields, key string, limit int) string {
	s, ok := r.text(join(f.path, key), f.values[key])
	if !ok || strings.TrimSpace(s) == "" {
		return ""
	}
	return r.fit(join(f.path, key), s, limit)
}

// fit cuts a text at a code point.
func (r *reader) fit(path, s string, limit int) string {
	if n := utf8.RuneCountInString(s); n > limit {
		r.cuts = append(r.cuts, Cut{path, n, limit})
		return cut(s, limit)
	}
	return s
}

// cut is the beginning of a text, in code points.
func cut(s string, limit int) string {
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

// line gives a text of one line.
func (r *reader) line(f fields, key string, limit int, needed bool) string {
	return r.oneLine(join(f.path, key), f.values[key], limit, needed)
}

func (r *reader) oneLine(path string, n *node, limit int, needed bool) string {
	s, ok := r.text(path, n)
	if !ok {
		return ""
	}
	tidy := passage.Line(s)
	if tidy != s {
		r.tidied = append(r.tidied, path)
	}
	if needed && strings.TrimSpace(tidy) == "" {
		r.refuse(Blank, path, "", "")
	}
	return r.fit(path, tidy, limit)
}

// named gives a text that names something: it is never changed.
func (r *reader) named(f fields, key string, limit int, needed bool) string {
	path := join(f.path, key)
	s, ok := r.text(path, f.values[key])
	switch n := utf8.RuneCountInString(s); {
	case ok && needed && strings.TrimSpace(s) == "":
		r.refuse(Blank, path, "", "")
	case n > limit:
		r.refuse(TooLong, path, count(n), count(limit))
	case strings.ContainsFunc(s, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) }):
		r.refuse(Invisible, path, quote(s), "")
	}
	return s
}

// choose gives one of a few words, in exactly this form.
func choose[T ~string](r *reader, f fields, key string, words ...T) T {
	path := join(f.path, key)
	s, ok := r.text(path, f.values[key])
	if !ok || slices.Contains(words, T(s)) {
		return T(s)
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	r.refuse(WrongValue, path, quote(s), strings.Join(all, " / "))
	return ""
}

var verdicts = map[string]Verdict{"承認": Approve, "要修正": Correct, "拒否": Reject}

func (r *reader) verdict(f fields) Verdict {
	if n := f.values["review_verdict"]; n != nil && n.kind == text && verdicts[n.text] != "" {
		return verdicts[n.text]
	}
	return choose(r, f, "review_verdict", Approve, Correct, Reject)
}

// list gives an array, or refuses it.
func (r *reader) list(path string, n *node, limit int) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind != array:
		r.refuse(WrongType, path, kindNames[n.kind], kindNames[array])
		return nil
	case len(n.items) > limit:
		r.refuse(TooMany, path, strconv.Itoa(len(n.items)), strconv.Itoa(limit))
		return nil
	}
	return n.items
}

func (r *reader) lines(path string, n *node, limit int) []string {
	lines := []string{}
	for i, item := range r.list(path, n, limit) {
		lines = append(lines, r.oneLine(path+"["+strconv.Itoa(i)+"]", item, MaxItem, true))
	}
	return lines
}
