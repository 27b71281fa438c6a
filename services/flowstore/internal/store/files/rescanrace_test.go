package files

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// afterList does something between the moment at which a folder was listed and that at which its entries are used.
type afterList struct {
	filesys.FS
	dir  string
	then func()
}

func (f *afterList) List(dir string) ([]filesys.Info, error) {
	entries, err := f.FS.List(dir)
	if then := f.then; then != nil && dir == f.dir {
		f.then = nil
		then()
	}
	return entries, err
}

// A file that is written while a scan has the names of its folder in hand is not taken for one that a hand took away.
func TestAFileComesWhileItsFolderIsScanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tree := &afterList{FS: w.tree, dir: ns + "/nodes/000"}
	clock := func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC) }
	s, err := open(Options{Data: w.local, Gate: byHand, Clock: clock}, tree)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(nil)
	u.store = s
	flush := func() {
		if _, err := s.Flush(t.Context(), ns); err != nil {
			t.Error(err)
		}
	}
	if err := u.createNode("one"); err != nil {
		t.Fatal(err)
	}
	flush()
	if err := u.createNode("two"); err != nil {
		t.Fatal(err)
	}
	before, err := s.LastEvent(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	tree.then = flush
	if err := s.Rescan(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	if tree.then != nil {
		t.Error("the folder was not listed")
	}
	if _, err := s.Node(t.Context(), ns, idOf("two")); err != nil {
		t.Error(err)
	}
	if after, err := s.LastEvent(t.Context(), ns); err != nil || after != before {
		t.Errorf("%d events were told, %v", after-before, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
