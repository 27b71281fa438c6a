package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// A body ends with its seal: a code over all that stands before that, by the key of its head. So the next change does not take what something else wrote
// for what was there (field/review-agent.md 2b, fatal).
const (
	sealOpens  = `,"code":"`
	sealCloses = `"}`
	sealSize   = len(sealOpens) + audit.CodeSize + len(sealCloses)
)

// textOpens is what stands before the text of a session, and headOpens before the head.
const (
	textOpens = `{"session":`
	headOpens = `,"head":`
)

// encode writes the body of a session in the store: an object of its text, the head of its rows, and the seal. A head that no key vouches for, of a
// deleted session whose rows are broken, has none.
func (l *Ledger) encode(session []byte, head audit.Head) ([]byte, error) {
	raw, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	body := append(make([]byte, 0, len(textOpens)+len(session)+len(headOpens)+len(raw)+sealSize), textOpens...)
	body = append(append(append(body, session...), headOpens...), raw...)
	if code := l.keys.Sign(head, body); code != "" {
		return append(append(append(body, sealOpens...), code...), sealCloses...), nil
	}
	return append(body, '}'), nil
}

// unseal gives what a seal was made over, and its code; false: there is none.
func unseal(body []byte) (signed []byte, code string, sealed bool) {
	at := max(len(body)-sealSize, 0)
	end, opens := bytes.CutPrefix(body[at:], []byte(sealOpens))
	end, closes := bytes.CutSuffix(end, []byte(sealCloses))
	return body[:at], string(end), opens && closes
}

// genuine says why a session is not as it was written; nil: it is, since its seal fits. One of before there were seals is to be what its rows make. err is
// that of the store.
func (l *Ledger) genuine(v store.View, k *known) (changed, err error) {
	s := &k.session
	if signed, code, sealed := unseal(k.body); sealed {
		return l.keys.Signed(s.Head, signed, code), nil
	}
	if !s.Deleted.IsZero() {
		return nil, nil // Nothing comes of it.
	}
	p := proof{made: map[string]json.RawMessage{}}
	bad := l.prove(v, s, &p)
	if p.away != nil || bad != nil {
		return bad, p.away
	}
	if differ := differing(p.made, k.text); differ != nil {
		return &DiffersError{s.ID, differ}, nil
	}
	return nil, nil
}

// proof is what the rows of a session make of it, and have sealed.
type proof struct {
	made map[string]json.RawMessage
	written
	// away is why the store cannot be read.
	away error
}

// rows gives the rows of records, and takes what these say.
func (p *proof) rows(records iter.Seq2[record, error]) iter.Seq2[audit.Row, error] {
	p.last = map[kept]write{}
	return func(yield func(audit.Row, error) bool) {
		for r, err := range records {
			var broken *BrokenError
			if err != nil && !errors.As(err, &broken) {
				p.away = err
			}
			if err == nil {
				err = errors.Join(patch(p.made, r), p.take(r))
			}
			if err != nil {
				yield(audit.Row{}, err)
				return
			}
			for _, row := range r.Rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// prove goes through all rows of a session, which are to be as they were made, up to its head. The error is an *audit.BadRow.
func (l *Ledger) prove(v store.View, s *Session, p *proof) error {
	read := func(fn func(store.View) error) error { return fn(v) }
	chain := audit.Chain{Namespace: s.Head.Namespace, Session: s.ID, Heads: []audit.Head{s.Head}}
	_, err := l.keys.Verify(p.rows(recordsIn(read, s.ID, 1)), chain)
	return err
}

// Approved gives an approval of the session, as it was written last. store.ErrNotFound; *BrokenError also of one that something else wrote.
func (w *Work) Approved(id string) (gate.Approval, error) {
	found, a, err := w.approval(id)
	if err == nil {
		err = w.sealed(found, a)
	}
	return a, err
}

// Stored gives an approval of the session as it stands in the store, whoever wrote it: nothing may come of it but that somebody is refused. It is the cheap
// one: Approved may go through all rows of the session. store.ErrNotFound, *BrokenError.
func (w *Work) Stored(id string) (gate.Approval, error) {
	_, a, err := w.approval(id)
	return a, err
}

func (w *Work) approval(id string) (found store.Approval, a gate.Approval, err error) {
	if found, err = w.Approval(id); err != nil {
		return found, a, err
	}
	if found.Session != w.Session.ID {
		return found, a, store.ErrNotFound
	}
	a, err = Approval(found)
	return found, a, err
}

// sealed is nil where an approval is as it was written last: by this change, or by one before, which the session tells of a call of its batch and a row of
// any other. *BrokenError, or an error of the store.
func (w *Work) sealed(found store.Approval, a gate.Approval) error {
	is := keptApproval(found)
	bad := func(err error) error { return &BrokenError{Session: w.Session.ID, Approval: found.ID, Err: err} }
	if slices.ContainsFunc(w.kept, is.same) || is.Hash == w.Session.Calls[a.Call].Sealed {
		return nil
	}
	p := proof{made: map[string]json.RawMessage{}}
	if err := w.ledger.prove(w.Tx, w.Session, &p); err != nil {
		return cmp.Or(p.away, bad(err))
	}
	switch was, ok := p.last[is.name()]; {
	case !ok:
		return bad(errors.New("no row has sealed it: it was put in"))
	case was.Hash != is.Hash:
		return bad(fmt.Errorf("it is not as row %d has sealed it: it was changed", was.row))
	}
	return nil
}
