// Package commitlog is a namespace's local.db: what was acknowledged and is not in the tree yet, the ids of requests, and
// what the tree's files were like when they were last read or written.
//
// It is SQLite (pure Go) with a write-ahead log; a transaction is one fsync. Nothing here knows what a node is: bodies are
// bytes. All of it but the records and requests can be made again from the tree.
package commitlog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ErrFull says that the disk is full: nothing is broken, and writing works again when there is room.
var ErrFull = errors.New("the disk is full")

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
	db    *sql.DB
	conn  *sql.Conn
	stmts statements
	// grown is about how many bytes the write-ahead log grew since the last checkpoint.
	grown int64
	// wal is synced behind each commit, where SQLite does not do it (synchronous); else nil.
	wal *os.File
}

// Open opens local.db and makes it where it is not there. It fails where SQLite would not keep what it acknowledges.
func Open(path string) (*Log, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, err
	}
	l := &Log{db: db}
	if err := l.start(path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, whyNotOpen(path, err)), l.Close())
	}
	return l, nil
}

// private makes the database readable for its owner alone, as what it holds is of nobody else's business. SQLite gives the
// files that it makes beside it the mode of the database; those that are there may be older than this rule.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Chmod(0o600), f.Close())
	for _, beside := range []string{path + "-wal", path + "-shm"} {
		if e := os.Chmod(beside, 0o600); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// dataSource is the file and how it is used: each commit is synced, by SQLite or by us (synchronous), checkpoints come when they are asked for, what
// is deleted is overwritten, and macOS is told to mean it when it syncs.
func dataSource(path string) string {
	query := url.Values{"_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", fmt.Sprintf("synchronous(%d)", synchronous), "wal_autocheckpoint(0)",
		"secure_delete(ON)", "fullfsync(ON)", "checkpoint_fullfsync(ON)",
	}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

func (l *Log) start(path string) (err error) {
	ctx := context.Background()
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	if err := l.assertDurable(); err != nil {
		return err
	}
	if err := l.migrate(); err != nil {
		return err
	}
	if l.wal, err = openWAL(path); err != nil {
		return err
	}
	if err := l.sync(); err != nil { // what an older version has become
		return err
	}
	l.stmts, err = prepare(l.conn)
	return err
}

// sync makes what was committed durable.
func (l *Log) sync() error {
	if l.wal == nil {
		return nil
	}
	return syncData(l.wal)
}

// assertDurable checks what SQLite made of the settings: on some file systems it cannot do WAL and says so only here.
func (l *Log) assertDurable() error {
	var level int
	var journal string
	if err := l.row("PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if err := l.row("PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	if level != synchronous || journal != "wal" {
		return fmt.Errorf("SQLite runs with synchronous=%d and journal_mode=%s instead of %d and wal: a power cut could lose "+
			"what was acknowledged; use a local disk", level, journal, synchronous)
	}
	return nil
}

func (l *Log) row(query string) *sql.Row {
	return l.conn.QueryRowContext(context.Background(), query)
}

func (l *Log) exec(query string) error {
	_, err := l.conn.ExecContext(context.Background(), query)
	return err
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
	return l.exec("PRAGMA wal_checkpoint(PASSIVE)")
}

// Rewrite writes the database anew, and makes the write-ahead log a file of no bytes, so that neither holds anything that was
// deleted: SQLite overwrites what it deletes (secure_delete), but not what it moved from one page to another before that. It
// takes about a second for 100 MB, and as much room on the disk meanwhile. ErrFull.
func (l *Log) Rewrite() error {
	if err := l.exec("VACUUM"); isFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	} else if err != nil {
		return err
	}
	var busy, pages, moved int
	if err := l.row("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("local.db is in use by another program; its write-ahead log cannot be emptied")
	}
	l.grown = 0
	return nil
}

// Close empties the write-ahead log and closes the database.
func (l *Log) Close() error {
	var errs []error
	if l.stmts != nil {
		errs = append(errs, l.exec("PRAGMA wal_checkpoint(TRUNCATE)"), l.stmts.close())
	}
	if l.conn != nil {
		errs = append(errs, l.conn.Close())
	}
	if l.wal != nil {
		errs = append(errs, l.wal.Close())
	}
	return errors.Join(append(errs, l.db.Close())...)
}
