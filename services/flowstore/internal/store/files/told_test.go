package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// warnings starts the store once more and gives the files that the log names, and how many it says there are besides.
func (d *desk) warnings() (paths []string, more int64) {
	d.Helper()
	core, logs := observer.New(zap.WarnLevel)
	d.must(d.store.Close())
	d.log = zap.New(core)
	d.open()
	if _, err := d.store.Problems(context.Background(), ns); err != nil { // a namespace is opened when it is asked for
		d.Fatal(err)
	}
	for _, entry := range logs.All() {
		fields := entry.ContextMap()
		if fields["namespace"] != ns {
			d.Errorf("of which namespace? %v", fields)
		}
		if path, ok := fields["path"].(string); ok && fields["reason"] != "" {
			paths = append(paths, path)
		} else if files, ok := fields["files"].(int64); ok {
			more = files
		} else {
			d.Errorf("%s: %v", entry.Message, fields)
		}
	}
	return paths, more
}

// What a hand broke while nobody looked is in the log of every start, one line a file, and of a heap of them the first.
func TestBrokenFilesAreInTheLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createFlow("novel"))
	d.flushed()
	if paths, more := d.warnings(); len(paths) > 0 || more > 0 {
		t.Errorf("nothing is wrong, and the log says %v and %d", paths, more)
	}
	d.put("nodes/000/007.xml", "<node")
	d.put("flows/000/000.yaml", "id: [")
	for range 2 {
		paths, more := d.warnings()
		if fmt.Sprint(paths) != "[flows/000/000.yaml nodes/000/007.xml]" || more > 0 {
			t.Errorf("the log says %v and %d", paths, more)
		}
	}
	for i := 10; i < 50; i++ {
		d.put(fmt.Sprintf("nodes/000/0%d.xml", i), "<node")
	}
	if paths, more := d.warnings(); len(paths) != maxWarnings || more != 42-maxWarnings {
		t.Errorf("of 42 files the log names %d and counts %d", len(paths), more)
	}
}

// Nobody else reads what is stored here, whatever an older version left behind.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createFlow("novel"))
	local := d.path(localFolder + "/local.db")
	d.must(os.Chmod(local, 0o644))
	d.restart()
	d.must(d.createNode("one"))
	seen := map[string]bool{}
	d.must(filepath.WalkDir(filepath.Join(d.data, ns, localFolder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if seen[e.Name()] = true; err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		return err
	}))
	for _, name := range []string{"local.db", "local.db-wal", "local.db-shm"} {
		if !seen[name] {
			t.Errorf("there is no %s: %v", name, seen)
		}
	}
}

// A copy that a hand makes while the store runs is in the log, as it is at a start: which of the two counts is not to be seen
// elsewhere.
func TestACopyIsInTheLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	core, logs := observer.New(zap.WarnLevel)
	d.must(d.store.Close())
	d.log = zap.New(core)
	d.open()
	d.handsDo(func() { d.copy("nodes/000/000.xml", "nodes/000/009.xml") })
	told := logs.FilterField(zap.String("path", "nodes/000/000.xml")).All()
	if len(told) != 1 || !strings.Contains(fmt.Sprint(told[0].ContextMap()["reason"]), "as nodes/000/009.xml has") {
		t.Errorf("the log says %v", logs.All())
	}
}

// What hands changed is in the log; where they changed nothing, nothing is: looking whether all that is known is true is no change.
func TestTheLogTellsOnlyOfChanges(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	core, logs := observer.New(zap.InfoLevel)
	d.must(d.store.Close())
	d.log = zap.New(core)
	d.open()
	told := func() []observer.LoggedEntry { return logs.FilterMessageSnippet("hands changed files").All() }
	sp, err := d.store.existing(context.Background(), ns)
	d.must(err)
	sp.doubt.Store(true)
	d.handsDo()
	if sp.doubt.Load() {
		t.Error("nothing was compared")
	}
	if len(told()) > 0 {
		t.Errorf("of no change it tells %v", told())
	}
	d.handsDo(func() { d.edit("nodes/000/000.xml", "春の夜", "夏の夜") })
	if len(told()) != 1 {
		t.Errorf("of a change it tells %v", told())
	}
}
