package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// view reads a namespace over one connection.
type view struct {
	db durable.Statements
	ns string
}

// tx also writes.
type tx struct {
	view
	// wrote says that there is something to commit, bytes how large its bodies are.
	wrote bool
	bytes int
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// one is the error of a query for one thing.
func one(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// place is where a page begins, as those of a list come before it: the newest is at the beginning.
func place(after store.Place) (at int64, id string) {
	if after == (store.Place{}) {
		return math.MaxInt64, ""
	}
	return micros(after.At), after.ID
}

func page(limit int) int { return min(max(limit, 1), store.MaxPage) }

func scanSession(scan durable.Scanner) (s store.Session, err error) {
	var created, wake int64
	err = scan(&s.ID, &s.Owner, &s.Lifecycle, &s.Waits, &created, &wake, &s.Version, &s.Body)
	s.Created, s.Wake = timeOf(created), timeOf(wake)
	return s, err
}

func (v view) Session(id string) (store.Session, error) {
	s, err := scanSession(v.db.Row(getSession, v.ns, id).Scan)
	return s, one(err)
}

func (v view) Sessions(f store.SessionFilter, after store.Place, limit int) ([]store.Session, error) {
	at, id := place(after)
	return durable.List(v.db, listSessions, scanSession, v.ns, at, id, f.Owner, f.Lifecycle, f.Except, f.Waiting, page(limit))
}

func scanApproval(scan durable.Scanner) (a store.Approval, err error) {
	var created int64
	err = scan(&a.ID, &a.Session, &a.State, &created, &a.Body)
	a.Created = timeOf(created)
	return a, err
}

func (v view) Approval(id string) (store.Approval, error) {
	a, err := scanApproval(v.db.Row(getApproval, v.ns, id).Scan)
	return a, one(err)
}

func (v view) Approvals(f store.ApprovalFilter, after store.Place, limit int) ([]store.Approval, error) {
	query := approvalsAll
	switch {
	case f.Session != "":
		query = approvalsOf
	case f.State != "":
		query = approvalsIn
	}
	at, id := place(after)
	return durable.List(v.db, query, scanApproval, v.ns, at, id, f.Session, f.State, page(limit))
}

func (v view) Records(session string, from int64, limit int) ([]store.Record, error) {
	return durable.List(v.db, listRecords, func(scan durable.Scanner) (r store.Record, err error) {
		var at int64
		err = scan(&r.Seq, &at, &r.Body)
		r.Time = timeOf(at)
		return r, err
	}, v.ns, session, from, page(limit))
}

func (v view) Text(session, id string) (t store.Text, err error) {
	var until int64
	err = v.db.Row(getText, v.ns, session, id).Scan(&t.Session, &t.ID, &until, &t.Body)
	t.Until = timeOf(until)
	return t, one(err)
}

func (v view) TextIDs(session, after string, limit int) ([]string, error) {
	return durable.List(v.db, listTexts, text, v.ns, session, after, page(limit))
}

func text(scan durable.Scanner) (s string, err error) {
	err = scan(&s)
	return s, err
}

func (v view) Outgoing(session string, after int64, limit int) ([]store.Outgoing, error) {
	return durable.List(v.db, listOutgoing, func(scan durable.Scanner) (o store.Outgoing, err error) {
		err = scan(&o.Session, &o.N, &o.Body)
		return o, err
	}, v.ns, session, after, page(limit))
}

func (v view) Lease(session string) (l store.Lease, err error) {
	var until int64
	err = v.db.Row(getLease, v.ns, session).Scan(&l.Owner, &until, &l.Epoch)
	l.Until = timeOf(until)
	return l, one(err)
}

func (t *tx) exec(query string, args ...any) error {
	t.wrote = true
	return t.db.Run(query, args...)
}

// changed runs a statement and says whether it found a row.
func (t *tx) changed(query string, args ...any) (bool, error) {
	t.wrote = true
	n, err := t.db.Changed(query, args...)
	return n > 0, err
}

// blob is a body as it is stored: one that is nil has no bytes.
func blob(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

func (t *tx) bounded(body []byte) error {
	t.bytes += len(body)
	if len(body) > store.MaxBody {
		return fmt.Errorf("a body has %d bytes, and may have %d", len(body), store.MaxBody)
	}
	return nil
}

func (t *tx) PutSession(s store.Session) error {
	if err := t.bounded(s.Body); err != nil {
		return err
	}
	if s.Version == 0 {
		ok, err := t.changed(addSession, t.ns, s.ID, s.Owner, s.Lifecycle, s.Waits, micros(s.Created), micros(s.Wake), blob(s.Body))
		if err == nil && !ok {
			err = store.ErrTaken
		}
		return err
	}
	ok, err := t.changed(setSession, s.Owner, s.Lifecycle, s.Waits, micros(s.Wake), blob(s.Body), t.ns, s.ID, s.Version)
	if err != nil || ok {
		return err
	}
	if _, err := t.Session(s.ID); err != nil {
		return err
	}
	return store.ErrFenced
}

func (t *tx) DeleteSession(id string) error {
	if _, err := t.Session(id); err != nil {
		return err
	}
	return t.all(slices.Concat(contents, gone), id)
}

func (t *tx) DeleteContents(session string) error { return t.all(contents, session) }

// all runs statements about a session.
func (t *tx) all(statements []string, session string) error {
	for _, one := range statements {
		if err := t.exec(one, t.ns, session); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) PutApproval(a store.Approval) error {
	if err := t.bounded(a.Body); err != nil {
		return err
	}
	return t.exec(putApproval, t.ns, a.ID, a.Session, a.State, micros(a.Created), blob(a.Body))
}

func (t *tx) AddRecord(session string, after int64, r store.Record) error {
	if err := t.bounded(r.Body); err != nil {
		return err
	}
	ok, err := t.changed(addRecord, t.ns, session, r.Seq, micros(r.Time), blob(r.Body), after)
	if err != nil || ok {
		return err
	}
	var last int64
	if err := t.db.Row(lastRecord, t.ns, session).Scan(&last); err != nil {
		return err
	}
	return fmt.Errorf("%w: the last row of the session is %d; rows %d to %d are not behind it", store.ErrTaken, last, after+1, r.Seq)
}

// PruneRecords keeps the last one: the next number goes by it.
func (t *tx) PruneRecords(session string, before int64) error {
	return t.exec(pruneRecords, t.ns, session, before)
}

func (t *tx) PutText(x store.Text) error {
	if err := t.bounded(x.Body); err != nil {
		return err
	}
	return t.exec(putText, t.ns, x.Session, x.ID, micros(x.Until), blob(x.Body))
}

func (t *tx) PruneTexts(now time.Time, limit int) (n int, err error) {
	t.wrote = true
	changed, err := t.db.Changed(pruneTexts, t.ns, micros(now), page(limit))
	return int(changed), err
}

func (t *tx) PutOutgoing(o store.Outgoing) error {
	if err := t.bounded(o.Body); err != nil {
		return err
	}
	return t.exec(putOutgoing, t.ns, o.Session, o.N, blob(o.Body))
}

func (t *tx) TakeOutgoing(session string, n int64) error {
	return t.exec(takeOutgoing, t.ns, session, n)
}

func (t *tx) Claim(session, owner string, now, until time.Time) (store.Lease, error) {
	l, err := t.Lease(session)
	if err != nil {
		return store.Lease{}, err
	}
	switch {
	case l.Owner == owner:
	case !l.Over(now):
		return store.Lease{}, &store.HeldError{Owner: l.Owner, Until: l.Until}
	default:
		l.Owner, l.Epoch = owner, l.Epoch+1
	}
	l.Until = timeOf(micros(until))
	return l, t.exec(setLease, l.Owner, micros(until), l.Epoch, t.ns, session)
}

func (t *tx) Release(session string, epoch int64) error {
	if err := t.Fence(session, epoch); err != nil {
		return err
	}
	return t.exec(setLease, "", 0, epoch, t.ns, session)
}

func (t *tx) Fence(session string, epoch int64) error {
	l, err := t.Lease(session)
	if err == nil && (l.Epoch != epoch || l.Owner == "") {
		return store.ErrFenced
	}
	return err
}
