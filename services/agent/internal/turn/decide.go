package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// MaxRefused is how many refused tries at one approval have a row each, whoever makes them: whoever may not decide would else write rows that
// are kept and wake all who watch, without end. The last row says that it is the last. Nothing is stored of a later one, which is refused as
// the ones before and is in the log of calls and their metric. It is more than people mistake, and as much as shows that somebody tries again
// and again. A refusal that changes something, such as that of an approval whose time is over, always has its row.
const MaxRefused = 20

// Decide takes a decision of a person about an approval, and gives the approval as it is then: one that was edited names what has its
// place. A refusal is a row of the audit too, up to MaxRefused. *gate.Refusal, *session.RefusedError, *ledger.ClockBehindError, store.ErrNotFound.
func (e *Engine) Decide(ctx context.Context, ns, approval string, r gate.Request) (gate.Approval, error) {
	where, err := e.where(ctx, ns, approval, r.Who)
	switch {
	case err != nil:
		return gate.Approval{}, err
	case r.Decision == gate.Edit:
		return e.edit(ctx, ns, where, approval, r)
	}
	return e.decide(ctx, ns, where, r.Who.Actor(), func(w *ledger.Work) (gate.Approval, *gate.Refusal, error) {
		return e.take(w, approval, r, nil)
	})
}

// where is the session of an approval. store.ErrNotFound, also for whoever is bound to another session.
func (e *Engine) where(ctx context.Context, ns, approval string, who gate.Who) (where string, err error) {
	err = e.Ledger.Read(ctx, ns, func(v store.View) error {
		found, err := v.Approval(approval)
		where = found.Session
		return err
	})
	if err == nil && !who.Reaches(where) {
		err = store.ErrNotFound
	}
	return where, err
}

// decide has something of an approval change in one transaction. What is refused is written, and is the error.
func (e *Engine) decide(
	ctx context.Context, ns, where string, actor audit.Actor, fn func(*ledger.Work) (gate.Approval, *gate.Refusal, error),
) (out gate.Approval, err error) {
	var refused *gate.Refusal
	_, err = e.Ledger.Change(ctx, ns, where, actor, func(w *ledger.Work) (err error) {
		out, refused, err = fn(w)
		return err
	})
	if err == nil && refused != nil {
		return out, refused
	}
	return out, err
}

// take takes a decision inside the transaction that writes it.
func (e *Engine) take(w *ledger.Work, approval string, r gate.Request, ed *edit) (gate.Approval, *gate.Refusal, error) {
	if a, no, err := e.barred(w, approval, r.Who); err != nil || no != nil {
		return a, no, err
	}
	a, err := w.Approved(approval)
	if err != nil {
		return a, nil, err
	}
	var content gate.Content
	if err := (reader{view: w.Tx, session: w.Session.ID}).json(contentOf(approval), &content); err != nil && !errors.Is(err, store.ErrNotFound) {
		return a, nil, err
	}
	r.Now, r.Seq, r.Rule = w.Now, w.Seq(), e.IDs.ID()
	var stopped *gate.Refusal
	if ed != nil {
		r.Replacement, stopped = ed.replace(e, w, a, r.Who)
	}
	ruling := gate.Decide(a, content, r, e.Terms)
	if no := ruling.Refused; no != nil && no.Code == gate.BadEdit && stopped != nil {
		ruling.Refused = stopped
	}
	if ruling.Standing != nil && len(w.Session.Standing) >= ledger.MaxStanding {
		ruling = tooMany(a)
	}
	if err := e.rule(w, a, r.Who, ruling); err != nil {
		return a, nil, err
	}
	if ed != nil && ruling.Refused == nil && !ruling.Repeated {
		if err := ed.keep(e, w, a, *r.Replacement); err != nil {
			return a, nil, err
		}
	}
	a, err = w.Approved(approval)
	return a, ruling.Refused, err
}

// barred refuses who may not decide about an approval, before anything is done that costs more than to say so: they may try without end.
func (e *Engine) barred(w *ledger.Work, approval string, who gate.Who) (gate.Approval, *gate.Refusal, error) {
	a, err := w.Stored(approval)
	if err != nil {
		return a, nil, err
	}
	no := gate.MayDecide(a, who)
	if no != nil {
		err = e.rule(w, a, who, gate.Ruling{Refused: no})
	}
	return a, no, err
}

