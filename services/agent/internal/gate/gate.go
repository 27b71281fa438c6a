// Package gate holds approvals: what a person is shown of a call, a plan or a result, who may decide about it and how, and what
// becomes of it (field/agent.md 6; field/review-agent.md 2c, S5 to S9, S17, S20 to S24, S28, C32 to C37, C56 to C59, C74, C75).
//
// Three things are kept apart. An Approval is the record: small, without what is shown. A Content is what is shown, with the
// arguments: only approvers read it, and it goes after a time (S22). The state of the session says what may start, and Settle is the
// only way by which an approval follows it: whatever Machine.Apply notes, the record says the same.
//
// Everything here is a function of values. Whoever stores an approval calls Decide, Machine.Apply and Settle in one transaction, on
// what that transaction has read, so that of any number of decisions one counts (C56).
//
// What a model says is shown under its name and changes nothing that is computed: not the risk downwards, not what is written, not
// who may decide (cases/agent.md c28).
package gate

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Times of an approval.
const (
	// DefaultLife is how long an approval waits for its decision.
	DefaultLife = 15 * time.Minute
	// MinLife is the shortest that may be configured.
	MinLife = time.Second
	// MaxLife is how long it may wait at most, with every extension (C74).
	MaxLife = 24 * time.Hour
	// StartWithin is how long after its approval a call must have started (C37). It cannot be extended.
	StartWithin = 15 * time.Minute
	// WarnBefore is how long before its end watchers are warned; of a short life it is the last third.
	WarnBefore = 3 * time.Minute
)

// MaxPending is how many approvals of a session wait at once (S28).
const MaxPending = 8

// version is that of the record. One of another version is not decided upon.
const version = 1

// State is how far an approval is (field/review-agent.md 2c). The zero value is none.
type State string

// The states. Only Pending and Approved have a next one.
const (
	Pending     State = "PENDING"
	Approved    State = "APPROVED" // and not consumed yet
	Consumed    State = "CONSUMED" // its call has begun, or its row of the table was taken
	Denied      State = "DENIED"
	Expired     State = "EXPIRED"
	Canceled    State = "CANCELED"
	Superseded  State = "SUPERSEDED"
	Edited      State = "EDITED" // another one has its place: ReplacedBy
	Voided      State = "VOIDED" // approved, and will never run: Void says why
	Happened    State = "HAPPENED"
	NotHappened State = "NOT_HAPPENED"
)

// Open says that something may still become of it.
func (s State) Open() bool { return s == Pending || s == Approved }

