package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// atOnce is how many texts and approvals are read in one snapshot.
const atOnce = 32

// Contents looks whether the texts and approvals of a session, and what is to be told of it, are those that its rows have sealed, and no more. The error is
// an *audit.BadRow, which names the first row of which one was changed, or is gone before its time; a *RecordError, which names what no row has sealed; or
// both; store.ErrNotFound and *BrokenError. Verify comes first: here rows are believed. Of a deleted session nothing is to be there. Something to be told
// that is not there was acknowledged. What is written meanwhile is taken into account.
func (l *Ledger) Contents(ctx context.Context, ns, id string) error {
	w := written{last: map[kept]write{}}
	if err := w.catchUp(l.in(ctx, ns), id); err != nil {
		return err
	}
	err := l.sealed(ctx, ns, id, &w)
	var bad *audit.BadRow
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	unsealed, unread := l.unsealed(ctx, ns, id, &w)
	if unread != nil {
		return unread
	}
	if unsealed != nil {
		err = errors.Join(err, &RecordError{id, unsealed})
	}
	return err
}

// sealed looks whether what the rows have sealed is there as it was written.
func (l *Ledger) sealed(ctx context.Context, ns, id string, w *written) error {
	for some := range slices.Chunk(w.inOrder(), atOnce) {
		over := false
		err := l.store.Read(ctx, ns, func(v store.View) error {
			s, err := v.Session(id)
			if over = s.Lifecycle == deleted; err != nil || over {
				return err
			}
			if err := w.catchUp(func(fn func(store.View) error) error { return fn(v) }, id); err != nil {
				return err
			}
			for _, key := range some {
				if err := w.last[key].check(v, id, l.clock.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || over {
			return err
		}
	}
	return nil
}

// thing is something of a session that is there, and where it is in lists.
type thing struct {
	kept
	place store.Place
}

// lister lists things of one kind behind one of them, at most atOnce.
type lister func(v store.View, session string, last thing) ([]thing, error)

// things are all kinds.
var things = [...]lister{
	func(v store.View, id string, last thing) (all []thing, err error) {
		found, err := v.TextIDs(id, last.Text, atOnce)
		for _, text := range found {
			all = append(all, thing{kept: kept{Text: text}})
		}
		return all, err
	},
	func(v store.View, id string, last thing) (all []thing, err error) {
		found, err := v.Approvals(store.ApprovalFilter{Session: id}, last.place, atOnce)
		for _, a := range found {
			all = append(all, thing{kept{Approval: a.ID}, a.Place()})
		}
		return all, err
	},
	func(v store.View, id string, last thing) (all []thing, err error) {
		found, err := v.Outgoing(id, last.Outgoing, atOnce)
		for _, o := range found {
			all = append(all, thing{kept: kept{Outgoing: o.N}})
		}
		return all, err
	},
}

// unsealed says what is there of a session that no row has sealed: the first of each kind, and how many more; nil: nothing is. unread is why nobody can
// tell.
func (l *Ledger) unsealed(ctx context.Context, ns, id string, w *written) (unsealed, unread error) {
	var wrong []string
	for _, list := range things {
		first, n, err := l.unsealedIn(ctx, ns, id, w, list)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%s is there, and no row has sealed it", first)
		if n > 1 {
			text += fmt.Sprintf(", nor %d more", n-1)
		}
		wrong = append(wrong, text)
	}
	if wrong == nil {
		return nil, nil
	}
	return errors.New(strings.Join(wrong, "; ")), nil
}

// unsealedIn counts what one of things lists and no row has sealed, and gives the first. The rows are read in the snapshot of each page.
func (l *Ledger) unsealedIn(ctx context.Context, ns, id string, w *written, list lister) (first kept, n int, err error) {
	pages := store.Each(atOnce, l.in(ctx, ns), func(v store.View, last *thing) ([]thing, error) {
		s, err := v.Session(id)
		if err == nil {
			err = w.catchUp(func(fn func(store.View) error) error { return fn(v) }, id)
		}
		if err != nil {
			return nil, err
		}
		if s.Lifecycle == deleted {
			clear(w.last)
		}
		if last == nil {
			last = &thing{}
		}
		return list(v, id, *last)
	})
	for one, err := range pages {
		if err != nil {
			return kept{}, 0, err
		}
		if _, sealed := w.last[one.name()]; sealed {
			continue
		}
		if n++; n == 1 {
			first = one.kept
		}
	}
	return first, n, nil
}

// orphans says what is there of a session that is not, and has no rows; store.ErrNotFound: nothing is.
func (l *Ledger) orphans(ctx context.Context, ns, id string) error {
	return l.store.Read(ctx, ns, func(v store.View) error {
		for _, list := range things {
			switch all, err := list(v, id, thing{}); {
			case err != nil:
				return err
			case len(all) > 0:
				return &RecordError{id, fmt.Errorf("%s is there, and %w", all[0], ErrGone)}
			}
		}
		return store.ErrNotFound
	})
}

// written are the texts and approvals of a session, and what was to be told of it, as its rows have sealed them, each by its last write.
type written struct {
	// last has them by name.
	last map[kept]write
	// seq is the number of the last row that was read.
	seq int64
}

// write is one of them, and the row that seals it.
type write struct {
	kept
	row uint64
}

// take reads one more record.
func (w *written) take(r record) error {
	row := r.last().Seq
	w.seq = int64(row)
	if len(r.Kept) == 0 {
		return nil
	}
	var all []kept
	if err := json.Unmarshal(r.Kept, &all); err != nil {
		return &audit.BadRow{Seq: row, Fault: audit.Unreadable, Err: err}
	}
	for _, k := range all {
		w.last[k.name()] = write{k, row}
	}
	return nil
}

// catchUp reads the records that came since.
func (w *written) catchUp(read func(func(store.View) error) error, id string) error {
	for r, err := range recordsIn(read, id, w.seq+1) {
		if err == nil {
			err = w.take(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check says whether it is as it was written, or went when its time was over or it was told.
func (w write) check(v store.View, session string, now time.Time) error {
	stored, err := w.stored(v, session)
	over := w.Outgoing != 0 || !w.Until.IsZero() && !now.Before(w.Until)
	switch {
	case errors.Is(err, store.ErrNotFound) && over:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return w.bad("is gone")
	case err != nil:
		return err
	case stored.Hash != w.Hash:
		return w.bad("is not as it was written")
	case moment(stored.Until) != moment(w.Until):
		return w.bad(fmt.Sprintf("is kept until %s, and was written until %s", moment(stored.Until), moment(w.Until)))
	}
	return nil
}

// stored is what is there under its name. store.ErrNotFound.
func (w write) stored(v store.View, session string) (kept, error) {
	switch {
	case w.Approval != "":
		return w.approval(v, session)
	case w.Outgoing != 0:
		found, err := v.Outgoing(session, w.Outgoing-1, 1)
		if err == nil && (len(found) == 0 || found[0].N != w.Outgoing) {
			err = store.ErrNotFound
		}
		if err != nil {
			return kept{}, err
		}
		return keptOutgoing(found[0]), nil
	}
	t, err := v.Text(session, w.Text)
	return keptText(t), err
}

// approval gives an approval as it is stored. One that lists find under another state, time or session than its own is not as it was written.
func (w write) approval(v store.View, session string) (kept, error) {
	found, err := v.Approval(w.Approval)
	if err != nil {
		return kept{}, err
	}
	stored := keptApproval(found)
	a, err := Approval(found)
	if err != nil || found.Session != session || string(a.State) != found.State || !a.Created.Equal(found.Created) {
		stored.Hash = ""
	}
	return stored, nil
}

func (w write) bad(how string) error {
	return &audit.BadRow{Seq: w.row, Fault: audit.ChangedContent, Err: fmt.Errorf("%s %s", w.kept, how)}
}

// inOrder are all writes, the oldest row first.
func (w *written) inOrder() []kept {
	return slices.SortedFunc(maps.Keys(w.last), func(a, b kept) int {
		return cmp.Or(cmp.Compare(w.last[a].row, w.last[b].row), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Approval, b.Approval), cmp.Compare(a.Outgoing, b.Outgoing))
	})
}
