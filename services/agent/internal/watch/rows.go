package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
)

// details are what rows say beside their fields, of whichever package they are.
type details struct {
	ledger.Details
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Approval string `json:"approval"`
	Code     string `json:"code"`
}

// event is what a row tells.
func (w *Stream) event(ctx context.Context, r audit.Row) (Event, error) {
	e := Event{Seq: int64(r.Seq), Time: r.Time, Of: Record{r}}
	var d details
	if r.Details != "" && json.Unmarshal([]byte(r.Details), &d) != nil {
		return e, nil //nolint:nilerr // The row stands as it is.
	}
	var err error
	switch {
	case r.Verdict == turn.DialogWarning:
		e.Of = Warning{Code: d.Code, Text: r.Reason}
	case r.Kind == audit.Aside && r.Verdict == turn.AsideAnswered:
		e.Of, err = w.aside(ctx, r)
	case r.Kind == audit.Refusal:
		e.Of = refused(r, d)
	case r.Kind == audit.Transition:
		e.Of = StateChange{d.Note}
	case r.Kind == audit.Turn && d.To == session.ToAnswered:
		e.Of, err = w.answer(ctx, r, d)
	case r.Kind == audit.Turn && d.Of == session.OfTurn && d.To != session.ToPickedUp:
		e.Of = turnChange(d)
	case d.Of == session.OfQueue:
		e.Of, err = w.queued(ctx, d)
	case d.Approval != "" && d.Call == "":
		e.Of, err = w.approval(ctx, r, d)
	case d.Call != "":
		e.Of, err = w.call(ctx, r, d)
	}
	if e.Of == nil {
		e.Of = Record{r}
	}
	return e, err
}

func refused(r audit.Row, d details) any {
	return Refused{Reason: cmp.Or(string(d.Reason), d.Code, r.Verdict), Why: cmp.Or(d.Text, r.Reason), Allowed: d.Allowed}
}

func turnChange(d details) any {
	c := TurnChange{Turn: d.ID, Running: session.Running(d.To), Stopped: d.To == "", Reason: string(d.Reason)}
	switch {
	case c.Stopped:
		c.Detail = d.Text
	case d.To == string(session.Working) && d.From == "", c.Running == session.Stopping:
		c.Message = d.Text
	case c.Running == session.Parked:
		c.Reason = d.Text
	}
	return c
}

// queued is about a message that waits, or was closed.
func (w *Stream) queued(ctx context.Context, d details) (c TurnChange, err error) {
	c = TurnChange{Reason: d.To, Message: d.ID}
	if d.To == session.MessageClosed {
		c.Text, err = w.Texts.Message(ctx, w.ns, w.id, d.ID)
	}
	return c, err
}

func (w *Stream) answer(ctx context.Context, r audit.Row, d details) (any, error) {
	if d.Answer == "" {
		return Record{r}, nil
	}
	env, ok, err := w.Texts.Answer(ctx, w.ns, w.id, d.Answer)
	if err != nil || !ok {
		return Record{r}, err
	}
	return Answer{env}, nil
}

// approval gives the approval as it is now; where that was taken away, or cannot be read, the row.
func (w *Stream) approval(ctx context.Context, r audit.Row, d details) (any, error) {
	c := ApprovalChange{Row: r, Change: strings.ToUpper(string(r.Kind))}
	if r.Verdict == gate.ExpiresSoon {
		c.Change = gate.ExpiresSoon
	}
	err := w.Ledger.Read(ctx, w.ns, func(v store.View) error {
		found, err := v.Approval(d.Approval)
		if err == nil {
			c.Approval, err = ledger.Approval(found)
		}
		return err
	})
	var broken *ledger.BrokenError
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &broken) {
		return Record{r}, nil
	}
	return c, err
}

func (w *Stream) aside(ctx context.Context, r audit.Row) (any, error) {
	var d struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(r.Details), &d) != nil {
		return Record{r}, nil //nolint:nilerr // The row stands as it is.
	}
	a, err := w.Texts.Aside(ctx, w.ns, w.id, d.Message)
	return Aside{Message: d.Message, Reply: a.Text}, err
}

// Begun is the state of a call that has begun.
const Begun = "BEGUN"

func (w *Stream) call(ctx context.Context, r audit.Row, d details) (any, error) {
	c := CallChange{Call: d.Call, Tool: d.Tool, State: r.Verdict, Reason: r.Reason}
	var err error
	switch r.Kind {
	case audit.Intent:
		c.State = Begun
	case audit.Execute, audit.Failure, audit.UnknownOutcome, audit.Void, audit.Deny, audit.Allow:
		result, e := w.Texts.Result(ctx, w.ns, w.id, d.Call)
		c.Result, err = result.Text, e
	default:
	}
	return c, err
}
