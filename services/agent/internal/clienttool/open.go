package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// OpenCall is what a client has to do.
type OpenCall struct {
	// Call is the id under which the result is submitted.
	Call, Tool string
	// Args are exactly the bytes that were judged and, where a person was asked, approved: JSON with its defaults.
	Args string
	// Until is when its time is over.
	Until time.Time
}

// Open gives what the client of a session has to do now, from what is stored alone. *ledger.BrokenError.
func (d *Desk) Open(ctx context.Context, ns string, s ledger.Session) (all []OpenCall, err error) {
	err = d.ledger.Read(ctx, ns, func(v store.View) error {
		all = nil
		for _, c := range s.State.Calls {
			if c.Progress != session.Intent {
				continue
			}
			found, err := callOf(v, s, c.ID, d.clock.Now())
			if err != nil {
				return err
			}
			if found.result == nil && found.refused == nil {
				all = append(all, OpenCall{Call: c.ID, Tool: found.intent.Tool, Args: found.intent.Args, Until: found.until})
			}
		}
		return nil
	})
	return all, err
}

// call is a call as it stands.
type call struct {
	intent router.Intent
	until  time.Time
	// result is the one that was taken, refused why none is taken any more. Where both are nil the call is open.
	result  *Result
	refused *RefusedError
}

// look gives a call as it is stored.
func (d *Desk) look(ctx context.Context, ns, session, id string) (c call, err error) {
	now := d.clock.Now()
	err = d.ledger.Look(ctx, ns, session, func(s ledger.Session, v store.View) (err error) {
		c, err = callOf(v, s, id, now)
		return err
	})
	return c, err
}

// readable says which text of a call cannot be read, if one cannot: then the session cannot be shown.
func readable(s ledger.Session, what, call string, err error) error {
	if err == nil {
		return nil
	}
	return &ledger.BrokenError{Session: s.ID, Err: fmt.Errorf("%s of call %s: %w", what, call, err)}
}

// callOf finds a call of a client. now is read before v. *ledger.BrokenError.
func callOf(v store.View, s ledger.Session, id string, now time.Time) (c call, err error) {
	text, err := v.Text(s.ID, resultText(id))
	if err == nil {
		err = readable(s, "the result", id, json.Unmarshal(text.Body, &c.result))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return call{}, err
	}
	i := slices.IndexFunc(s.State.Calls, func(c session.Call) bool { return c.ID == id })
	text, err = v.Text(s.ID, ledger.IntentText(id))
	switch {
	case errors.Is(err, store.ErrNotFound) && i < 0:
		c.refused = refuse(Unknown, "there is no call %q in this session", id)
		return c, nil
	case errors.Is(err, store.ErrNotFound):
		c.refused = refuse(NotOpen, "the call %q has not begun: it is %s", id, s.State.Calls[i].Progress)
		return c, nil
	case err != nil:
		return call{}, err
	}
	if err := readable(s, "the INTENT", id, json.Unmarshal(text.Body, &c.intent)); err != nil {
		return call{}, err
	}
	if !slices.ContainsFunc(s.Tools, func(d tool.Definition) bool { return d.Full() == c.intent.Tool }) {
		c.refused = refuse(Unknown, "the call %q is of the tool %q, which no client carries out", id, c.intent.Tool)
		return c, nil
	}
	c.until = s.Calls[id].Client
	c.refused = over(s.State, i, c.until, now)
	return c, nil
}

// over says why no result is taken any more of a call that has begun; nil: it is open.
func over(s session.State, i int, until, now time.Time) *RefusedError {
	switch {
	case i < 0:
		return refuse(Closed, "the call is over, and the session has gone on")
	case s.Calls[i].Progress != session.Intent:
		return refuse(Closed, "the call is over: it is %s", s.Calls[i].Progress)
	case s.Lifecycle != session.Open || s.Turn.Running != session.Working:
		return refuse(Closed, "the work was stopped before the result came")
	case !now.Before(until):
		return refuse(Late, "the time of the call was over at %s", until.UTC().Format(time.RFC3339))
	}
	return nil
}
