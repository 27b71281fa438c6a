package policy

import (
	"fmt"
	"maps"
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
		return nil, &Error{[]string{"there is no policy " + quote(name) + "; there are " + strings.Join(slices.Sorted(maps.Keys(s.engines)), ", ")}}
	}
	return e, nil
}

// AddedFault is something that is wrong with the rules that a caller adds: with the one of an index, or, where that is -1, with all of them. Field is
// `effect`, `id`, or empty for the rule.
type AddedFault struct {
	Index          int
	Field, Problem string
}

// CheckAdded looks at rules of a caller. Their ids begin with AddedPrefix, so that they are never taken for those of the configuration.
func CheckAdded(rules []Rule) (faults []AddedFault) {
	if len(rules) > MaxAdded {
		return []AddedFault{{Index: -1, Problem: fmt.Sprintf("there are %d added rules, at most %d are taken", len(rules), MaxAdded)}}
	}
	seen := map[string]bool{}
	for i, r := range rules {
		ids := seen
		if r.Effect != EffectAsk && r.Effect != EffectDeny {
			faults = append(faults, AddedFault{i, "effect", "must be ASK or DENY: a rule that is added allows nothing"})
			r.Effect = EffectDeny
		}
		if !named(r.ID) || !strings.HasPrefix(r.ID, AddedPrefix) || r.ID == AddedPrefix {
			faults = append(faults, AddedFault{i, "id", fmt.Sprintf("must be %s and a name of your own, of letters, digits, . _ or -, at most %d bytes together, and is %s",
				AddedPrefix, MaxNameBytes, quote(r.ID))})
			r.ID, ids = AddedPrefix+"x", map[string]bool{}
		}
		c := checker{}
		c.rule("the rule", r, ids)
		for _, p := range c.problems {
			faults = append(faults, AddedFault{i, "", p})
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
	k.add(err != nil, "%v", err)
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
		done := "taken away"
		if slices.ContainsFunc(want.Added, func(o Rule) bool { return o.ID == r.ID }) {
			done = "changed"
		}
		c.add(!slices.Contains(want.Added, r), "the added rule %s may be %s by an admin only; others may add rules beside it", quote(r.ID), done)
	}
	if same {
		return
	}
	was, err := s.find(now.Policy)
	if err != nil {
		c.add(true, "the policy %s, which the session has, is not configured any more, so that none can be shown to be stricter; a policy of that name in the configuration repairs the session, or an admin chooses another one", quote(now.Policy))
		return
	}
	why := looser(e.policy, was.policy)
	c.add(why != nil, "the policy %s is not stricter than %s in everything: %s; an admin may choose it", quote(e.policy.Name), quote(was.policy.Name), strings.Join(why, ", "))
}

func (s *Set) same(a, b string) bool {
	for _, p := range []*string{&a, &b} {
		if *p == "" {
			*p = s.first
		}
	}
	return a == b
}
