package clienttool

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Result is what a client says of a call.
type Result struct {
	Text string `json:"text"`
	// Failed: the tool says that it failed.
	Failed bool `json:"failed,omitempty"`
}

func resultText(call string) string { return call + "/submitted" }

// Code is why a result is not taken.
type Code string

// The codes.
const (
	// Unknown: there is no such call of a client.
	Unknown Code = "UNKNOWN"
	// NotOpen: the call has not begun, and perhaps never will.
	NotOpen Code = "NOT_OPEN"
	// Closed: it is over.
	Closed Code = "CLOSED"
	// Late: its time is over.
	Late Code = "LATE"
	// Taken: another result was taken before.
	Taken Code = "TAKEN"
)

// RefusedError is a result that is not taken. Nothing changed.
type RefusedError struct {
	Code Code
	// Why is a sentence for the client.
	Why string
}

func (e *RefusedError) Error() string { return e.Why }

func refuse(code Code, format string, args ...any) *RefusedError {
	return &RefusedError{code, fmt.Sprintf(format, args...)}
}

// check gives what is wrong with a result.
func (r Result) check() (wrong []session.Violation) {
	if len(r.Text) > MaxResult {
		wrong = append(wrong, session.Violation{Field: "output", Description: fmt.Sprintf("must have at most %d bytes, and has %d", MaxResult, len(r.Text))})
	}
	if !utf8.ValidString(r.Text) {
		wrong = append(wrong, session.Violation{Field: "output", Description: "must be UTF-8"})
	}
	return wrong
}

// Submit takes the result of an open call: it is stored, with its row, when Submit returns, and the session is to be carried on. The same
// result again is taken as the first time (replayed), also when the session has gone on. *RefusedError, *ledger.FieldsError, store.ErrNotFound.
func (d *Desk) Submit(ctx context.Context, ns, session, call string, r Result, who audit.Actor) (replayed bool, err error) {
	if wrong := r.check(); wrong != nil {
		return false, &ledger.FieldsError{Wrong: wrong}
	}
	_, err = d.ledger.Change(ctx, ns, session, who, func(w *ledger.Work) (err error) {
		replayed, err = take(w, call, r)
		return err
	})
	return replayed && err == nil, err
}

// take writes a result and its row.
func take(w *ledger.Work, id string, r Result) (replayed bool, err error) {
	c, err := callOf(w.Tx, *w.Session, id, w.Now)
	switch {
	case err != nil:
		return false, err
	case c.result != nil && *c.result == r:
		return true, nil
	case c.result != nil:
		return false, refuse(Taken, "another result of the call %q was taken before", id)
	case c.refused != nil:
		return false, c.refused
	}
	body, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if err := w.PutText(store.Text{Session: w.Session.ID, ID: resultText(id), Body: body}); err != nil {
		return false, err
	}
	details, err := json.Marshal(struct {
		Bytes  int        `json:"bytes"`
		Call   string     `json:"call"`
		Digest canon.Hash `json:"digest"`
		Failed bool       `json:"failed"`
		Tool   string     `json:"tool"`
	}{len(r.Text), id, canon.Sum(body), r.Failed, c.intent.Tool})
	if err != nil {
		return false, err
	}
	w.FromClient(id)
	w.Row(audit.Entry{
		Kind: audit.Submit, Verdict: "SUBMITTED", Reason: "the client gave the result", CallHash: string(c.intent.CallHash),
		Digest: string(c.intent.Digest), ArgsDigest: string(c.intent.ArgsDigest), Details: string(details),
	})
	return false, nil
}
