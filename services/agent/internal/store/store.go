// Package store is the port to whatever keeps sessions: reads of committed state and ONE writing method.
//
// Every rule that looks before it writes (the state of an approval, an etag, a request id, a lease) is evaluated inside Update:
// checked outside, two deciders give one approval two outcomes. What a session, an approval or a record is, is the domain's
// business: here they are bytes with the few values by which they are found. storetest holds the suite that every engine passes.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What an engine answers. Test with errors.Is.
var (
	// ErrNotFound: there is no such thing in this namespace.
	ErrNotFound = errors.New("there is no such thing")
	// ErrTaken: the id of a new thing is in use.
	ErrTaken = errors.New("the id is taken")
	// ErrClosed: the store is closed or closing.
	ErrClosed = errors.New("the store is closed")
	// ErrFull: the disk is full; nothing was written.
	ErrFull = errors.New("the disk is full: what is stored can be read, and writing works again when there is room")
	// ErrFenced: another process owns the session; nothing was written (field/review-agent.md C55).
	ErrFenced = errors.New("another process owns the session now")
)

// HeldError says who has the lease of a session.
type HeldError struct {
	Owner string
	Until time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s owns the session until %s", e.Owner, e.Until.UTC().Format(time.RFC3339))
}

// Bounds of what is stored.
const (
	// MaxBody bounds a body, in bytes.
	MaxBody = 8 << 20
	// MaxPage bounds a list, in entries.
	MaxPage = 1000
	// MaxLease is the longest time for which a session is claimed.
	MaxLease = time.Hour
	// Believed is how far ahead the end of a lease may be: by clocks that agree within a minute (field/review-agent.md S16) none ends later. One
	// that does was claimed under a clock that was wrong: it is over, since its owner would keep everybody off until that time had come.
	Believed = MaxLease + time.Minute
)

// Session is a session as it is now.
type Session struct {
	ID    string
	Owner string
	// Lifecycle, and Waits: an approval or a question waits for a person. For lists.
	Lifecycle string
	Waits     bool
	Created   time.Time
	// Wake is when its owner has to look at it, if nobody does before: a deadline, or the time of the write for at once. The zero
	// time: never.
	Wake time.Time
	// Version rises with each write by one; PutSession checks it. 0: it is new.
	Version int64
	Body    []byte
}

// Place is where it is in lists: a page behind it begins there.
func (s Session) Place() Place { return Place{At: s.Created, ID: s.ID} }

// Approval is what a person is asked, or was.
type Approval struct {
	ID, Session string
	State       string
	Created     time.Time
	Body        []byte
}

// Place is where it is in lists: a page behind it begins there.
func (a Approval) Place() Place { return Place{At: a.Created, ID: a.ID} }

// Record is what one change of a session adds to its audit: rows, and what changed.
type Record struct {
	// Seq is the number of its last row. Rows of a session count from 1, without gaps.
	Seq  int64
	Time time.Time
	Body []byte
}

// Text is a content that is kept apart from the records and goes after a time: a message, the arguments of a call, a diff (S22).
type Text struct {
	Session, ID string
	// Until is when it may be deleted; the zero time: with its session.
	Until time.Time
	Body  []byte
}

// Outgoing is something of a session that another service is to be told, and has not acknowledged yet.
type Outgoing struct {
	Session string
	// N is its place among those of the session, from 1 on: they are told in this order.
	N    int64
	Body []byte
}

// Lease says who owns a session. Epoch rises with each owner.
type Lease struct {
	Owner string
	Until time.Time
	Epoch int64
}

// Over says that anybody may take the session: the time of its owner has come, or is too far ahead (Believed). The zero Lease is over.
func (l Lease) Over(now time.Time) bool {
	return !now.Before(l.Until) || l.Until.Sub(now) > Believed
}

// Key names a session of any namespace.
type Key struct{ Namespace, Session string }

// Place is where a page begins: behind the thing of that time and id. The zero Place is the beginning.
type Place struct {
	At time.Time
	ID string
}

// SessionFilter picks sessions. Empty fields pick all.
type SessionFilter struct {
	Owner, Lifecycle string
	// Except is a lifecycle whose sessions are left out.
	Except  string
	Waiting bool
}

