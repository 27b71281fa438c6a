package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Roles of callers.
const (
	RoleUser     = "user"
	RoleApprover = "approver"
	RoleAdmin    = "admin"
)

// Caller is who wants a policy. The zero value may nothing.
type Caller struct {
	// Person says that the caller was verified as a person with a token of their own: not the model, a tool, or a token of the
	// session.
	Person bool
	Roles  []string
}

// Choice is the policy of a session: one of the configuration, and rules that the caller added, which ask or deny.
type Choice struct {
	Policy string `json:"policy"`
	Added  []Rule `json:"added,omitempty"`
}

// Engine gives what judges by a choice. The error is an *Error: the policy is no longer configured, or the added rules are wrong.
func (s *Set) Engine(c Choice) (*Engine, error) {
	e, err := s.find(c.Policy)
	if err != nil {
		return nil, err
	}
	k := checker{}
	k.added(c.Added)
	if err := k.err(); err != nil {
		return nil, err
	}
	out := *e
	out.added = slices.Clone(c.Added)
	return &out, nil
}

func (s *Set) find(name string) (*Engine, error) {
	if name == "" {
		name = s.first
	}
	e, ok := s.engines[name]
	if !ok {
		return nil, &Error{[]string{"there is no policy " + quote(name)}}
	}
	return e, nil
}

// AddedFault is something that is wrong with the rules that a caller adds: with the one of an index, or, where that is -1, with all of them.
type AddedFault struct {
	Index   int
	Problem string
}

// CheckAdded looks at rules of a caller. Their ids begin with AddedPrefix, so that they are never taken for those of the configuration.
func CheckAdded(rules []Rule) (faults []AddedFault) {
	if len(rules) > MaxAdded {
		return []AddedFault{{-1, fmt.Sprintf("there are %d added rules, at most %d are taken", len(rules), MaxAdded)}}
	}
	seen := map[string]bool{}
	for i, r := range rules {
		c, at := checker{}, quote(r.ID)
		c.rule(at, r, seen)
		c.add(r.Effect == EffectAllow, "%s: an added rule may ask or deny, and not allow", at)
		c.add(!strings.HasPrefix(r.ID, AddedPrefix), "%s: the id of an added rule begins with %s", at, AddedPrefix)
		for _, p := range c.problems {
			faults = append(faults, AddedFault{i, p})
		}
	}
	return faults
}

// added takes down what is wrong with rules of a caller.
func (c *checker) added(rules []Rule) {
	for _, f := range CheckAdded(rules) {
		c.add(true, "added_rules[%d]: %s", f.Index, f.Problem)
	}
}

// AddedPrefix begins the ids of the rules that callers add.
const AddedPrefix = "session."

// Choose says whether a caller may give a session a policy: now is what it has, nil where it is being created. Without the role admin
// a caller may pick a policy that the configuration lets be picked, and may add rules that ask or deny; a later change may only
// make things stricter, as far as that can be proved rule by rule (field/review-agent.md S9). The error is an *Error with
// everything that stands against it.
func (s *Set) Choose(who Caller, now *Choice, want Choice) error {
	k := checker{}
	k.add(!who.Person, "only a person may choose the policy of a session: not the model, a tool, or a token of the session")
	k.added(want.Added)
	e, err := s.find(want.Policy)
	k.add(err != nil, "there is no policy %s", quote(want.Policy))
	if err == nil && !slices.Contains(who.Roles, RoleAdmin) {
		k.relaxes(s, e, now, want)
	}
	return k.err()
}

func (c *checker) relaxes(s *Set, e *Engine, now *Choice, want Choice) {
	same := now != nil && s.same(now.Policy, want.Policy)
	c.add(!same && !e.policy.Pickable && e.policy.Name != s.first, "the policy %s may be chosen by an admin only", quote(want.Policy))
	if now == nil {
		return
	}
	for _, r := range now.Added {
		c.add(!slices.Contains(want.Added, r), "the added rule %s may be taken away by an admin only", quote(r.ID))
	}
	was, err := s.find(now.Policy)
	c.add(!same && (err != nil || !stricter(e.policy, was.policy)), "the policy %s is not stricter than %s in everything; an admin may choose it", quote(want.Policy), quote(now.Policy))
}

func (s *Set) same(a, b string) bool {
	for _, p := range []*string{&a, &b} {
		if *p == "" {
			*p = s.first
		}
	}
	return a == b
}

// stricter says that a policy allows nothing that another does not: it has all its denying rules, those that ask as asking or denying ones,
// no allowing rule of its own, no wider lists, no lower risks and no higher thresholds, and that it asks about the plan and the result too.
func stricter(a, b Policy) bool {
	return covers(a.Rules, b.Rules) && extensions(a.Extensions, b.Extensions) && levels(a.Levels, b.Levels) &&
		a.Thresholds.Files <= b.Thresholds.Files && a.Thresholds.Bytes <= b.Thresholds.Bytes && (b.AllowHigh || !a.AllowHigh) &&
		(a.AskPlan || !b.AskPlan) && (a.AskResult || !b.AskResult) && shapes(a.Secrets, b.Secrets)
}

// shapes says that all of b stand in a.
func shapes(a, b []Shape) bool {
	return !slices.ContainsFunc(b, func(s Shape) bool {
		return !slices.ContainsFunc(a, func(o Shape) bool { return reflect.DeepEqual(o, s) })
	})
}

func covers(a, b []Rule) bool {
	has := func(rules []Rule, r Rule, effects ...Effect) bool {
		return slices.ContainsFunc(rules, func(o Rule) bool {
			fits := slices.Contains(effects, o.Effect)
			o.ID, o.Reason, o.Effect = r.ID, r.Reason, r.Effect
			return fits && o == r
		})
	}
	for _, r := range b {
		switch r.Effect.verdict() {
		case Deny:
			if !has(a, r, EffectDeny) {
				return false
			}
		case Ask:
			if !has(a, r, EffectAsk, EffectDeny) {
				return false
			}
		case Allow:
		}
	}
	return !slices.ContainsFunc(a, func(r Rule) bool { return r.Effect.verdict() == Allow && !has(b, r, EffectAllow) })
}

func extensions(a, b Extensions) bool {
	folded := func(list []string) (out []string) {
		for _, s := range list {
			out = append(out, strings.ToLower(s))
		}
		return out
	}
	return contains(folded(b.Allow), folded(a.Allow)) && contains(folded(a.Deny), folded(b.Deny))
}

func contains[T comparable](all, part []T) bool {
	return !slices.ContainsFunc(part, func(p T) bool { return !slices.Contains(all, p) })
}

// levels compares field by field: each must be as high.
func levels(a, b Levels) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Field(i).Uint() < y.Field(i).Uint() {
			return false
		}
	}
	return true
}
