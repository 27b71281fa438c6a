package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// Waiting is what an approval in a list waits for.
type Waiting string

// What is waited for. The zero value: nothing.
const (
	ForDecision Waiting = "DECISION"
	// ForAnswer: a person says whether something happened.
	ForAnswer Waiting = "OUTCOME"
	// ForClosing: its time is over, and the owner of the session closes it next. It cannot be approved any more.
	ForClosing Waiting = "CLOSING"
	// ForStart: it is approved, and its call has not begun (cases/agent.md c11).
	ForStart Waiting = "START"
)

// View is an approval as a list shows it: without its content, and without hashes of what the reader may not see (S21).
type View struct {
	ID       string         `json:"id"`
	Session  string         `json:"session"`
	Kind     canon.Kind     `json:"kind"`
	Tool     string         `json:"tool,omitempty"`
	Paths    []string       `json:"paths,omitempty"`
	Impact   []string       `json:"impact,omitempty"`
	Risk     policy.Risk    `json:"risk"`
	Reasons  []string       `json:"reasons,omitempty"`
	State    State          `json:"state"`
	Waiting  Waiting        `json:"waiting,omitempty"`
	Why      string         `json:"why,omitempty"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires"`
	Left     time.Duration  `json:"expires_in_ns"`
	Warned   bool           `json:"expires_soon,omitempty"`
	Decision *Decision      `json:"decision,omitempty"`
	Targets  []canon.Target `json:"targets,omitempty"`
	Digest   canon.Hash     `json:"digest"`
}

// Waits says what an approval waits for at a time.
func (a Approval) Waits(now time.Time) Waiting {
	switch {
	case a.State == Approved:
		return ForStart
	case a.State != Pending:
		return ""
	case a.Due(now):
		return ForClosing
	case a.Kind == canon.KindOutcome:
		return ForAnswer
	}
	return ForDecision
}

// View gives an approval as a list shows it at a time, in a locale.
func (a Approval) View(now time.Time, locale string) View {
	v := View{
		ID: a.ID, Session: a.Session, Kind: a.Kind, Tool: path(a.Subject.Tool), Risk: a.Risk.Level, Reasons: a.Risk.Sentences(locale), State: a.State,
		Waiting: a.Waits(now), Created: a.Created, Expires: a.Expires, Decision: a.Decision, Digest: a.Digest,
	}
	for _, t := range a.Subject.Targets {
		v.Paths = append(v.Paths, path(t.Path))
	}
	if a.NotShown != Redacted {
		v.Targets = a.Subject.Targets
	}
	for _, l := range a.Points.Impact {
		v.Impact = append(v.Impact, l.In(locale))
	}
	if a.Asked != nil {
		v.Why = a.Asked.Sentence(locale)
	}
	if a.State == Pending {
		v.Left = max(a.Expires.Sub(now), 0)
		v.Warned = !now.Before(a.Warn())
	}
	return v
}

// Inbox gives what waits for a person, of any number of sessions, newest first.
func Inbox(all []Approval, now time.Time, locale string) []View {
	var out []View
	for _, a := range newest(all) {
		if w := a.Waits(now); w == ForDecision || w == ForAnswer {
			out = append(out, a.View(now, locale))
		}
	}
	return out
}

func newest(all []Approval) []Approval {
	return slices.SortedStableFunc(slices.Values(all), func(a, b Approval) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
}

// WaitingOn are the ids of what a session waits for, in the order in which they were made. It is the seed's pending_gate too: that is
// whether there are any (C16; cases/agent.md c13). It goes by the state alone, not by the clock, so every reader of one version of the session
// sees the same.
func WaitingOn(all []Approval) []string {
	var waiting []Approval
	for _, a := range all {
		if a.State == Pending {
			waiting = append(waiting, a)
		}
	}
	slices.SortFunc(waiting, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
	var out []string
	for _, a := range waiting {
		out = append(out, a.ID)
	}
	return out
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
