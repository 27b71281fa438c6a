package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// desk is a store on a real disk, and a person who looks into its folder.
type desk struct {
	testing.TB
	*user
	data string
	log  *zap.Logger
	// later is how long after the first start it is.
	later time.Duration
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{TB: t, data: t.TempDir()}
	d.user = newUser(nil)
	d.open()
	t.Cleanup(func() { d.must(d.store.Close()) })
	return d
}

func (d *desk) open() {
	d.Helper()
	clock := func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.FixedZone("", 9*3600)).Add(d.later) }
	s, err := Open(Options{Data: d.data, Gate: byHand, Clock: clock, Log: d.log})
	d.must(err)
	d.store = s
}

func (d *desk) restart() {
	d.Helper()
	d.must(d.store.Close())
	d.open()
}

// crash leaves the store without writing what is pending, as a kill does, and starts the next one. What hands did meanwhile
// is done in between.
func (d *desk) crash(meanwhile func()) {
	d.Helper()
	left := copied(d, d.data)
	d.must(d.store.Close())
	d.data = left
	meanwhile()
	d.open()
}

// copied gives a copy of the data of a store that may be writing files: a name that went away meanwhile has it begin again.
func copied(t testing.TB, data string) string {
	t.Helper()
	for {
		left := t.TempDir()
		switch err := os.CopyFS(left, os.DirFS(data)); {
		case err == nil:
			return left
		case !errors.Is(err, fs.ErrNotExist) || t.Context().Err() != nil:
			t.Fatal(err)
		}
	}
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.data, ns, filepath.FromSlash(name)) }

func (d *desk) read(name string) string {
	d.Helper()
	data, err := os.ReadFile(d.path(name))
	d.must(err)
	return string(data)
}

// edit is a hand that changes a file. The new one has another time, as one from an editor.
func (d *desk) edit(name, old, replacement string) string {
	d.Helper()
	before := d.read(name)
	if !strings.Contains(before, old) {
		d.Fatalf("%s holds no %q:\n%s", name, old, before)
	}
	after := strings.ReplaceAll(before, old, replacement)
	d.put(name, after)
	return after
}

func (d *desk) put(name, text string) {
	d.Helper()
	mkfile(d, d.path(name), []byte(text))
}

func (d *desk) exists(name string) bool {
	_, err := os.Stat(d.path(name))
	return err == nil
}

func (d *desk) flushed() {
	d.Helper()
	d.must(d.flush())
}

func (d *desk) text(name string) string {
	d.Helper()
	n, err := d.store.Node(context.Background(), ns, idOf(name))
	d.must(err)
	return n.Texts[0].Content
}

func (d *desk) flowOf(name string) flow.Flow {
	d.Helper()
	f, err := d.store.Flow(context.Background(), ns, idOf(name))
	d.must(err)
	return f
}

// problemPaths are the files that need a person.
func (d *desk) problemPaths() []string {
	d.Helper()
	problems, err := d.store.Problems(context.Background(), ns)
	d.must(err)
	var paths []string
	for _, p := range problems {
		if p.Reason == "" {
			d.Errorf("%s without a reason", p.Path)
		}
		paths = append(paths, p.Path)
	}
	return paths
}

func (d *desk) wantProblems(paths ...string) {
	d.Helper()
	if got := d.problemPaths(); !slices.Equal(got, paths) {
		problems, _ := d.store.Problems(context.Background(), ns)
		d.Errorf("problems of %q, want %q: %v", got, paths, problems)
	}
}

// wantUnreadable wants an error that names a file.
func (d *desk) wantUnreadable(path string, call func() error) {
	d.Helper()
	var unreadable *store.UnreadableError
	if err := call(); !errors.As(err, &unreadable) || unreadable.Path != path {
		d.Errorf("want that %s is unreadable: %v", path, err)
	}
}

func filesysOf(d *desk) filesys.FS {
	d.Helper()
	tree, err := filesys.Open(d.data)
	d.must(err)
	d.Cleanup(func() { _ = tree.Close() })
	return tree
}