// ApprovalFilter picks approvals. Empty fields pick all.
type ApprovalFilter struct{ Session, State string }

// View reads one namespace. Lists are newest first, with at most MaxPage entries.
type View interface {
	// Session gives one. ErrNotFound.
	Session(id string) (Session, error)
	Sessions(f SessionFilter, after Place, limit int) ([]Session, error)
	// Approval gives one. ErrNotFound.
	Approval(id string) (Approval, error)
	Approvals(f ApprovalFilter, after Place, limit int) ([]Approval, error)
	// Records gives those of a session from the one that has the row of a number on, oldest first.
	Records(session string, from int64, limit int) ([]Record, error)
	// Text gives a content. ErrNotFound.
	Text(session, id string) (Text, error)
	// TextIDs gives the ids of those of a session behind one, in order; empty is the beginning.
	TextIDs(session, after string, limit int) ([]string, error)
	// Outgoing gives what of a session is to be told behind a number, in its order; 0 is the beginning.
	Outgoing(session string, after int64, limit int) ([]Outgoing, error)
	// Lease gives that of a session; the zero Lease where nobody ever had it.
	Lease(session string) (Lease, error)
}

// Tx reads and writes one namespace. It sees its own writes and those of earlier functions of the same batch.
type Tx interface {
	View
	// PutSession writes a session over the one with the version before it. ErrTaken for a new one whose id is in use, ErrNotFound for
	// one that is gone, ErrFenced where its version is another one: whoever read it before must read it again.
	PutSession(s Session) error
	// DeleteSession takes a session away with its approvals, texts, leases, records and what is to be told. ErrNotFound.
	DeleteSession(id string) error
	// DeleteContents takes away the approvals and texts of a session and what is to be told of it. Its records stay.
	DeleteContents(session string) error
	// PutApproval writes an approval, new or not.
	PutApproval(a Approval) error
	// AddRecord adds a record behind the one that ends with the row after; 0 for the first. ErrTaken where that is not the last one, or
	// the number of the record is not behind it.
	AddRecord(session string, after int64, r Record) error
	// PruneRecords takes away those that end before a number, but the last one.
	PruneRecords(session string, before int64) error
	PutText(t Text) error
	// PruneTexts takes away those whose time is over, at most limit, and says how many went.
	PruneTexts(now time.Time, limit int) (int, error)
	// PutOutgoing writes something that is to be told, over what has its number. TakeOutgoing takes it away: it was acknowledged. One that
	// is gone already is no error.
	PutOutgoing(o Outgoing) error
	TakeOutgoing(session string, n int64) error
	// Claim takes a session, or keeps it: the epoch rises where the owner is another one than before. *HeldError where another owner's lease
	// is not over (Lease.Over).
	Claim(session, owner string, now, until time.Time) (Lease, error)
	// Release gives it back, if the epoch is still the owner's.
	Release(session string, epoch int64) error
	// Fence is nil while the epoch is that of the session, else ErrFenced.
	Fence(session string, epoch int64) error
}

// Store keeps the sessions of all namespaces.
type Store interface {
	// Update runs fn, and what it wrote is durable when Update returns nil. fn may be run again, and runs beside those of other callers
	// in one transaction: it must not wait for anything. An error of it leaves nothing, and is the answer. A panic in it is the caller's.
	Update(ctx context.Context, namespace string, fn func(Tx) error) error
	// Read runs fn over one committed state.
	Read(ctx context.Context, namespace string, fn func(View) error) error
	// Due gives sessions of all namespaces whose Wake has come and whose lease is over (Lease.Over) or is owner's, the longest waiting first; and the
	// next time at which one will be, the zero time for none.
	Due(ctx context.Context, owner string, now time.Time, limit int) ([]Key, time.Time, error)
	// Telling gives the sessions of all namespaces of which something is to be told, by namespace and id, behind one of them. The zero Key
	// is the beginning.
	Telling(ctx context.Context, after Key, limit int) ([]Key, error)
	// Namespaces gives those that have a session, in order, behind one of them; empty is the beginning.
	Namespaces(ctx context.Context, after string, limit int) ([]string, error)
	Close() error
}
