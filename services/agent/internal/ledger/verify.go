package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Verified is what was found of the rows of a session.
type Verified struct {
	audit.Report
	// Head is that by which they were verified: rows may have come since. The zero Head: the session cannot be read.
	Head audit.Head
}

// ErrGone is why a session is not stored as it was written where it is not stored at all, and something of it is: a session that is deleted stays, as one
// that was, with its rows.
var ErrGone = errors.New("the session itself is not")

// errRows is ErrGone of rows.
var errRows = fmt.Errorf("rows are there, and %w", ErrGone)

// RecordError says that a session itself is not stored as it was written. Its rows are another matter: they may be as they were made.
type RecordError struct {
	Session string
	// Err says all that is wrong; a *BrokenError where nothing of it can be read, so that nobody can tell whether rows were cut from the end.
	Err error
}

func (e *RecordError) Error() string {
	var broken *BrokenError
	if errors.As(e.Err, &broken) {
		return e.Err.Error()
	}
	return fmt.Sprintf("session %s is not stored as it was written: %v", e.Session, e.Err)
}

// Unwrap gives what is wrong.
func (e *RecordError) Unwrap() error { return e.Err }

// Verify goes through the rows of a session, and what each says that it changed, and looks whether the session can be read, is found under what it says of
// itself, and has nothing in it that this program does not write. Who has its lease and until when is not looked at: that changes without a row, so that there
// is nothing to hold it to. The error is an *audit.BadRow, which names the first row that is not as it was made, a *RecordError, or
// both; store.ErrNotFound: there is nothing of such a session; and any other where the store itself cannot be read, which says nothing of the session.
func (l *Ledger) Verify(ctx context.Context, ns, id string) (out Verified, err error) {
	var found store.Session
	var k *known
	var broken, changed error // why it cannot be read, and why it is not as it was written
	err = l.kept(ctx, ns, id, func(v store.View, s store.Session) (err error) {
		found = s
		if k, broken = parse(s); broken == nil {
			changed, err = l.genuine(v, k)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return out, l.orphans(ctx, ns, id)
	}
	gone := errors.Is(err, ErrGone)
	if err != nil && !gone {
		return out, err
	}
	chain := audit.Chain{Namespace: ns, Session: id}
	if gone {
		broken = err
	}
	if broken == nil {
		out.Head, chain.Heads = k.session.Head, []audit.Head{k.session.Head}
	}
	var changes int64
	if out.Report, changes, err = l.verifyRows(ctx, chain); err != nil {
		var bad *audit.BadRow
		if !errors.As(err, &bad) {
			return out, err
		}
		changes = found.Version // Of bad rows nobody knows how many there were.
	}
	if broken == nil {
		broken = l.asWritten(ns, found, k.session, changes, changed)
	}
	if broken != nil {
		err = errors.Join(err, &RecordError{id, broken})
	}
	return out, err
}

// asWritten says all that is wrong with a session as it is stored, beside what its rows make of it; nil: nothing is. changed is what genuine has found.
func (l *Ledger) asWritten(ns string, found store.Session, s Session, changes int64, changed error) error {
	var wrong []string
	if changed != nil && !errors.As(changed, new(*audit.BadRow)) { // Rows are told for themselves.
		wrong = append(wrong, changed.Error())
	}
	differ := func(column string, is, of any) {
		if is != of {
			wrong = append(wrong, fmt.Sprintf("it is stored under %s %v, and its record says %v", column, is, of))
		}
	}
	want := l.row(s, s.Updated)
	differ("namespace", strconv.Quote(ns), strconv.Quote(s.Head.Namespace))
	differ("owner", strconv.Quote(found.Owner), strconv.Quote(want.Owner))
	differ("lifecycle", strconv.Quote(found.Lifecycle), strconv.Quote(want.Lifecycle))
	differ("waits", found.Waits, want.Waits)
	differ("created", moment(found.Created), moment(want.Created))
	differ("wake", moment(found.Wake), moment(want.Wake))
	if found.Version != changes {
		wrong = append(wrong, fmt.Sprintf("it is stored under version %d, and its rows are of %d changes", found.Version, changes))
	}
	if err := ours(found.Body); err != nil {
		wrong = append(wrong, err.Error())
	}
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// moment is a time as a store keeps it: in microseconds.
func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// ours is nil where a body that can be read has nothing in it but what this program writes.
func ours(body []byte) error {
	parts, err := members(nil, body)
	if err != nil {
		return err
	}
	for i, m := range parts {
		var into any
		switch {
		case i == 0 && string(m.key) == "session":
			into = new(Session)
		case i == 1 && string(m.key) == "head":
			into = new(audit.Head)
		case i == 2 && string(m.key) == "code":
			into = new(string)
		default:
			return fmt.Errorf("its record has a member %q, which this version does not write there", m.key)
		}
		d := json.NewDecoder(bytes.NewReader(m.value))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return fmt.Errorf("its record has a member that this version does not write: %w", err)
		}
	}
	return nil
}

// verifyRows goes through the rows of a session, and counts the changes up to the last of its heads. The error is an *audit.BadRow, or that of the store.
func (l *Ledger) verifyRows(ctx context.Context, chain audit.Chain) (report audit.Report, changes int64, err error) {
	var broken *audit.BadRow
	var away error // the store cannot be read
	rows := func(yield func(audit.Row, error) bool) {
		for r, err := range l.records(ctx, chain.Namespace, chain.Session, 1) {
			if err != nil {
				if unread := (*BrokenError)(nil); !errors.As(err, &unread) {
					away = err
				}
				yield(audit.Row{}, err)
				return
			}
			if broken == nil {
				broken = r.bad()
			}
			for _, h := range chain.Heads {
				if r.last().Seq <= h.Seq {
					changes++
				}
			}
			for _, row := range r.Rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	report, err = l.keys.Verify(rows, chain)
	if away != nil {
		return report, changes, away
	}
	var bad *audit.BadRow
	if broken != nil && (err == nil || errors.As(err, &bad) && bad.Seq > broken.Seq) {
		return report, changes, broken
	}
	return report, changes, err
}
