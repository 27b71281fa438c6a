package gate

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// gateName is who closes what nobody decided.
const gateName = "gate"

// details are what a row says of an approval beside its fields: ids and words, never content (S22).
type details struct {
	Approval   string     `json:"approval"`
	Kind       canon.Kind `json:"kind"`
	Tool       string     `json:"tool,omitempty"`
	Scope      string     `json:"scope,omitempty"`
	Path       string     `json:"path,omitempty"`
	Standing   string     `json:"standing,omitempty"`
	Words      bool       `json:"words,omitempty"`
	Unshown    bool       `json:"acknowledged_unshown,omitempty"`
	ReplacedBy string     `json:"replaced_by,omitempty"`
	Expires    string     `json:"expires,omitempty"`
	Token      string     `json:"token,omitempty"`
	Field      string     `json:"field,omitempty"`
	Want       canon.Hash `json:"want_digest,omitempty"`
	Got        string     `json:"got_digest,omitempty"`
	// Reason is the whole of one that is too long for its field.
	Reason string `json:"reason,omitempty"`
}

// Rows are the rows of the audit for the approvals that Settle, or a Ruling's Record, has changed: what was asked, decided, changed,
// extended and closed, and by whom. That a call has begun is told by its INTENT, and is none of these.
func Rows(changed []Approval, c Change) []audit.Entry {
	var out []audit.Entry
	for _, a := range changed {
		if late := a.LateDenial; late != nil && late.Seq == c.Seq {
			out = append(out, a.decisionRow(audit.LateDenial, *late))
		}
		switch d := a.Decision; {
		case d != nil && d.Seq == c.Seq:
			out = append(out, a.decisionRow(decisionKinds[d.Decision], *d))
		case a.StateSeq == c.Seq && a.State != Consumed:
			out = append(out, a.stateRow(c))
		case a.State == Pending:
			out = append(out, a.row(audit.Extend, c, "EXTENDED", "", details{Expires: a.Expires.UTC().Format(time.RFC3339)}))
		}
	}
	return out
}

var decisionKinds = map[session.Decision]audit.Kind{
	session.Approve: audit.Approve, session.Deny: audit.Deny, Edit: audit.Edit, session.Happened: audit.Outcome, session.DidNotOccur: audit.Outcome,
}

func (a Approval) decisionRow(kind audit.Kind, d Decision) audit.Entry {
	c := Change{At: d.At, Actor: audit.Actor{Name: d.Name, Kind: audit.Person}}
	return a.row(kind, c, string(d.Decision), d.Reason, details{
		Scope: string(d.Scope), Path: d.Path, Standing: d.Standing, Words: d.Words, Unshown: d.Unshown, ReplacedBy: a.ReplacedBy, Token: d.Token,
	})
}

// stateRow tells what happened without a decision.
func (a Approval) stateRow(c Change) audit.Entry {
	kinds := map[State]audit.Kind{
		Pending: audit.Ask, Expired: audit.Expiry, Canceled: audit.Cancel, Superseded: audit.Supersede, Voided: audit.Void,
	}
	switch a.State {
	case Pending:
		reason := ""
		if a.Asked != nil {
			reason = strings.TrimSpace(string(a.Asked.Step) + " " + a.Asked.Rule)
		}
		return a.row(audit.Ask, c, "ASK", reason, details{Expires: a.Expires.UTC().Format(time.RFC3339)})
	case Expired:
		c.Actor = audit.Actor{} // The clock did it, whoever came then.
	}
	return a.row(kinds[a.State], c, string(a.State), string(a.Void), details{})
}

// ExpiresSoon is the verdict of the row by which watchers are told that an approval will expire.
const ExpiresSoon = "EXPIRES_SOON"

// Warning is the row by which watchers are told, once, that it will expire.
func (a Approval) Warning(at time.Time) audit.Entry {
	return a.row(audit.Expiry, Change{At: at}, ExpiresSoon, "nobody has decided about it", details{Expires: a.Expires.UTC().Format(time.RFC3339)})
}

// row fills what all rows have.
func (a Approval) row(kind audit.Kind, c Change, verdict, reason string, d details) audit.Entry {
	d.Approval, d.Kind, d.Tool = a.ID, a.Kind, a.Subject.Tool
	e := audit.Entry{
		Time: c.At, Namespace: a.Namespace, Session: a.Session, Task: a.Task, Turn: a.Turn, Actor: c.Actor, Kind: kind, Verdict: verdict,
		CallHash: string(a.Subject.CallHash), Digest: string(a.Digest), ArgsDigest: string(a.Subject.Args),
	}
	if e.Actor == (audit.Actor{}) {
		e.Actor = audit.Actor{Name: gateName, Kind: audit.System}
	}
	if e.ArgsDigest == "" {
		e.ArgsDigest = string(a.ContentDigest) // A plan, result or outcome has no arguments: what was shown stands for them.
	}
	if t := a.Hashless().Subject.Targets; len(t) == 1 && t[0].Before+t[0].After != "" {
		e.Before, e.After = there(t[0].Before), there(t[0].After)
	}
	if reason == "" {
		reason = verdict
	}
	if e.Reason = cut(reason, audit.MaxText); e.Reason != reason {
		d.Reason = reason
	}
	if text, err := json.Marshal(d); err == nil {
		e.Details = string(text)
	}
	return e
}

func there(h canon.Hash) string {
	if h == "" {
		return audit.Absent
	}
	return string(h)
}

// cut gives at most so many bytes of a text, whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Row is the row of the audit for a request that was refused, with the name that was verified (cases/agent.md c8), and both digests where
// they differ (c4). It belongs to the session of the approval; for a caller of another namespace there is none.
func (r *Refusal) Row(a Approval, who Who, at time.Time) (audit.Entry, bool) {
	if r.Code == NotFound {
		return audit.Entry{}, false
	}
	actor := who.Actor()
	if actor.Name == "" {
		actor = audit.Actor{}
	}
	const maxGot = 128 // bytes of what was sent as a digest; one has 64
	got := strings.ToValidUTF8(cut(string(r.Got), maxGot), "?")
	return a.row(audit.Refusal, Change{At: at, Actor: actor}, string(r.Code), r.Why, details{Token: who.Token, Field: r.Field, Want: r.Want, Got: got}), true
}
