package commitlog

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Records gives the records, in order.
func (l *Log) Records() ([]Record, error) {
	return query(l, "SELECT seq, kind, id, path, old, body FROM log ORDER BY seq", func(scan durable.Scanner) (Record, error) {
		var r Record
		err := scan(&r.Seq, &r.Kind, asID(&r.ID), &r.Path, asHash(&r.Old), &r.Body)
		return r, err
	})
}

// Plans gives the plans that were not fulfilled.
func (l *Log) Plans() (map[store.Thing]Plan, error) {
	list, err := query(l, "SELECT kind, id, old, new FROM plans", func(scan durable.Scanner) (Plan, error) {
		var p Plan
		err := scan(&p.Of.Kind, asID(&p.Of.ID), asHash(&p.Old), asHash(&p.New))
		return p, err
	})
	plans := make(map[store.Thing]Plan, len(list))
	for _, p := range list {
		plans[p.Of] = p
	}
	return plans, err
}

// Dropped says since when things are in the trash.
func (l *Log) Dropped() (map[store.Thing]time.Time, error) {
	list, err := query(l, "SELECT kind, id, at FROM trash", func(scan durable.Scanner) (d Dropped, err error) {
		var at int64
		err = scan(&d.Kind, asID(&d.ID), &at)
		d.At = time.UnixMicro(at).UTC()
		return d, err
	})
	dropped := make(map[store.Thing]time.Time, len(list))
	for _, d := range list {
		dropped[d.Thing] = d.At
	}
	return dropped, err
}

// Events gives at least n events after the one with the number since, fewer only where there are no more. The oldest that
// is kept is at least as old as that one, or the answer begins with an event that is not the next.
func (l *Log) Events(since int64, n int) (events []store.Event, err error) {
	bodies, err := durable.List(l.stmts, listEvents, func(scan durable.Scanner) (body []byte, err error) {
		err = scan(&body)
		return body, err
	}, since+1, n)
	for _, body := range bodies {
		var one []store.Event
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, fmt.Errorf("local.db holds events that cannot be read: %w", err)
		}
		events = append(events, one...)
	}
	return slices.DeleteFunc(events, func(e store.Event) bool { return e.Seq <= since }), err
}

// LastEvents gives the last n events or a few more, fewer where there are no more.
func (l *Log) LastEvents(n int) ([]store.Event, error) {
	var last int64
	if err := l.Row("SELECT coalesce(max(first), 0) FROM events").Scan(&last); err != nil || last == 0 {
		return nil, err
	}
	return l.Events(last-int64(n), n+1)
}

// Revisions lists what a node was, the last first, without the bodies.
func (l *Log) Revisions(node uuid.UUID) ([]Revision, error) {
	return durable.List(l.stmts, listRevisions, func(scan durable.Scanner) (Revision, error) {
		r := Revision{Node: node}
		var at int64
		err := scan(&r.Number, &at)
		r.At = time.UnixMicro(at).UTC()
		return r, err
	}, node[:])
}

// Revision gives what a node was; ok is false where that is gone.
func (l *Log) Revision(node uuid.UUID, number int64) (r Revision, ok bool, err error) {
	r = Revision{Node: node, Number: number}
	var at int64
	err = l.stmts.Row(getRevision, node[:], number).Scan(&at, &r.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return Revision{}, false, nil
	}
	r.At = time.UnixMicro(at).UTC()
	return r, err == nil, err
}

// LastStep is the number of the last step; 0 where there is none.
func (l *Log) LastStep() (n int64, err error) {
	err = l.Row("SELECT coalesce(max(n), 0) FROM steps").Scan(&n)
	return n, err
}

// Steps lists the steps of a flow, in order.
func (l *Log) Steps(flow uuid.UUID) ([]store.StepRef, error) {
	return durable.List(l.stmts, listSteps, func(scan durable.Scanner) (r store.StepRef, err error) {
		err = scan(&r.Number, &r.Undone)
		return r, err
	}, flow[:])
}

// Step gives one of them; ok is false where it is gone.
func (l *Log) Step(flow uuid.UUID, number int64) (s Step, ok bool, err error) {
	s = Step{Flow: flow, Number: number}
	var at int64
	err = l.stmts.Row(getStep, flow[:], number).Scan(&s.Undone, &at, &s.Done, &s.Back)
	if errors.Is(err, sql.ErrNoRows) {
		return Step{}, false, nil
	}
	s.At = time.UnixMicro(at).UTC()
	return s, err == nil, err
}

// FlowsOf gives the flows that held a node once.
func (l *Log) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) {
	return durable.List(l.stmts, listFlows, func(scan durable.Scanner) (id uuid.UUID, err error) {
		err = scan(asID(&id))
		return id, err
	}, node[:])
}

// Files gives what the tree's files were like, by path.
func (l *Log) Files() (map[string]File, error) {
	zones := map[int]*time.Location{0: time.UTC}
	list, err := query(l, "SELECT path, size, mtime, hash, id, at, zone, created, problem FROM files", func(scan durable.Scanner) (File, error) {
		var f File
		var micros, created int64
		var zone int
		err := scan(&f.Path, &f.Size, &f.ModTime, asHash(&f.Hash), asID(&f.ID), &micros, &zone, &created, &f.Problem)
		if zones[zone] == nil {
			zones[zone] = time.FixedZone("", zone)
		}
		f.Time, f.Created = time.UnixMicro(micros).In(zones[zone]), time.UnixMicro(created).UTC()
		return f, err
	})
	files := make(map[string]File, len(list))
	for _, f := range list {
		files[f.Path] = f
	}
	return files, err
}

// State gives the counters.
func (l *Log) State() (State, error) {
	var s State
	_, err := query(l, "SELECT key, value FROM state", func(scan durable.Scanner) (struct{}, error) {
		var key string
		var value int64
		err := scan(&key, &value)
		switch key {
		case "last":
			s.Last = time.UnixMicro(value)
		case "next_node":
			s.NextNode = int(value)
		case "next_flow":
			s.NextFlow = int(value)
		}
		return struct{}{}, err
	})
	return s, err
}

func query[T any](l *Log, text string, read func(durable.Scanner) (T, error)) ([]T, error) {
	rows, err := l.Rows(text)
	return durable.Collect(rows, err, read)
}

// fixed reads a column into an array of bytes.
type fixed []byte

// Scan implements sql.Scanner.
func (f fixed) Scan(column any) error {
	data, ok := column.([]byte)
	if !ok || len(data) != len(f) {
		return fmt.Errorf("a column of local.db is not %d bytes long", len(f))
	}
	copy(f, data)
	return nil
}

func asID(id *uuid.UUID) fixed { return id[:] }

func asHash(h *Hash) fixed { return h[:] }
