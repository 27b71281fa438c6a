package gate

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// View is what of an approval depends on who reads it, and when: in their locale, and without hashes of what they may not see (S21).
type View struct {
	Tool    string
	Impact  []string
	Risk    policy.Risk
	Reasons []string
	// Why is the sentence of the rule, or other reason, why a person is asked.
	Why string
	// Warned: it waits, and will expire soon.
	Warned  bool
	Targets []canon.Target
}

// View gives an approval as it is shown at a time, in a locale.
func (a Approval) View(now time.Time, locale string) View {
	v := View{Tool: path(a.Subject.Tool), Risk: a.Risk.Level, Reasons: a.Risk.Sentences(locale), Warned: a.State == Pending && !now.Before(a.Warn())}
	if a.NotShown != Redacted {
		v.Targets = a.Subject.Targets
	}
	for _, l := range a.Points.Impact {
		v.Impact = append(v.Impact, l.In(locale))
	}
	if a.Asked != nil {
		v.Why = a.Asked.Sentence(locale)
	}
	return v
}

// Readable says what a caller may read of an approval: all of it, with its content, as an approver of the namespace; the rest of it as whoever
// it works for, or by a token of its session; or, neither, that there is none (S13, S22).
func (a Approval) Readable(w Who) (all, some bool) {
	switch {
	case w.Namespace != a.Namespace:
		return false, false
	case w.Session != "":
		return false, w.Reaches(a.Session)
	}
	all = w.Name != "" && slices.Contains(w.Roles, policy.RoleApprover)
	return all, all || w.Name != "" && (w.Name == a.Requester || w.Name == a.Owner)
}

// For is an approval as somebody reads it: without hashes of what may not be read, and for whoever may not decide also without what its
// content could be guessed from. false: they may not know of it.
func (a Approval) For(w Who) (Approval, bool) {
	switch all, some := a.Readable(w); {
	case all:
		return a.Hashless(), true
	case some:
		return a.Redact(), true
	}
	return Approval{}, false
}

// Redact is an approval without what its content could be guessed from: hashes, sizes of the diff, the rules on offer. Whoever is given this
// can decide nothing by it.
func (a Approval) Redact() Approval {
	s := a.Subject
	a.Subject = Subject{Tool: s.Tool, Server: s.Server, Root: s.Root, Targets: paths(s.Targets)}
	a.Digest, a.ContentDigest, a.Offers, a.Points.Diff = "", "", nil, DiffStat{}
	for _, d := range []**Decision{&a.Decision, &a.LateDenial} {
		if *d != nil {
			known := **d
			known.Token = ""
			*d = &known
		}
	}
	return a
}

// Hashless is an approval as an approver reads it: where the target may not be read, no hash of it is told (S21).
func (a Approval) Hashless() Approval {
	if a.NotShown == Redacted {
		a.Subject.Targets = paths(a.Subject.Targets)
	}
	return a
}

// paths are targets without hashes.
func paths(all []canon.Target) (out []canon.Target) {
	for _, t := range all {
		out = append(out, canon.Target{Path: t.Path})
	}
	return out
}
