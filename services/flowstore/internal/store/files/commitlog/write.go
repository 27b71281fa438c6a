package commitlog

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Apply makes changes durable in one transaction, all of them or none. ErrFull; after any other error it is not known what
// is on the disk, and nothing more should be acknowledged.
func (l *Log) Apply(c Changes) error {
	err := l.Transaction(func() error {
		for _, apply := range []func(Changes) error{
			l.applyRecords, l.applyRequests, l.applyPlans, l.applyRevisions, l.applyDropped, l.applySteps, l.applyEvents, l.applyMembers,
			l.applyFiles, l.applyState, l.applyPurged,
		} {
			if err := apply(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	l.grown += c.bytes()
	return nil
}

// bytes is about what a transaction adds to the write-ahead log: pages of 4 KiB, each once.
func (c Changes) bytes() int64 {
	size := int64(4096 * (4 + len(c.Done) + len(c.Requests) + len(c.Members)))
	for _, r := range c.Records {
		size += int64(len(r.Body))
	}
	size += int64(200 * len(c.Events))
	for _, s := range c.Steps {
		size += int64(len(s.Done) + len(s.Back))
	}
	for _, r := range c.Revisions {
		size += int64(len(r.Body)) + 8192
	}
	return size
}

// applyRecords takes away before it adds: a record may be put in place of another with its number.
func (l *Log) applyRecords(c Changes) error {
	for _, seq := range c.Done {
		if err := l.stmts.Run(dropRecord, seq); err != nil {
			return err
		}
	}
	for _, r := range c.Records {
		if err := l.stmts.Run(addRecord, r.Seq, int(r.Kind), r.ID[:], r.Path, r.Old[:], r.Body); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) applyRequests(c Changes) error {
	for _, r := range c.Requests {
		if err := l.stmts.Run(putRequest, r.ID[:], c.At.UnixMicro(), r.Digest, r.Result[:]); err != nil {
			return err
		}
	}
	if c.Forget.IsZero() {
		return nil
	}
	return l.stmts.Run(oldRequests, c.Forget.UnixMicro())
}

func (l *Log) applyPlans(c Changes) error {
	for _, p := range c.Plans {
		if err := l.stmts.Run(putPlan, p.Of.Kind, p.Of.ID[:], p.Old[:], p.New[:]); err != nil {
			return err
		}
	}
	for _, of := range c.Fulfilled {
		if err := l.stmts.Run(dropPlan, of.Kind, of.ID[:]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) applyRevisions(c Changes) error {
	for _, r := range c.Revisions {
		if err := l.stmts.Run(addRevision, r.Node[:], r.At.UnixMicro(), r.Body); err != nil {
			return err
		}
		if err := l.stmts.Run(oldRevisions, r.Node[:], store.MaxRevisions, store.MaxRevisionBytes); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) applyDropped(c Changes) error {
	for _, d := range c.Dropped {
		text, args := putDropped, []any{d.Kind, d.ID[:], d.At.UnixMicro()}
		if d.At.IsZero() {
			text, args = dropDropped, args[:2]
		}
		if err := l.stmts.Run(text, args...); err != nil {
			return err
		}
	}
	return nil
}

// applySteps does one after the other: a later one may undo what an earlier one did. The oldest of a flow go now and then, since
// to find them costs more than to keep a few.
func (l *Log) applySteps(c Changes) error {
	for _, s := range c.Steps {
		if s.New {
			if err := l.stmts.Run(cutSteps, s.Flow[:]); err != nil {
				return err
			}
		}
		if err := l.stmts.Run(putStep, s.Number, s.Flow[:], s.Undone, s.At.UnixMicro(), s.Done, s.Back); err != nil {
			return err
		}
	}
	for _, flow := range c.OldSteps {
		if err := l.stmts.Run(oldSteps, flow[:], store.MaxSteps, store.MaxStepBytes); err != nil {
			return err
		}
	}
	return nil
}

// applyEvents keeps the events of a transaction as one row: a row each would double what a node costs.
func (l *Log) applyEvents(c Changes) error {
	if c.Prune > 0 {
		if err := l.stmts.Run(oldEvents, c.Prune); err != nil {
			return err
		}
	}
	if len(c.Events) == 0 {
		return nil
	}
	body, err := json.Marshal(c.Events)
	if err != nil {
		return err
	}
	return l.stmts.Run(addEvents, c.Events[0].Seq, body)
}

func (l *Log) applyMembers(c Changes) error {
	for _, m := range c.Members {
		if err := l.stmts.Run(addMember, m.Node[:], m.Flow[:]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) applyFiles(c Changes) error {
	for _, f := range c.Files {
		_, zone := f.Time.Zone()
		if err := l.stmts.Run(putFile, f.Path, f.Size, f.ModTime, f.Hash[:], f.ID[:], f.Time.UnixMicro(), zone, f.Created.UnixMicro(), f.Problem); err != nil {
			return err
		}
	}
	for _, path := range c.Gone {
		if err := l.stmts.Run(dropFile, path); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) applyState(c Changes) error {
	if c.State == nil {
		return nil
	}
	return l.stmts.Run(putState, c.State.Last.UnixMicro(), c.State.NextNode, c.State.NextFlow)
}

// Request gives what is remembered of a request since a time; ok is false where there is nothing.
func (l *Log) Request(id uuid.UUID, since time.Time) (r store.Request, ok bool, err error) {
	r.ID = id
	row := l.stmts.Row(getRequest, id[:], since.UnixMicro())
	err = row.Scan(&r.Digest, asID(&r.Result))
	if errors.Is(err, sql.ErrNoRows) {
		return store.Request{}, false, nil
	}
	return r, err == nil, err
}
