// Package store is the port to whatever keeps nodes and flows: reads of committed state and ONE writing method.
//
// Every rule that looks before it writes (cycle, membership, request id, taken id) is evaluated inside Update: checked
// outside, two callers make a cycle every time. storetest holds the conformance suite that every engine passes.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// What an engine answers when a thing is not there or cannot be written. Test with errors.Is.
var (
	ErrNodeNotFound = errors.New("no such node")
	ErrFlowNotFound = errors.New("no such flow")
	// ErrTaken: the id of a new node or flow is in use.
	ErrTaken = errors.New("the id is taken")
	// ErrFull: the namespace holds MaxFiles nodes, or flows.
	ErrFull = errors.New("the namespace is full: it takes 1,000,000 nodes and 1,000,000 flows; go on in another namespace or data folder")
	// ErrClosed: the store is closed or closing.
	ErrClosed = errors.New("the store is closed")
)

const (
	// MaxFiles is how many nodes a namespace takes, and how many flows (seed 004, 8.4).
	MaxFiles = 1_000_000
	// RequestLifetime is how long the id of a request is remembered.
	RequestLifetime = 24 * time.Hour
)

// NamespaceError says that a name cannot be that of a namespace.
type NamespaceError struct{ Name string }

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("%q cannot be a namespace: 1 to 63 characters of a-z, 0-9 and -, the first and the last no -", e.Name)
}

// ReadOnlyError says that the store cannot write any more (disk full, read-only volume, failed fsync). Reads go on.
type ReadOnlyError struct{ Cause error }

func (e *ReadOnlyError) Error() string { return fmt.Sprintf("the store cannot write: %v", e.Cause) }

// Unwrap gives the cause.
func (e *ReadOnlyError) Unwrap() error { return e.Cause }

// UnreadableError says that a file is there but is no node or flow. The file is left as it is.
type UnreadableError struct {
	// Path is relative to the namespace's tree, such as `nodes/000/001.xml`.
	Path   string
	Reason string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s cannot be read: %s", e.Path, e.Reason)
}

// Store keeps nodes and flows. Safe for concurrent use. Reads see every acknowledged Update.
// Values that it returns are shared: callers do not write to them. Every method with a namespace answers *NamespaceError
// for a name that cannot be one, and ErrClosed after Close; reading makes no namespace.
type Store interface {
	// Node gives a node. ErrNodeNotFound; *UnreadableError.
	Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error)
	// Flow gives a flow. ErrFlowNotFound; *UnreadableError.
	Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error)
	// Nodes lists the nodes behind an entry, newest first by creation, of equally old ones the larger id first; at most n.
	// The zero Entry stands before the first, and one that is gone keeps its place. What cannot be read is listed too, with
	// the zero time where nobody knows when it was made. Costs what it gives: no file is read.
	Nodes(ctx context.Context, ns string, after Entry, n int) ([]Entry, error)
	// Flows lists the flows, as Nodes does.
	Flows(ctx context.Context, ns string, after Entry, n int) ([]Entry, error)
	// Update runs fn and makes what it wrote durable; when it returns nil, no power cut loses it. fn sees its own writes
	// and those of earlier functions of the same batch. It may be run again and on another goroutine, so it has no effect
	// but through Tx and never ends its goroutine (as t.Fatal does). An error of fn leaves nothing and is returned as it
	// is; so does a panic, which comes out of Update. *ReadOnlyError; ErrClosed; ctx's error if it ended before fn began.
	Update(ctx context.Context, ns string, fn func(Tx) error) error
	// Flush returns when the text files hold every acknowledged Update, and says how many files it wrote.
	Flush(ctx context.Context, ns string) (files int, err error)
	// Problems lists files that cannot be read, duplicated ids and the like, of one namespace, by path.
	Problems(ctx context.Context, ns string) ([]Problem, error)
	// Close writes what is pending and lets go of the data. Later calls answer ErrClosed.
	Close() error
}

// Entry is the place of a node or flow in a list.
type Entry struct {
	// Created is when it was made; it counts to the microsecond.
	Created time.Time
	ID      uuid.UUID
}

// Tx is the view of one Update. It is not kept and not used by two goroutines.
type Tx interface {
	// Now is the time of this transaction: later than that of every transaction before it, also when the clock goes back
	// (field/flowstore.md row 11), to the microsecond.
	Now() time.Time
	// HasNode says whether a node is stored. Reads no file.
	HasNode(id uuid.UUID) (bool, error)
	// Node and Flow read as Store does, with the writes of this batch.
	Node(id uuid.UUID) (node.Node, error)
	Flow(id uuid.UUID) (flow.Flow, error)
	// CreateNode stores a new node. ErrTaken; ErrFull.
	CreateNode(n node.Node) error
	// CreateFlow stores a new flow. ErrTaken; ErrFull.
	CreateFlow(f flow.Flow) error
	// ChangeFlow applies a change that flow.Flow.Check accepted. ErrFlowNotFound.
	ChangeFlow(id uuid.UUID, c flow.Change) error
	// Request gives what an earlier request with this id did; ok is false where there was none in the RequestLifetime.
	Request(id uuid.UUID) (r Request, ok bool, err error)
	// PutRequest remembers what this request did, for the RequestLifetime, in place of what the id stood for.
	PutRequest(r Request) error
}

// Request is what a request with an id did, so that it is answered the same when it comes again.
type Request struct {
	ID uuid.UUID
	// Digest is a hash of the request: the same id with another digest is refused.
	Digest string
	// Result is the id of the node or flow that it made.
	Result uuid.UUID
}

// Problem is a file that needs a person.
type Problem struct{ Path, Reason string }

// CheckNamespace says whether a name can be that of a namespace (package namespace): it becomes the name of a folder, also
// on disks that take A for a. The error is a *NamespaceError.
func CheckNamespace(ns string) error {
	if !namespace.Valid(ns) {
		return &NamespaceError{ns}
	}
	return nil
}

// Later gives the time of a transaction by the rule of Tx.Now: the clock's, or just after that of the one before.
func Later(last, clock time.Time) time.Time {
	now := clock.Truncate(time.Microsecond)
	if now.After(last) {
		return now
	}
	return last.Add(time.Microsecond).In(clock.Location())
}
