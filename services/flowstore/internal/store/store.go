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
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
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
	// ErrNotDropped: what is to come back is not in the trash.
	ErrNotDropped = errors.New("it is not in the trash")
	// ErrNoStep: the step is not kept, or never was.
	ErrNoStep = errors.New("no such step")
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
	return fmt.Sprintf("%q cannot be a namespace: 1 to 63 characters of a-z, 0-9 and -, the first and the last no -, and no device of Windows such as con", e.Name)
}

// CrowdedError says that a namespace cannot be opened, since as many are open as one process takes. They stay open until it ends.
type CrowdedError struct {
	Namespace string
	Limit     int
}

func (e *CrowdedError) Error() string {
	return fmt.Sprintf("namespace %s cannot be opened: %d namespaces are open, the limit of one process; restart the service, which opens those that are used, "+
		"or let another one with a data folder of its own serve some of them", e.Namespace, e.Limit)
}

// Kind is what an id belongs to. A node and a flow may have the same id.
type Kind string

// The kinds.
const (
	KindNode Kind = "node"
	KindFlow Kind = "flow"
)

// Name is what people call the thing with an id: `nodes/{uuid}`, `flows/{uuid}`.
func (k Kind) Name(id uuid.UUID) string {
	if k == KindNode {
		return node.Name(id)
	}
	return flow.Name(id)
}

// NotFound is the error for a thing of this kind that is not there.
func (k Kind) NotFound() error {
	if k == KindNode {
		return ErrNodeNotFound
	}
	return ErrFlowNotFound
}

// Gone says that an error is about a thing that is not there, is in the trash, was purged, or can be read no longer, and not about
// the engine.
func Gone(err error) bool {
	return errors.Is(err, ErrNodeNotFound) || errors.Is(err, ErrFlowNotFound) || errors.As(err, new(*UnreadableError))
}

// Reader reads nodes and flows: a Tx, or Everything.
type Reader interface {
	Node(id uuid.UUID) (node.Node, error)
	Flow(id uuid.UUID) (flow.Flow, error)
}

// Thing is a node or a flow.
type Thing struct {
	Kind Kind      `json:"kind"`
	ID   uuid.UUID `json:"id"`
}

// Read gives the error that reading the thing has, nil where it can be read.
func (t Thing) Read(r Reader) (err error) {
	if t.Kind == KindNode {
		_, err = r.Node(t.ID)
	} else {
		_, err = r.Flow(t.ID)
	}
	return err
}

// DroppedError says that a thing is in the trash. It is ErrNodeNotFound or ErrFlowNotFound, too.
type DroppedError struct {
	Thing
	// At is when it was dropped.
	At time.Time
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("%s was deleted at %s and is in the trash", e.Kind.Name(e.ID), e.At.Format(time.RFC3339))
}

// Unwrap says that it is not there.
func (e *DroppedError) Unwrap() error { return e.Kind.NotFound() }

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
	// Node gives a node. ErrNodeNotFound, as *DroppedError where it is in the trash, as *PurgedError where it was purged;
	// *UnreadableError.
	Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error)
	// Flow gives a flow. ErrFlowNotFound, as for Node; *UnreadableError.
	Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error)
	// Nodes lists the nodes behind an entry, in an order; at most n. The zero Entry stands before the first, and one that is
	// gone, or never was, has its place. What cannot be read is listed too, with the zero time where nobody knows when it
	// was made. Costs what it gives: no file is read.
	Nodes(ctx context.Context, ns string, order Order, after Entry, n int) ([]Entry, error)
	// Flows lists the flows, as Nodes does.
	Flows(ctx context.Context, ns string, order Order, after Entry, n int) ([]Entry, error)
	// Dropped lists what of a kind is in the trash, as Nodes does: last dropped first. An entry's time is when that was.
	Dropped(ctx context.Context, ns string, kind Kind, after Entry, n int) ([]Entry, error)
	// DroppedNode and DroppedFlow read what is in the trash, and tell since when it is there. ErrNotDropped; *UnreadableError.
	DroppedNode(ctx context.Context, ns string, id uuid.UUID) (node.Node, time.Time, error)
	DroppedFlow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, time.Time, error)
	// Revisions lists what a node was before, and what else has its id: other files first, as they would count after the
	// node itself (field/flowstore.md row 13), then what ReplaceNode replaced, the last first. Of the latter the
	// last MaxRevisions are kept, fewer where they take more than MaxRevisionBytes. ErrNodeNotFound.
	Revisions(ctx context.Context, ns string, id uuid.UUID) ([]Revision, error)
	// Revision reads one that Revisions listed. ErrNodeNotFound where it is gone; *UnreadableError.
	Revision(ctx context.Context, ns string, id uuid.UUID, r Revision) (node.Node, error)
	// Search gives a page of the nodes that satisfy a query (package search): also those whose CreateNode or ReplaceNode has
	// just returned, and none of the trash. *search.PageError; *search.QueryError for a flow that is not known.
	Search(ctx context.Context, ns string, q *search.Query, page search.Page) (search.Result, error)
	// Tags lists the tags that begin with a text, as search.Index.Tags does. *search.PageError.
	Tags(ctx context.Context, ns, prefix, after string, size int) (TagPage, error)
	// Events gives up to n events after the one with the number since, and waits until there is one or ctx ends. LastEvent is
	// where to begin. A reader that is slow slows nobody: it has no queue. ErrPruned. Both make the namespace where it is not
	// there, as what is waited for will be there.
	Events(ctx context.Context, ns string, since int64, n int) ([]Event, error)
	// LastEvent is the number of the last event, or that before the first one.
	LastEvent(ctx context.Context, ns string) (int64, error)
	// Update runs fn and makes what it wrote durable; when it returns nil, no power cut loses it. fn sees its own writes
	// and those of earlier functions of the same batch. It may be run again and on another goroutine, so it has no effect
	// but through Tx and never ends its goroutine (as t.Fatal does). An error of fn leaves nothing and is returned as it
	// is; so does a panic, which comes out of Update. *ReadOnlyError; ErrClosed; ctx's error if it ended before fn began.
	Update(ctx context.Context, ns string, fn func(Tx) error) error
	// Purged tells of a thing that was purged. ErrNodeNotFound or ErrFlowNotFound where it was not.
	Purged(ctx context.Context, ns string, t Thing) (Purged, error)
	// Flush returns when the text files hold every acknowledged Update, and nothing holds what was purged; it says how many files
	// it wrote.
	Flush(ctx context.Context, ns string) (files int, err error)
	// Problems lists files that cannot be read, duplicated ids and the like, of one namespace, by path.
	Problems(ctx context.Context, ns string) ([]Problem, error)
	// Look reads all that is stored in a namespace, after a Flush where the store can write, and tells what is wrong with it.
	// progress is told how many of the files were read, by one goroutine at a time; it keeps the look waiting and nobody
	// else. What may be wrong only because files are written one after another is looked at a second time, and read rises
	// from 0 again. One look runs at a time and others wait. ctx's error when it ends.
	Look(ctx context.Context, ns string, progress func(read, files int)) (Look, error)
	// Mend does, of what Look finds, what is derived or certain, and stops no other call: what has changes on their way is left
	// for another time. It never deletes: files are copied to Mended.Folder before they are changed. *ReadOnlyError.
	Mend(ctx context.Context, ns string, o MendOptions, progress func(read, files int)) (Mended, error)
	// Close writes what is pending and lets go of the data. Later calls answer ErrClosed.
	Close() error
}

