package story

import (
	"cmp"
	"fmt"
	"slices"
)

// Rule bounds a block, in tokens as Block.Tokens tells them, heading and fences included. At most one for each kind.
type Rule struct {
	// Kind is one of the pinned blocks (KindReference, KindSummary, KindMemory, KindNote), or KindBody with Min alone: so
	// much is left to the text instead of TextPercent, as far as it has as much and the pinned blocks can give way.
	Kind Kind
	// Min is what the block is not trimmed below for want of room in the window. Max it never has more than; 0: no such limit.
	Min int
	Max int
	// Priority decides which block is trimmed first when not all fit: that of the lowest. Nil: that of the kind.
	Priority *int
	// Trim is the side at which the block gives way; empty: that of the kind.
	Trim Trim
}

// Trim is the side at which a pinned block gives way.
type Trim string

// The sides.
const (
	TrimNone   Trim = "none"
	TrimTop    Trim = "top"
	TrimBottom Trim = "bottom"
)

// MaxPriority is the highest priority of a block, the lowest is 0.
const MaxPriority = 100

// pinnedKinds are the blocks that are not cut with the text, from the one that gives way first. A summary gives way at its
// top, which tells what is longest ago.
var pinnedKinds = []struct {
	kind     Kind
	priority int
	// side is where it is trimmed under a rule that does not say, without where it is without a rule.
	side, without Trim
	// field is that of the request that it comes from.
	field string
}{
	{KindSummary, 1, TrimTop, TrimTop, "summary"},
	{KindMemory, 2, TrimBottom, TrimBottom, "memory"},
	{KindNote, 3, TrimBottom, TrimNone, "story.note"},
	{KindReference, 4, TrimBottom, TrimNone, "story"},
}

// Bounded are the blocks that a rule may bound.
func Bounded() []Kind {
	all := []Kind{KindBody}
	for _, p := range pinnedKinds {
		all = append(all, p.kind)
	}
	return all
}

// isPinned says that a block is not part of the text.
func isPinned(kind Kind) bool { return fieldOf(kind) != "" }

// fieldOf is the field of the request that a pinned block comes from; empty for a block that is not pinned.
func fieldOf(kind Kind) string {
	for _, p := range pinnedKinds {
		if p.kind == kind {
			return p.field
		}
	}
	return ""
}

// rules are those that hold: one for each pinned block, from the one that gives way first, and that of the body last, where
// there is one.
func (r Request) rules() []Rule {
	var all []Rule
	for _, p := range pinnedKinds {
		rule := Rule{Kind: p.kind, Trim: p.without}
		if said := r.rule(p.kind); said != nil {
			rule = *said
			rule.Trim = cmp.Or(rule.Trim, p.side)
		}
		if rule.Priority == nil {
			rule.Priority = &p.priority
		}
		all = append(all, rule)
	}
	slices.SortStableFunc(all, func(a, b Rule) int { return cmp.Compare(*a.Priority, *b.Priority) })
	if body := r.rule(KindBody); body.bounds() {
		all = append(all, *body)
	}
	return all
}

// rule is the rule of a kind that the request brings, nil where there is none.
func (r Request) rule(kind Kind) *Rule {
	for i := range r.Blocks {
		if r.Blocks[i].Kind == kind {
			return &r.Blocks[i]
		}
	}
	return nil
}

// bounds says that there is a rule for the body and that it asks for something: with nothing asked for it only stands instead
// of that of a preset.
func (r *Rule) bounds() bool { return r != nil && r.Min > 0 }

// overRules puts rules over others, kind by kind.
func overRules(rules, others []Rule) []Rule {
	all := slices.Clone(rules)
	for _, other := range others {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Kind == other.Kind }) {
			all = append(all, other)
		}
	}
	return all
}

// blocks finds what is wrong with the blocks of a request that the program of seed 000 does not have, and with the rules.
func (v *violations) blocks(r Request) {
	v.size("summary", r.Work.Summary, MaxText)
	v.size("memory", r.Work.Memory, MaxText)
	if n := r.TextPercent; n < 0 || n > 100 {
		v.add("text_percent", "must be from 1 to 100, or 0 for %d, and is %d", defaultTextPercent, n)
	}
	seen := map[Kind]int{}
	for i, rule := range r.Blocks {
		field := fmt.Sprintf("blocks[%d].", i)
		if first, twice := seen[rule.Kind]; twice {
			v.add(field+"kind", "is the same as in blocks[%d]; a kind has one rule", first)
		} else {
			seen[rule.Kind] = i
		}
		v.rule(field, rule)
	}
}

// rule finds what is wrong with a rule whose field begins so.
func (v *violations) rule(field string, r Rule) {
	switch {
	case r.Kind == KindBody:
		if r.Max != 0 || r.Priority != nil || r.Trim != "" {
			v.add(field+"kind", "takes min_tokens alone: the text has what the other blocks leave")
		}
	case r.Kind == "":
		v.add(field+"kind", "is required")
	case !isPinned(r.Kind):
		word(v, field+"kind", r.Kind, Bounded()...)
	}
	if r.Min < 0 {
		v.add(field+"min_tokens", "must be 0 or a positive number, and is %d", r.Min)
	}
	switch {
	case r.Max < 0:
		v.add(field+"max_tokens", "must be 0 for no limit or a positive number, and is %d", r.Max)
	case r.Max > 0 && r.Max < r.Min:
		v.add(field+"max_tokens", "is %d, less than min_tokens, which is %d", r.Max, r.Min)
	case r.Max > 0 && r.Trim == TrimNone:
		v.add(field+"max_tokens", "is given, and trim says that the block does not give way; one that may be too large must, at its top or bottom")
	}
	if p := r.Priority; p != nil && (*p < 0 || *p > MaxPriority) {
		v.add(field+"priority", "must be from 0 to %d, and is %d", MaxPriority, *p)
	}
	word(v, field+"trim", r.Trim, TrimNone, TrimTop, TrimBottom)
}
