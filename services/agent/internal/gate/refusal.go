package gate

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// Code is why a decision is refused.
type Code string

// The codes.
const (
	// NotFound: there is no such approval for this caller, as for any other id (S13).
	NotFound Code = "NOT_FOUND"
	// NotPerson: a token of a session, which would decide for itself (cases/agent.md c2), or nobody.
	NotPerson Code = "NOT_A_PERSON"
	// NotApprover: the caller has not the role.
	NotApprover Code = "NOT_AN_APPROVER"
	// OwnRequest: the caller asked for it or changed it, and may not approve that (cases/agent.md c8).
	OwnRequest Code = "OWN_REQUEST"
	// Invalid: a field of the request is wrong; Field says which.
	Invalid Code = "INVALID"
	// WrongAnswer: a decision that does not fit the kind.
	WrongAnswer Code = "WRONG_ANSWER"
	// WrongDigest: it is not what was shown. Want and Got are both digests.
	WrongDigest Code = "WRONG_DIGEST"
	// Unread: the content digest of the last page is missing, or another (S23).
	Unread Code = "UNREAD"
	// Unshown: not all is shown, and this was not acknowledged.
	Unshown Code = "UNSHOWN"
	// NeverUnshown: what is not shown may not be approved here.
	NeverUnshown Code = "NEVER_UNSHOWN"
	// NotByWords: words do not decide this (S20).
	NotByWords Code = "NOT_BY_WORDS"
	// NotOffered: the scope is not one of the offers.
	NotOffered Code = "NOT_OFFERED"
	// TooManyRules: the session has as many standing rules as it may have.
	TooManyRules Code = "TOO_MANY_RULES"
	// Over: its time is over. Nothing runs.
	Over Code = "EXPIRED"
	// Closed: it was decided otherwise, or closed.
	Closed Code = "CLOSED"
	// BadEdit: the changed call is not that of this approval, or changes nothing.
	BadEdit Code = "BAD_EDIT"
	// TooLong: more life than an approval may have, or none more.
	TooLong Code = "TOO_LONG"
	// Broken: the record or its content is not as it was made.
	Broken Code = "BROKEN"
	// Foreign: the record is of another version of this program.
	Foreign Code = "OTHER_VERSION"
)

// Refusal says why a decision is not taken. It is an error.
type Refusal struct {
	Code     Code
	Approval string
	// Why is a sentence for the caller.
	Why string
	// Field is that of an Invalid request, and of Unread and NotOffered where one alone is wrong. Want and Got are of WrongDigest and Unread.
	Field     string
	Want, Got canon.Hash
}

func (r *Refusal) Error() string { return r.Why }

func refuse(a Approval, code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Approval: a.ID, Why: fmt.Sprintf(format, args...)}
}