const (
	// MaxRevisions is how many earlier revisions of a node are kept.
	MaxRevisions = 100
	// MaxRevisionBytes is how much they may take; the last one is kept in any case.
	MaxRevisionBytes = 32 << 20
)

// Revision is an earlier or other version of a node: a file with its id, or what was replaced.
type Revision struct {
	// Path is the file, relative to the namespace's tree; empty for what was replaced.
	Path string
	// Number counts what was replaced, over the whole namespace; 0 for a file.
	Number int64
	// At is when it was replaced, or the time in the file.
	At time.Time
}

// TagPage is a part of the list of tags.
type TagPage struct {
	Tags []search.Tag
	// Next is the key behind which the next page begins; empty on the last.
	Next string
	// Approximate says that nodes are still being read, or that there are more than the index takes.
	Approximate bool
}

// Order is that of a list.
type Order bool

const (
	// NewestFirst is by creation, of equally old ones the larger id first.
	NewestFirst Order = false
	// OldestFirst is NewestFirst backwards.
	OldestFirst Order = true
)

// Entry is the place of a node or flow in a list.
type Entry struct {
	// Created is when it was made, or dropped in a list of the trash; it counts to the microsecond.
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
	// FlowsOf gives the flows that hold a node, by id, without those in the trash. One whose file cannot be read is left
	// out: nobody can change it.
	FlowsOf(node uuid.UUID) ([]uuid.UUID, error)
	// CreateNode stores a new node. ErrTaken, with a *DroppedError where the id is in the trash; *PurgedError; ErrFull.
	CreateNode(n node.Node) error
	// ReplaceNode puts a node in place of the one with its id, and keeps that as a revision. Created must be as it was.
	// ErrNodeNotFound; *UnreadableError.
	ReplaceNode(n node.Node) error
	// CreateFlow stores a new flow. ErrTaken, with a *DroppedError where the id is in the trash; *PurgedError; ErrFull.
	CreateFlow(f flow.Flow) error
	// ChangeFlow applies a change that flow.Flow.Check accepted. One that is a step (flow.Change.Step) can be undone, and cuts off
	// those that were undone. ErrFlowNotFound.
	ChangeFlow(id uuid.UUID, c flow.Change) error
	// Steps lists the steps of a flow, in order: those that stand, then those that were undone. The last MaxSteps are kept.
	Steps(flow uuid.UUID) ([]StepRef, error)
	// Step reads one of them. ErrNoStep.
	Step(flow uuid.UUID, ref StepRef) (Step, error)
	// MoveStep applies a change that undoes a step, or does it again, and keeps the step as it is given. ErrFlowNotFound.
	MoveStep(flow uuid.UUID, s Step, c flow.Change) error
	// Drop puts a thing into the trash, all files that have its id. ErrNodeNotFound; ErrFlowNotFound; *UnreadableError.
	Drop(t Thing) error
	// Restore takes a thing out of the trash, as it was. ErrNotDropped; *UnreadableError.
	Restore(t Thing) error
	// Purge takes a thing away for good, from the tree or the trash, with all that was kept of it; a tombstone stays, and its
	// id is not given again. After the next Flush no file that the store writes holds what it was. Events and the ids of requests
	// stay: they name it, and hold nothing of it. What is in no file any more can be purged as long as something else of it is
	// kept. reason is as CheckReason wants it. ErrNodeNotFound or ErrFlowNotFound, as *PurgedError the second time; *UnreadableError.
	Purge(t Thing, reason string) error
	// Erase takes away what came back of a thing that was purged, or was not found then; its tombstone stays as it is.
	// ErrNodeNotFound or ErrFlowNotFound where it was not purged.
	Erase(t Thing) error
	// Everything reads the trash, too.
	Everything() Everything
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
