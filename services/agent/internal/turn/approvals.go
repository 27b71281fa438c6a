package turn

import (
	"context"
	"errors"
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

// Approval gives an approval with its content, to those who may read that. store.ErrNotFound, also for one that the reader may not know of.
func (e *Engine) Approval(ctx context.Context, ns, id string, who gate.Who) (out Reading, err error) {
	where, err := e.where(ctx, ns, id)
	if err != nil {
		return out, err
	}
	s, err := e.Ledger.Get(ctx, ns, where)
	if err != nil {
		return out, err
	}
	err = e.read(ctx, ns, where, func(t reader) error {
		out, err = t.reading(s, id, who)
		if err == nil && out.Approval.State == gate.Pending && !out.Withheld {
			out.Words, err = t.sentence(s, out.Approval, gate.Message{Who: who, Since: s.Talk.Since(who.Name)})
		}
		return err
	})
	return out, err
}

func (r reader) reading(s ledger.Session, id string, who gate.Who) (out Reading, err error) {
	a, err := r.approval(id)
	if err != nil {
		return out, err
	}
	all, some := a.Readable(who)
	switch {
	case !some || a.Session != s.ID:
		return out, store.ErrNotFound
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
	if err != nil {
		return "", err
	}
	return gate.Sentence(a, all, m, s.Locale), nil
}

// approvalsOf are the newest approvals of a session, at most store.MaxPage.
func approvalsOf(v store.View, session string) ([]gate.Approval, error) {
	found, err := v.Approvals(store.ApprovalFilter{Session: session}, store.Place{}, store.MaxPage)
	if err != nil {
		return nil, err
	}
	return decoded(found)
}

func decoded(found []store.Approval) ([]gate.Approval, error) {
	all := make([]gate.Approval, len(found))
	for i, f := range found {
		var err error
		if all[i], err = ledger.Approval(f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Approvals gives a page of the approvals that the reader may know of, newest first, and where the next one begins: the zero Place behind the
// last. An approver gets those of the namespace, others those of what works for them, redacted; then a page may have fewer entries than there
// are. limit is from 1 to store.MaxPage; what is outside is taken for the nearest.
func (e *Engine) Approvals(ctx context.Context, ns string, f store.ApprovalFilter, after store.Place, limit int, who gate.Who) (out []gate.Approval, next store.Place, err error) {
	limit = min(max(limit, 1), store.MaxPage)
	err = e.Ledger.Read(ctx, ns, func(v store.View) error {
		out, next = nil, store.Place{}
		found, err := v.Approvals(f, after, limit)
		if err != nil {
			return err
		}
		all, err := decoded(found)
		if err != nil {
			return err
		}
		for _, a := range all {
			if a, ok := a.For(who); ok {
				out = append(out, a)
			}
		}
		if len(found) == limit {
			last := found[len(found)-1]
			next = store.Place{At: last.Created, ID: last.ID}
		}
		return nil
	})
	return out, next, err
}

// Stats counts what became of the approvals of a session, or of all for "", that were made since a time, for an approver; more says that there were more than are counted at
// once, 10,000, and that the oldest are left out. *gate.Refusal.
func (e *Engine) Stats(ctx context.Context, ns, session string, since time.Time, who gate.Who) (counts []gate.Count, more bool, err error) {
	if whole, _ := (gate.Approval{Namespace: ns}).Readable(who); !whole {
		return nil, false, &gate.Refusal{Code: gate.NotApprover, Why: "what was decided is counted for approvers"}
	}
	var all []gate.Approval
	var next store.Place
	for len(all) < maxCounted {
		var page []gate.Approval
		if page, next, err = e.Approvals(ctx, ns, store.ApprovalFilter{Session: session}, next, store.MaxPage, who); err != nil {
			return nil, false, err
		}
		for _, a := range page {
			if a.Created.Before(since) {
				return gate.Stats(all), false, nil
			}
			all = append(all, a)
		}
		if next == (store.Place{}) {
			return gate.Stats(all), false, nil
		}
	}
	return gate.Stats(all), true, nil
}
