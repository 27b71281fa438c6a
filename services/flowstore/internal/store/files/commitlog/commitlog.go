// Package commitlog is a namespace's local.db: what was acknowledged and is not in the tree yet, the ids of requests, and
// what the tree's files were like when they were last read or written.
//
// It is SQLite (pure Go) with a write-ahead log; a transaction is one fsync. Nothing here knows what a node is: bodies are
// bytes. All of it but the records and requests can be made again from the tree.
package commitlog

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ErrFull is durable.ErrFull.
var ErrFull = durable.ErrFull

// Hash is the SHA-256 of a file. The zero Hash stands for no file.
type Hash [sha256.Size]byte

// HashOf gives the hash of a file's bytes.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// Kind is what a record writes.
type Kind int

// The kinds of records.
const (
	// NodeMade has the node's file as its body.
	NodeMade Kind = 1
	// FlowMade has the flow's file as its body.
	FlowMade Kind = 2
	// FlowChanged has a flow.Change as its body, in JSON: a node added to a flow of 10,000 does not log a megabyte.
	FlowChanged Kind = 3
	// NodeChanged has the node's whole file as its body.
	NodeChanged Kind = 4
	// NodeDropped and FlowDropped put files into the trash, NodeRestored and FlowRestored take them out. The body is a list of
	// their places in the tree, in JSON.
	NodeDropped  Kind = 5
	FlowDropped  Kind = 6
	NodeRestored Kind = 7
	FlowRestored Kind = 8
	// NodePurged and FlowPurged take files away for good. The body is what the engine needs for that, in JSON.
	NodePurged Kind = 9
	FlowPurged Kind = 10
)

// Record is one acknowledged write whose file is not in the tree yet.
type Record struct {
	// Seq rises from record to record.
	Seq  int64
	Kind Kind
	ID   uuid.UUID
	// Path is the file that it makes or changes.
	Path string
	// Old is the hash of the file that it replaces.
	Old  Hash
	Body []byte
}

// Plan says which file of a thing is about to be replaced by which, so that after a crash between the two a file that we
// wrote is told from one that a person changed. It counts instead of the Old of the thing's records.
type Plan struct {
	Of       store.Thing
	Old, New Hash
}

// Revision is what a node was before it was replaced.
type Revision struct {
	Node uuid.UUID
	// Number rises from revision to revision; Apply gives it.
	Number int64
	// At is when it was replaced.
	At time.Time
	// Body is the node's file. Revisions leaves it out.
	Body []byte
}

// Membership says that a flow held a node once. It is not taken back: who asks looks whether the flow still does.
type Membership struct{ Node, Flow uuid.UUID }

// File is what a file of the tree was like when it was last read or written.
type File struct {
	Path          string
	Size, ModTime int64
	Hash          Hash
	// ID is what it holds; Time is when that was made (a node) or changed (a flow). Zero for an index.
	ID   uuid.UUID
	Time time.Time
	// Created is when that was made.
	Created time.Time
	// Problem says why it could not be read. ID is then what it held before; zero where nobody knows.
	Problem string
}

// State are the counters of a namespace.
type State struct {
	// Last is the time of the last transaction.
	Last time.Time
	// NextNode and NextFlow are slots that were never used.
	NextNode, NextFlow int
}

// Step is a change of a flow that can be undone, or was.
type Step struct {
	Flow   uuid.UUID
	Number int64
	Undone bool
	At     time.Time
	// New says that those of the flow which were undone go.
	New bool
	// Done and Back are flow.Changes, in JSON.
	Done, Back []byte
}

// Dropped says since when a thing is in the trash; the zero time, that it is not.
type Dropped struct {
	store.Thing
	At time.Time
}

// Changes is what one transaction does.
type Changes struct {
	// Done are taken away, by Seq; then Records are added.
	Done    []int64
	Records []Record
	// Requests are remembered since At; those of Forget and earlier are forgotten, if it is set.
	Requests   []store.Request
	At, Forget time.Time
	// Plans are put in place of those of the same thing; Fulfilled are taken away.
	Plans     []Plan
	Fulfilled []store.Thing
	// Revisions are added; the oldest of a node go, as store.MaxRevisions and store.MaxRevisionBytes say.
	Revisions []Revision
	// Dropped are noted.
	Dropped []Dropped
	// Events are added, in order; all that are older than the event Prune may be forgotten.
	Events []store.Event
	Prune  int64
	// Steps are added, or put in place of those with the same number.
	Steps []Step
	// OldSteps are flows of which the oldest steps go, as store.MaxSteps and store.MaxStepBytes say.
	OldSteps []uuid.UUID
	// Purged are things of which everything goes but the records that purge them.
	Purged []store.Thing
	// Members are added to what FlowsOf gives.
	Members []Membership
	// Files are put in place of those of the same path; Gone are taken away.
	Files []File
	Gone  []string
	// State is put in place of the one before, unless nil.
	State *State
}

// Log is an open local.db. It is used by one goroutine at a time.
type Log struct {
	*durable.DB
	stmts durable.Statements
	// grown is about how many bytes the write-ahead log grew since the last checkpoint.
	grown int64
}

// Open opens local.db and makes it where it is not there. It fails where SQLite would not keep what it acknowledges.
func Open(path string) (*Log, error) {
	db, err := durable.Open(path, migrate)
	if err != nil {
		return nil, err
	}
	return newLog(db)
}

func newLog(db *durable.DB) (*Log, error) {
	stmts, err := db.Prepare(texts...)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Log{DB: db, stmts: stmts}, nil
}

// checkpointBytes is how far the write-ahead log grows before a checkpoint is worth it, busyCheckpointBytes before one is made
// although callers wait for it.
const (
	checkpointBytes     = 4 << 20
	busyCheckpointBytes = 64 << 20
)

// Grown says that a checkpoint is worth it.
func (l *Log) Grown() bool { return l.grown >= checkpointBytes }

// Checkpoint moves what was committed from the write-ahead log into the database, when it has Grown; while callers wait (busy),
// only when it would become too large. It takes some milliseconds for each 4 MiB and is not needed for durability.
func (l *Log) Checkpoint(busy bool) error {
	if !l.Grown() || busy && l.grown < busyCheckpointBytes {
		return nil
	}
	l.grown = 0
	return l.DB.Checkpoint()
}

// Rewrite leaves nothing of what was deleted on the disk (durable.DB.Rewrite). ErrFull.
func (l *Log) Rewrite() error {
	if err := l.DB.Rewrite(); err != nil {
		return err
	}
	l.grown = 0
	return nil
}

// Close empties the write-ahead log and closes the database.
func (l *Log) Close() error { return errors.Join(l.stmts.Close(), l.DB.Close()) }