// Approval is the record of what a person is asked, or was. It is stable JSON, and holds no content (S22).
type Approval struct {
	V  int    `json:"v"`
	ID string `json:"id"`
	// Namespace, Session and Task are what its digest is bound to (S5); Turn is the open turn, Call the id of the model's call, or of
	// its plan or result.
	Namespace string `json:"namespace"`
	Session   string `json:"session"`
	Task      string `json:"task"`
	Turn      string `json:"turn"`
	Call      string `json:"call"`
	// Salt is what nobody reads, and makes its digest and the hash of this record such that their other fields cannot be found by trial (S21).
	Salt string `json:"salt,omitempty"`
	// Seq is the number of the session's record that raised it, Place which of its calls it is for, from 0.
	Seq   int64      `json:"seq"`
	Place int        `json:"place,omitempty"`
	Kind  canon.Kind `json:"kind"`
	// Subject is what the decision is about.
	Subject Subject `json:"subject"`
	// Digest is sent back by whoever decides. ContentDigest binds what is shown to it; it is sent back too where that has several
	// Pages (S23).
	Digest        canon.Hash `json:"digest"`
	ContentDigest canon.Hash `json:"content_digest"`
	Pages         int        `json:"pages"`
	// Hidden says that something of it is not shown; NotShown says why.
	Hidden   bool     `json:"hidden,omitempty"`
	NotShown NotShown `json:"not_shown,omitempty"`
	// Risk is computed. Asked is the rule, or other reason, why a person is asked; of tool calls alone.
	Risk  policy.Assessment `json:"risk"`
	Asked *policy.Look      `json:"asked,omitempty"`
	// Points are what a person goes by, Offers the scopes beyond this one call that may be chosen, word for word.
	Points   Points  `json:"points"`
	Offers   []Offer `json:"offers,omitempty"`
	Warnings []Line  `json:"warnings,omitempty"`
	// Created and Expires are by the server's clock. Since is when it was first asked, before any edit: MaxLife counts from there.
	Created time.Time `json:"created"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	// Requester is whose message led to it, Owner who made the session; Editors have changed the arguments, in order (S7).
	Requester string   `json:"requester"`
	Owner     string   `json:"owner,omitempty"`
	Editors   []string `json:"editors,omitempty"`
	// EditedFrom is the approval whose place it has, ReplacedBy the one that has its place.
	EditedFrom string `json:"edited_from,omitempty"`
	ReplacedBy string `json:"replaced_by,omitempty"`
	// State, since when, and by which record of the session.
	State    State     `json:"state"`
	StateAt  time.Time `json:"state_at"`
	StateSeq int64     `json:"state_seq"`
	// Decision is what was decided; LateDenial what came too late (C35).
	Decision   *Decision `json:"decision,omitempty"`
	LateDenial *Decision `json:"late_denial,omitempty"`
	// ConsumedAt is when its call began. Void is why it was voided.
	ConsumedAt time.Time      `json:"consumed_at,omitzero"`
	Void       session.Reason `json:"void_reason,omitempty"`
}

// Subject is what an approval is about, by hashes: which fields are set depends on the kind.
type Subject struct {
	// Tool, Server, Definition, Root and Args are those of a tool call, or of the call of an outcome. Args is the hash of its
	// canonical arguments, which are in the Content, and ArgsBytes their size.
	Tool       string     `json:"tool,omitempty"`
	Server     string     `json:"server,omitempty"`
	Definition canon.Hash `json:"definition,omitempty"`
	Root       string     `json:"root,omitempty"`
	Args       canon.Hash `json:"args_digest,omitempty"`
	ArgsBytes  int        `json:"args_bytes,omitempty"`
	CallHash   canon.Hash `json:"call_hash,omitempty"`
	// Targets are what changes, with the hashes before and after. Process is of exec.
	Targets []canon.Target `json:"targets,omitempty"`
	Process *canon.Process `json:"process,omitempty"`
	// Items are of a plan, Executed of a result.
	Items    *canon.Items     `json:"items,omitempty"`
	Executed []canon.Executed `json:"executed,omitempty"`
	// Intent is the number of the record by which the call of an outcome began, Attempt which attempt it was.
	Intent  int64 `json:"intent,omitempty"`
	Attempt int64 `json:"attempt,omitempty"`
}

// Decision is what somebody decided. Name and Token are as authentication has verified them (S10).
type Decision struct {
	Approval string           `json:"approval"`
	Decision session.Decision `json:"decision"`
	Name     string           `json:"name"`
	Token    string           `json:"token,omitempty"`
	At       time.Time        `json:"at"`
	// Seq is the number of the record that tells it.
	Seq    int64  `json:"seq,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Scope and Path are as chosen; Standing is the id of the rule that came of it.
	Scope    policy.Scope `json:"scope,omitempty"`
	Path     string       `json:"path,omitempty"`
	Standing string       `json:"standing,omitempty"`
	// Words says that it came as words in the conversation, Unshown that not all was shown and this was acknowledged.
	Words   bool `json:"words,omitempty"`
	Unshown bool `json:"acknowledged_unshown,omitempty"`
	// Start is until when an approved call must have started (C37).
	Start time.Time `json:"start_by,omitzero"`
}

// Partial says that it was not shown whole in one piece: then words do not approve it, and it gets no scope (S20, S23).
func (a Approval) Partial() bool { return a.Hidden || a.Pages > 1 }

// HighRisk says that its risk is HIGH, or not known.
func (a Approval) HighRisk() bool { return !a.Risk.Level.Known() || a.Risk.Level == policy.High }

// Due says that its time for a decision is over.
func (a Approval) Due(now time.Time) bool { return !now.Before(a.Expires) }

// Warn is when watchers are warned that it will expire.
func (a Approval) Warn() time.Time {
	return a.Expires.Add(-min(WarnBefore, a.Expires.Sub(a.Created)/3))
}

// Authors are who asked for what would run: where the requester may not approve, none of them may.
func (a Approval) Authors() []string { return append([]string{a.Requester}, a.Editors...) }

// clone gives a copy that shares nothing that is changed here.
func (a Approval) clone() Approval {
	a.Editors, a.Warnings = slices.Clone(a.Editors), slices.Clone(a.Warnings)
	return a
}
