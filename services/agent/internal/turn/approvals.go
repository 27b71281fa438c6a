package turn

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// maxCounted is how many approvals are counted at once, newest first.
const maxCounted = 10 * store.MaxPage

// Reading is an approval as its reader may see it.
type Reading struct {
	// Approval is the record; Redacted where Withheld.
	Approval gate.Approval
	// Pages are what is shown of it, and Args the arguments of a tool call, as a person would change them.
	Pages []canon.Page
	Args  string
	// Withheld: the reader may not see the content. Gone: its time is over, and nobody can (S22).
	Withheld, Gone bool
	// Words is a sentence with the very messages by which the reader can decide about it now, in the locale of the session; empty where it
	// waits for nobody, or not for the reader.
	Words string
}

// Approval gives an approval with its content, to those who may read that. store.ErrNotFound, also for one that the reader may not know of;
// *ledger.BrokenError of it or of its session.
func (e *Engine) Approval(ctx context.Context, ns, id string, who gate.Who) (out Reading, err error) {
	where, err := e.where(ctx, ns, id, who)
	if err != nil {
		return out, err
	}
	s, err := e.Ledger.Get(ctx, ns, where)
	if err != nil {
		return out, err
	}
	err = e.read(ctx, ns, where, func(t reader) error {
		out, err = t.reading(ns, s, id, who)
		if err == nil && out.Approval.State == gate.Pending && !out.Withheld {
			out.Words, err = t.sentence(s, out.Approval, gate.Message{Who: who, Since: s.Talk.Since(who.Name)})
		}
		return err
	})
	return out, err
}

func (r reader) reading(ns string, s ledger.Session, id string, who gate.Who) (out Reading, err error) {
	found, err := r.view.Approval(id)
	if err != nil {
		return out, err
	}
	a, broken := approval(ns, found)
	all, some := a.Readable(who)
	switch {
	case !some || broken == nil && a.Session != s.ID:
		return out, store.ErrNotFound
	case broken != nil:
		return out, broken
	case !all:
		return Reading{Approval: a.Redact(), Withheld: true}, nil
	}
	out.Approval = a.Hashless()
	var c gate.Content
	switch err = r.json(contentOf(id), &c); {
	case errors.Is(err, store.ErrNotFound):
		out.Gone = true
		return out, nil
	case err != nil:
		return out, err
	}
	out.Args = c.Args
	out.Pages, err = c.Show(a)
	return out, err
}

// sentence tells whoever would send a message now which words would decide about an approval (S20).
func (r reader) sentence(s ledger.Session, a gate.Approval, m gate.Message) (string, error) {
	all, err := approvalsOf(r.view, s.ID)
	var broken *ledger.BrokenError
	if errors.As(err, &broken) {
		return "", nil // Words mean the only one that waits, and which do nobody knows.
	}
	if err != nil {
		return "", err
	}
	return gate.Sentence(a, all, m, s.Locale), nil
}

// approvalsOf are the newest approvals of a session, at most store.MaxPage. *ledger.BrokenError: which of them wait nobody knows.
func approvalsOf(v store.View, session string) ([]gate.Approval, error) {
	found, err := v.Approvals(store.ApprovalFilter{Session: session}, store.Place{}, store.MaxPage)
	if err != nil {
		return nil, err
	}
	all := make([]gate.Approval, len(found))
	for i, f := range found {
		if all[i], err = ledger.Approval(f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Listed is an approval in a list.
type Listed struct {
	Approval gate.Approval
	// Hidden: the reader may not know of it, and gets nothing of it.
	Hidden bool
	// Broken is why it cannot be read: then only its ID, Session and Namespace are known. nil: it can.
	Broken *ledger.BrokenError
	// Place is where it is: a page behind it begins there.
	Place store.Place
}

// page is how many approvals of a list are read at once.
const page = 100

// Approvals gives the approvals behind a place, newest first, as the reader may know of them: an approver those of the namespace, others those of what
// works for them, redacted. Each few are of one snapshot of the store. An error ends them.
func (e *Engine) Approvals(ctx context.Context, ns string, f store.ApprovalFilter, after store.Place, who gate.Who) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for one, err := range e.stored(ctx, ns, f, after) {
			if err != nil {
				yield(Listed{}, err)
				return
			}
			if !yield(listed(ns, one, who), nil) {
				return
			}
		}
	}
}

// stored are the approvals behind a place, newest first, as they are stored.
func (e *Engine) stored(ctx context.Context, ns string, f store.ApprovalFilter, after store.Place) iter.Seq2[store.Approval, error] {
	read := func(fn func(store.View) error) error { return e.Ledger.Read(ctx, ns, fn) }
	return store.Each(page, read, func(v store.View, last *store.Approval) ([]store.Approval, error) {
		return v.Approvals(f, store.Behind(last, after), page)
	})
}

// listed is an approval as somebody may know of it.
func listed(ns string, found store.Approval, who gate.Who) Listed {
	a, broken := approval(ns, found)
	out := Listed{Approval: a, Broken: broken, Place: found.Place()}
	if broken != nil {
		_, some := a.Readable(who)
		out.Hidden = !some
		return out
	}
	shown, known := a.For(who)
	out.Approval, out.Hidden = shown, !known
	return out
}

// approval reads an approval that is to be shown. One that is broken, or of another version, of which nobody knows what it means, has its ID, Session
// and Namespace alone.
func approval(ns string, found store.Approval) (gate.Approval, *ledger.BrokenError) {
	a, err := ledger.Approval(found)
	if err == nil {
		err = a.Known()
	}
	if err == nil {
		return a, nil
	}
	var broken *ledger.BrokenError
	if !errors.As(err, &broken) {
		broken = &ledger.BrokenError{Session: found.Session, Approval: found.ID, Err: err}
	}
	return gate.Approval{ID: found.ID, Session: found.Session, Namespace: ns}, broken
}

// Stats counts what became of the approvals of a session, or of all for "", that were made since a time, for an approver; more says that there were
// more than are counted at once, 10,000, and that the oldest are left out. What cannot be read is not counted. *gate.Refusal.
func (e *Engine) Stats(ctx context.Context, ns, session string, since time.Time, who gate.Who) (counts []gate.Count, more bool, err error) {
	if whole, _ := (gate.Approval{Namespace: ns}).Readable(who); !whole {
		return nil, false, &gate.Refusal{Code: gate.NotApprover, Why: "what was decided is counted for approvers"}
	}
	var all []gate.Approval
	for one, err := range e.Approvals(ctx, ns, store.ApprovalFilter{Session: session}, store.Place{}, who) {
		switch {
		case err != nil:
			return nil, false, err
		case one.Place.At.Before(since):
			return gate.Stats(all), false, nil
		case one.Hidden || one.Broken != nil:
			continue
		case len(all) == maxCounted:
			return gate.Stats(all), true, nil
		}
		all = append(all, one.Approval)
	}
	return gate.Stats(all), false, nil
}