// rule writes what becomes of a decision or an extension.
func (e *Engine) rule(w *ledger.Work, a gate.Approval, who gate.Who, ruling gate.Ruling) error {
	if no := ruling.Refused; no != nil {
		if err := refuse(w, a, who, *no, ruling.Event != nil || ruling.Record != nil); err != nil {
			return err
		}
	}
	if ruling.Record != nil {
		if err := w.Keep(*ruling.Record); err != nil {
			return err
		}
		rows(w, gate.Rows([]gate.Approval{*ruling.Record}, ruling.Change))
	}
	said := ruling.Change.Decision
	if said == nil && ruling.Record != nil {
		said = ruling.Record.LateDenial
	}
	if said != nil {
		w.Session.Thread = w.Session.Thread.Decide(decided(a, *said))
	}
	if d := denial(ruling); d != nil {
		if err := e.denied(w, a); err != nil {
			return err
		}
	}
	if ruling.Event == nil {
		return nil
	}
	if err := e.carry(w, ruling.Event, ruling.Change); err != nil {
		return err
	}
	if d := ruling.Change.Decision; d != nil && d.Decision == session.Approve && a.Kind == canon.KindPlan {
		w.Session.Thread = w.Session.Thread.Refer(session.RefPlan + a.ID)
	}
	if err := e.tellDecision(w, a, ruling.Change.Decision); err != nil {
		return err
	}
	if ruling.Standing != nil {
		stand(w, a, *ruling.Standing)
	}
	return nil
}

// refuse writes the row of a refusal. Where there are as many as there may be, and nothing else changes, the refusal is the error, so that the
// change leaves nothing.
func refuse(w *ledger.Work, a gate.Approval, who gate.Who, no gate.Refusal, changes bool) error {
	refusal := no
	tries, err := (reader{view: w.Tx, session: w.Session.ID}).refused(a.ID)
	switch {
	case err != nil:
		return err
	case changes:
	case tries >= MaxRefused:
		return &refusal
	case tries == MaxRefused-1:
		no.Why += fmt.Sprintf(" (%d tries at this approval were refused: those that follow have no row)", MaxRefused)
	}
	row, ok := no.Row(a, who, w.Now)
	if !ok {
		return nil
	}
	w.Row(row)
	return putJSON(w, refusedOf(a.ID), tries+1)
}

// refused is how many refused tries at an approval have a row.
func (r reader) refused(approval string) (n int, err error) {
	err = r.json(refusedOf(approval), &n)
	return n, kept(err)
}

// decided is a decision as the decision log has it (seed 001, 5.4): what was decided about what, and why. A plan is told by its aim, a call by its paths, and
// one that names none by its approval; never by other arguments, which may hold what a list should not show (S22).
func decided(a gate.Approval, d gate.Decision) string {
	about := strings.ToLower(string(a.Kind))
	switch {
	case a.Kind == canon.KindPlan:
		about += " " + a.Points.Intent.Text
	case a.Subject.Tool != "":
		var paths []string
		for _, t := range a.Subject.Targets {
			paths = append(paths, tool.PlainLine(t.Path, session.MaxItem))
		}
		if about = a.Subject.Tool + " " + cmp.Or(strings.Join(paths, " -> "), "("+a.ID+")"); a.Kind == canon.KindOutcome {
			about = "outcome of " + about
		}
	}
	return strings.TrimSuffix(string(d.Decision)+": "+about+": "+d.Reason, ": ")
}

// denial is the denial of a ruling, a late one too.
func denial(r gate.Ruling) *gate.Decision {
	d := r.Change.Decision
	if r.Record != nil {
		d = r.Record.LateDenial
	}
	if d != nil && d.Decision == session.Deny {
		return d
	}
	return nil
}

// denied keeps that a call was denied: it is not asked for again before the next message of a person (S28). Where somebody changed the
// arguments and denied the change, the call as the model proposed it is denied with it.
func (e *Engine) denied(w *ledger.Work, a gate.Approval) error {
	t := &w.Session.Talk
	for {
		if hash := a.Subject.CallHash; hash != "" && a.Kind == canon.KindToolCall {
			t.Denied = latest(append(t.Denied, string(hash)), ledger.MaxHashes)
		}
		if a.EditedFrom == "" {
			return nil
		}
		before, err := w.Approved(a.EditedFrom)
		if err != nil {
			return err
		}
		a = before
	}
}
