package ledger

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// kinds are those of the rows that tell how far a call is.
var kinds = map[session.Progress]audit.Kind{
	session.Pending: audit.Ask, session.Permitted: audit.Allow, session.Approved: audit.Approve, session.Denied: audit.Deny, session.Expired: audit.Expiry,
	session.Superseded: audit.Supersede, session.CallCanceled: audit.Cancel, session.Intent: audit.Intent, session.Executed: audit.Execute,
	session.CallFailed: audit.Failure, session.OutcomePending: audit.UnknownOutcome, session.Unknown: audit.UnknownOutcome,
	session.NotHappened: audit.Outcome, session.Voided: audit.Void,
}

// approvals are those of the rows that tell of an approval alone.
var approvals = map[string]audit.Kind{"EDITED": audit.Edit, "EXTENDED": audit.Extend, "late_denial": audit.LateDenial, "CONSUMED": audit.Transition}

// entry is the row of a note.
func (w *Work) entry(n session.Note) audit.Entry {
	e := audit.Entry{Kind: audit.Transition, Verdict: verdict(n), Reason: reason(n), Details: details(n)}
	switch n.Of {
	case session.OfTurn, session.OfQueue, session.OfQuestion:
		e.Kind = audit.Turn
		if n.Of == session.OfTurn {
			e.Turn = n.ID
		}
	case session.OfRefusal:
		e.Kind, e.ArgsDigest = audit.Refusal, string(w.Asked)
		if w.Asked == "" {
			e.ArgsDigest = string(canon.Sum([]byte(e.Details)))
		}
	case session.OfCall:
		e.Kind = kinds[session.Progress(n.To)]
		if session.Progress(n.From) == session.OutcomePending && n.To == string(session.Executed) {
			e.Kind = audit.Outcome
		}
		w.call(&e, n.ID)
	case session.OfApproval:
		e.Kind = approvals[n.To]
		w.call(&e, w.asked[n.ID])
	}
	return w.complete(e)
}

// call names the call of a row by its hashes.
func (w *Work) call(e *audit.Entry, id string) {
	c := w.Session.Calls[id]
	e.CallHash, e.ArgsDigest, e.Before, e.After, e.Digest = c.Hash, c.Args, c.Before, c.After, w.digests[id]
}

func verdict(n session.Note) string {
	switch {
	case n.Of == session.OfRefusal:
		return "REFUSED"
	case n.To == "late_denial":
		return "LATE_DENIAL"
	case n.Of == session.OfTurn && n.To == "":
		return "STOPPED"
	case n.Of == session.OfTurn:
		return map[string]string{"run": "RUNS", "wait": "WAITS", "park": "PARKED", "stopping": "STOPPING", "answered": "ANSWERED", "picked_up": "PICKED_UP"}[n.To]
	}
	return n.To
}

// reason is why, in a word or a sentence; every row has one.
func reason(n session.Note) string {
	switch {
	case n.Reason != "":
		return string(n.Reason)
	case n.Trigger != "":
		return string(n.Trigger)
	}
	return string(n.Of)
}

// details are the note itself.
func details(n session.Note) string {
	raw, err := json.Marshal(n)
	if err != nil {
		return ""
	}
	out, err := canon.JSON(raw)
	if err != nil {
		return "" // A text that no canonical form has: the row stands without it.
	}
	return string(out)
}
