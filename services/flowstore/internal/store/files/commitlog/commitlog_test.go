package commitlog

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openLog(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

var (
	one, two = uuid.UUID{1}, uuid.UUID{2}
	aFlow    = store.Thing{Kind: store.KindFlow, ID: two}
	noon     = time.Date(2026, 4, 1, 12, 0, 0, 123456000, time.FixedZone("", 9*3600))
)

// everything is a transaction that does one of each.
func everything() Changes {
	return Changes{
		Records: []Record{
			{Seq: 1, Kind: NodeMade, ID: one, Path: "nodes/000/000.xml", Body: []byte("<node/>")},
			{Seq: 2, Kind: FlowChanged, ID: two, Path: "flows/000/000.yaml", Old: HashOf([]byte("old")), Body: []byte("{}")},
		},
		Requests: []store.Request{{ID: one, Digest: "digest", Result: two}},
		At:       noon,
		Plans:    []Plan{{Of: aFlow, Old: HashOf([]byte("old")), New: HashOf([]byte("new"))}},
		Files: []File{
			{Path: "nodes/000/001.xml", Size: 7, ModTime: 99, Hash: HashOf([]byte("file")), ID: two, Time: noon, Created: noon.Add(-time.Hour)},
			{Path: "nodes/000/002.xml", Size: 8, ModTime: 98, Problem: "torn", Time: noon.UTC(), Created: noon.UTC()},
		},
		State: &State{Last: noon.UTC(), NextNode: 3, NextFlow: 1},
	}
}

// contents is all that a log holds.
type contents struct {
	Records []Record
	Plans   map[store.Thing]Plan
	Files   map[string]File
	State   State
}

func read(t *testing.T, l *Log) contents {
	t.Helper()
	var c contents
	var errs [4]error
	c.Records, errs[0] = l.Records()
	c.Plans, errs[1] = l.Plans()
	c.Files, errs[2] = l.Files()
	c.State, errs[3] = l.State()
	must(t, errors.Join(errs[:]...))
	return c
}

func same(t *testing.T, want, got any) {
	t.Helper()
	times := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, got, times, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatWasAppliedIsThereAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.db")
	l, err := Open(path)
	must(t, err)
	same(t, contents{}, read(t, l))
	c := everything()
	must(t, l.Apply(c))
	want := contents{
		Records: c.Records,
		Plans:   map[store.Thing]Plan{aFlow: c.Plans[0]},
		Files:   map[string]File{c.Files[0].Path: c.Files[0], c.Files[1].Path: c.Files[1]},
		State:   *c.State,
	}
	same(t, want, read(t, l))
	must(t, l.Close())
	l = openLog(t, path)
	same(t, want, read(t, l))
	_, zone := read(t, l).Files["nodes/000/001.xml"].Time.Zone()
	same(t, 9*3600, zone)
	must(t, l.Apply(Changes{
		Done: []int64{1, 2}, Records: []Record{{Seq: 2, Kind: FlowMade, ID: two, Path: "flows/000/001.yaml", Body: []byte("id:")}},
		Fulfilled: []store.Thing{aFlow}, Gone: []string{"nodes/000/001.xml"},
	}))
	got := read(t, l)
	same(t, 1, len(got.Records))
	same(t, FlowMade, got.Records[0].Kind)
	same(t, 0, len(got.Plans))
	same(t, 1, len(got.Files))
}

// A process that ends without closing leaves the write-ahead log; the next one reads it.
func TestWhatWasAppliedOutlivesAKill(t *testing.T) {
	t.Parallel()
	dir, left := t.TempDir(), t.TempDir()
	l := openLog(t, filepath.Join(dir, "local.db"))
	must(t, l.Apply(everything()))
	must(t, os.CopyFS(left, os.DirFS(dir)))
	same(t, read(t, l), read(t, openLog(t, filepath.Join(left, "local.db"))))
}

func TestATransactionIsWholeOrNot(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	must(t, l.Apply(everything()))
	before := read(t, l)
	err := l.Apply(Changes{
		Records: []Record{{Seq: 3, Kind: NodeMade, Body: []byte("x")}, {Seq: 3, Kind: NodeMade, Body: []byte("y")}},
		State:   &State{NextNode: 9},
	})
	if err == nil || errors.Is(err, ErrFull) {
		t.Errorf("the same number twice: %v", err)
	}
	same(t, before, read(t, l))
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	must(t, l.Exec("PRAGMA max_page_count = 1")) // No more pages than there are.
	large := Changes{Records: []Record{{Seq: 1, Kind: NodeMade, Body: make([]byte, 100_000)}}}
	if err := l.Apply(large); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	same(t, contents{}, read(t, l))
	must(t, l.Exec("PRAGMA max_page_count = 1000000"))
	must(t, l.Apply(large))
}

func TestRequests(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	first := store.Request{ID: one, Digest: "first", Result: one}
	must(t, l.Apply(Changes{Requests: []store.Request{first}, At: noon}))
	r, ok, err := l.Request(one, noon.Add(-time.Microsecond))
	must(t, err)
	same(t, first, r)
	same(t, true, ok)
	_, ok, err = l.Request(one, noon)
	must(t, err)
	same(t, false, ok)
	second := store.Request{ID: one, Digest: "second", Result: two}
	must(t, l.Apply(Changes{Requests: []store.Request{second, {ID: two}}, At: noon.Add(time.Hour), Forget: noon}))
	r, _, err = l.Request(one, noon)
	must(t, err)
	same(t, second, r)
	must(t, l.Apply(Changes{Forget: noon.Add(time.Hour)}))
	var left int
	must(t, l.Row("SELECT count(*) FROM requests").Scan(&left))
	same(t, 0, left)
}

// Checkpoints do nothing until there is something to do, and do not come by themselves.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.db")
	l := openLog(t, path)
	size := func() int64 {
		info, err := os.Stat(path)
		must(t, err)
		return info.Size()
	}
	before := size()
	for i := range int64(50) {
		must(t, l.Apply(Changes{Records: []Record{{Seq: i, Kind: NodeMade, Body: make([]byte, 80_000)}}}))
		if l.grown < checkpointBytes {
			must(t, l.Checkpoint(false))
		}
		must(t, l.Checkpoint(true))
		same(t, before, size())
	}
	must(t, l.Checkpoint(false))
	if after := size(); after < 50*80_000 {
		t.Errorf("after a checkpoint local.db has %d bytes", after)
	}
	// While callers wait, it must have grown further.
	before = size()
	must(t, l.Apply(Changes{Records: []Record{{Seq: 1000, Kind: NodeMade, Body: make([]byte, 1<<20)}}}))
	l.grown = busyCheckpointBytes - 1
	must(t, l.Checkpoint(true))
	same(t, before, size())
	l.grown = busyCheckpointBytes
	must(t, l.Checkpoint(true))
	if size() == before {
		t.Error("a log over its limit was left to grow")
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage, newer := filepath.Join(dir, "garbage.db"), filepath.Join(dir, "newer.db")
	must(t, os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600))
	l, err := Open(newer)
	must(t, err)
	must(t, l.Exec("PRAGMA user_version = 99"))
	must(t, l.Close())
	for path, want := range map[string]string{
		garbage:                             "not a database",
		newer:                               "newer version",
		filepath.Join(dir, "no", "such.db"): "such.db",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A local.db of the first version opens: of nodes it knew when they were made, flows it has to read again, and what could not
// be read is still told with what it held before.
func TestFirstVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	fill := firstSchema
	for file, problem := range map[string]string{"nodes/000/000.xml": "", "flows/000/000.yaml": "", "flows/000/001.yaml": "torn", "flows/index.tsv": ""} {
		fill += fmt.Sprintf("INSERT INTO files VALUES ('%s', 1, 2, zeroblob(32), zeroblob(16), %d, 0, '%s');", file, noon.UnixMicro(), problem)
	}
	fill += fmt.Sprintf("INSERT INTO plans VALUES (X'%x', zeroblob(32), zeroblob(32))", two[:])
	_, err = db.ExecContext(t.Context(), fill)
	must(t, errors.Join(err, db.Close()))
	again := openLog(t, path)
	files, err := again.Files()
	must(t, err)
	want := map[string]File{}
	for _, f := range []File{{Path: "nodes/000/000.xml"}, {Path: "flows/000/001.yaml", Problem: "torn"}, {Path: "flows/index.tsv"}} {
		f.Size, f.ModTime, f.Time, f.Created = 1, 2, noon, noon
		want[f.Path] = f
	}
	same(t, want, files)
	plans, err := again.Plans()
	must(t, err)
	same(t, map[store.Thing]Plan{aFlow: {Of: aFlow}}, plans)
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	large := make([]byte, store.MaxRevisionBytes)
	must(t, l.Apply(Changes{Revisions: []Revision{{Node: one, At: noon, Body: []byte("一")}, {Node: two, At: noon, Body: large}}}))
	must(t, l.Apply(Changes{Revisions: []Revision{{Node: one, At: noon.Add(time.Hour), Body: []byte("二")}, {Node: two, At: noon, Body: large[1:]}}}))
	got, err := l.Revisions(one)
	must(t, err)
	same(t, []Revision{{Node: one, Number: 3, At: noon.Add(time.Hour)}, {Node: one, Number: 1, At: noon}}, got)
	r, ok, err := l.Revision(one, 1)
	must(t, err)
	same(t, true, ok)
	same(t, "一", string(r.Body))
	_, ok, err = l.Revision(two, 1)
	must(t, err)
	same(t, false, ok)
	got, err = l.Revisions(two)
	must(t, err)
	same(t, []Revision{{Node: two, Number: 4, At: noon}}, got)
}

func TestSinceWhenSomethingIsInTheTrash(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	aNode := store.Thing{Kind: store.KindNode, ID: two}
	must(t, l.Apply(Changes{Dropped: []Dropped{{aFlow, noon}, {aNode, noon}}}))
	must(t, l.Apply(Changes{Dropped: []Dropped{{aFlow, noon.Add(time.Second)}, {aNode, time.Time{}}}}))
	got, err := l.Dropped()
	must(t, err)
	same(t, map[store.Thing]time.Time{aFlow: noon.Add(time.Second)}, got)
}

func TestEventsAreKeptAndForgotten(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	none, err := l.LastEvents(10)
	must(t, err)
	same(t, 0, len(none))
	event := func(seq int64) store.Event {
		return store.Event{Seq: seq, At: noon, Kind: store.NodeCreated, Of: aFlow}
	}
	must(t, l.Apply(Changes{Events: []store.Event{event(101), event(102), event(103)}}))
	must(t, l.Apply(Changes{Events: []store.Event{event(104)}}))
	must(t, l.Apply(Changes{Events: []store.Event{event(105), event(106)}}))
	for since, want := range map[int64]int64{100: 101, 101: 102, 103: 104, 104: 105, 106: 0, 50: 101} {
		got, err := l.Events(since, 2)
		must(t, err)
		var first int64
		if len(got) > 0 {
			first = got[0].Seq
		}
		same(t, want, first)
	}
	must(t, l.Apply(Changes{Prune: 102})) // 102 shares a row with 103.
	got, err := l.Events(101, 100)
	must(t, err)
	same(t, event(102), got[0])
	must(t, l.Apply(Changes{Prune: 105}))
	got, err = l.LastEvents(100)
	must(t, err)
	same(t, []store.Event{event(105), event(106)}, got)
}

func TestMembersAreKeptOnce(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "local.db"))
	for range 2 {
		must(t, l.Apply(Changes{Members: []Membership{{Node: one, Flow: two}, {Node: one, Flow: one}, {Node: two, Flow: two}}}))
	}
	got, err := l.FlowsOf(one)
	must(t, err)
	same(t, []uuid.UUID{one, two}, got)
}

// A path is a path, whatever characters it has.
func TestPathsWithOddCharacters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?mode=memory&c#d%20é日本")
	must(t, os.Mkdir(dir, 0o700))
	l := openLog(t, filepath.Join(dir, "local.db"))
	must(t, l.Apply(everything()))
	if _, err := os.Stat(filepath.Join(dir, "local.db-wal")); err != nil {
		t.Error(err)
	}
}
