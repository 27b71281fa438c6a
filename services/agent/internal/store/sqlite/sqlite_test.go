package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/storetest"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Engine {
		t.Helper()
		path := filepath.Join(t.TempDir(), "agent.db")
		return func(t *testing.T) store.Store {
			t.Helper()
			return open(t, path)
		}
	})
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestPlans: no statement goes through a table, or sorts what an index has in order. Those that are looked for by an owner or the like go
// through an index of a namespace.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "agent.db"))
	// What was found is a row of the statement itself.
	scans := []string{"SCAN CONSTANT ROW", "SCAN found"}
	for _, text := range slices.Concat(reads, writes) {
		if !strings.ContainsAny(text, "?") { // none of a table
			continue
		}
		rows, err := s.writer.Rows("EXPLAIN QUERY PLAN "+text, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		plan, err := durable.Collect(rows, err, func(scan durable.Scanner) (step string, err error) {
			var skip int
			err = scan(&skip, &skip, &skip, &step)
			return step, err
		})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, step := range plan {
			if (strings.HasPrefix(step, "SCAN") && !slices.ContainsFunc(scans, func(s string) bool { return strings.HasPrefix(step, s) })) || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s: %q", text, plan)
			}
		}
	}
}

// TestManyThatWait: with many sessions that wait for a person, a store is opened, asked for what is to be done and for all approvals,
// without what nobody asked for being read.
func TestManyThatWait(t *testing.T) {
	t.Parallel()
	many := 10_000
	if testkit.Race { // SQLite is forty times as slow with it.
		many = 1000
	}
	path, now := filepath.Join(t.TempDir(), "agent.db"), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, path)
	body := make([]byte, 1<<10)
	err := s.Update(t.Context(), "a", func(tx store.Tx) error {
		for i := range many {
			id, at := fmt.Sprintf("s%05d", i), now.Add(time.Duration(i)*time.Second)
			errS := tx.PutSession(store.Session{ID: id, Owner: "ann", Lifecycle: "OPEN", Waits: true, Created: at, Wake: at.Add(time.Hour), Body: body})
			errA := tx.PutApproval(store.Approval{ID: "a" + id, Session: id, State: "PENDING", Created: at, Body: body})
			if err := errors.Join(errS, errA); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s = open(t, path)
	due, next, err := s.Due(t.Context(), "", now, 64)
	if err != nil || len(due) != 0 || !next.Equal(now.Add(time.Hour)) {
		t.Errorf("%v, %v, %v", due, next, err)
	}
	seen := map[string]bool{}
	for place, pages := (store.Place{}), 0; ; pages++ {
		var page []store.Approval
		if err := s.Read(t.Context(), "a", func(v store.View) (err error) {
			page, err = v.Approvals(store.ApprovalFilter{State: "PENDING"}, place, store.MaxPage)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, a := range page {
			seen[a.ID] = true
		}
		if len(page) == 0 {
			break
		}
		place = store.Place{At: page[len(page)-1].Created, ID: page[len(page)-1].ID}
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; len(seen) != many || took > 256 {
		t.Errorf("%d approvals are seen, with %d MiB", len(seen), took)
	}
	if due, _, err = s.Due(t.Context(), "", now.Add(time.Hour+100*time.Second), 64); err != nil || len(due) != 64 || due[0].Session != "s00000" {
		t.Errorf("%v, %v", due, err)
	}
}

// TestAnotherProcessWrites: while another one keeps a transaction open nothing is written, and it is when that has ended: the store is not
// broken by it.
func TestAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.db")
	s := open(t, path)
	if err := s.writer.Exec("PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	other, err := durable.Open(path, func(*durable.DB) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	put := func() error {
		return s.Update(t.Context(), "a", func(tx store.Tx) error { return tx.PutText(store.Text{Session: "s", ID: "x"}) })
	}
	err = other.Transaction(func() error {
		if err := put(); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("error %v", err)
		}
		return nil
	})
	if err := errors.Join(err, put()); err != nil {
		t.Error(err)
	}
}

// TestTheLogIsBounded: the write-ahead log is moved into the database by its size, and used anew.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.db")
	s := open(t, path)
	body := make([]byte, 4<<20)
	for range 16 {
		if err := s.Update(t.Context(), "a", func(tx store.Tx) error {
			return tx.PutText(store.Text{Session: "s", ID: "x", Body: body})
		}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() > 3*checkpointBytes/2 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
}
