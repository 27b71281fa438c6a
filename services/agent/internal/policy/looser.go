package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// looser says in what a policy allows something that another does not, as far as that can be seen rule by rule: a denying rule that it lacks, one that
// asks and has no asking or denying one in its place, an allowing rule of its own, a wider list, a lower risk, a higher threshold, and that it does not
// ask about the plan or the result. nil: it is stricter, or as strict.
func looser(a, b Policy) (why []string) {
	add := func(is bool, format string, args ...any) {
		if is {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	for _, r := range b.Rules {
		switch r.Effect.verdict() {
		case Deny:
			add(!has(a.Rules, r, EffectDeny), "it does not deny what rule %s denies", quote(r.ID))
		case Ask:
			add(!has(a.Rules, r, EffectAsk, EffectDeny), "it does not ask about what rule %s asks about", quote(r.ID))
		case Allow:
		}
	}
	for _, r := range a.Rules {
		add(r.Effect.verdict() == Allow && !has(b.Rules, r, EffectAllow), "its rule %s allows", quote(r.ID))
	}
	for _, suffix := range without(a.Extensions.Allow, b.Extensions.Allow) {
		add(true, "it takes files that end in %s", suffix)
	}
	for _, suffix := range without(b.Extensions.Deny, a.Extensions.Deny) {
		add(true, "it does not refuse files that end in %s", suffix)
	}
	x, y := reflect.ValueOf(a.Levels), reflect.ValueOf(b.Levels)
	for i := range x.NumField() {
		name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
		add(x.Field(i).Uint() < y.Field(i).Uint(), "its levels.%s is %v, and is %v there", name, x.Field(i), y.Field(i))
	}
	add(a.Thresholds.Files > b.Thresholds.Files, "its thresholds.files is %d, and is %d there", a.Thresholds.Files, b.Thresholds.Files)
	add(a.Thresholds.Bytes > b.Thresholds.Bytes, "its thresholds.bytes is %d, and is %d there", a.Thresholds.Bytes, b.Thresholds.Bytes)
	add(a.AllowHigh && !b.AllowHigh, "it allows calls of high risk")
	add(b.AskPlan && !a.AskPlan, "it does not ask about the plan")
	add(b.AskResult && !a.AskResult, "it does not ask about the result")
	for _, s := range b.Secrets {
		add(!slices.ContainsFunc(a.Secrets, func(o Shape) bool { return reflect.DeepEqual(s, o) }), "it does not look for the secret %s", quote(s.Name))
	}
	return why
}

// has says that among rules there is one that fits the same calls, with one of some effects.
func has(rules []Rule, r Rule, effects ...Effect) bool {
	return slices.ContainsFunc(rules, func(o Rule) bool {
		fits := slices.Contains(effects, o.Effect)
		o.ID, o.Reason, o.Effect = r.ID, r.Reason, r.Effect
		return fits && o == r
	})
}

// without are the suffixes of a list that another does not have, in any case of letters.
func without(list, other []string) (out []string) {
	for _, s := range list {
		if !slices.ContainsFunc(other, func(o string) bool { return strings.EqualFold(o, s) }) {
			out = append(out, s)
		}
	}
	return out
}
