package filesys_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

func TestHeldFoldersAreTheTree(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, fsys.Mkdir("a"))
			must(t, fsys.Mkdir("b"))
			h, err := filesys.Hold(fsys, "a", "a")
			must(t, err)
			must(t, filesys.Replace(h, "a/one", []byte("1")))
			must(t, filesys.Replace(h, "b/two", []byte("22")))
			must(t, filesys.WriteTemporary(h, "a/three", []byte("333")))
			must(t, h.Rename(filesys.Temporary("a/three"), "a/three"))
			must(t, h.Rename("a/three", "b/three"))
			must(t, h.Remove("b/two"))
			must(t, h.SyncDir("a"))
			must(t, h.SyncDir("b"))
			if err := h.SyncAll(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Error(err)
			}
			for _, name := range []string{"a/one", "b/three"} {
				info, err := h.Stat(name)
				must(t, err)
				if same, err := fsys.Stat(name); err != nil || same != info {
					t.Errorf("%s is %+v and %+v: %v", name, info, same, err)
				}
				if got := read(t, h, name); got != read(t, fsys, name) {
					t.Errorf("%s is %q", name, got)
				}
			}
			if got := slices.Concat(names(t, h, "a"), names(t, h, "b")); !slices.Equal(got, []string{"one false 1", "three false 3"}) {
				t.Errorf("it holds %v", got)
			}
			must(t, h.Close())
			if _, err := filesys.Hold(fsys, "a", "none"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a folder that is not there: %v", err)
			}
		})
	}
}

// A call that failed is not mended by the next, as with fsync (TestAFailedFsyncIsNotMendedByTheNext).
func TestSyncAllInTheDouble(t *testing.T) {
	fault := errors.New("input/output error")
	failing := false
	f := powercut.New(func(s powercut.Step) error {
		if s.Op == powercut.OpSyncAll && failing {
			return fault
		}
		return nil
	})
	must(t, f.Mkdir("d"))
	must(t, f.SyncDir("."))
	d, err := f.Folder("d")
	must(t, err)
	must(t, filesys.WriteTemporary(d, "a", []byte("kept")))
	must(t, d.Rename(filesys.Temporary("a"), "a"))
	must(t, d.SyncAll())
	must(t, filesys.WriteTemporary(d, "b", []byte("lost")))
	must(t, d.Rename(filesys.Temporary("b"), "b"))
	failing = true
	if err := d.SyncAll(); !errors.Is(err, fault) {
		t.Errorf("a disk that fails: %v", err)
	}
	failing = false
	must(t, d.SyncAll())
	whole := 0
	for seed := range uint64(20) {
		left := f.Survivor(seed, nil)
		if got := read(t, left, "d/a"); got != "kept" {
			t.Errorf("what was synced is %q", got)
		}
		if got, err := left.ReadFile("d/b", 10); err == nil && string(got) == "lost" {
			whole++
		}
	}
	if whole == 20 {
		t.Error("a sync behind one that failed made its bytes durable; on Linux it does not")
	}
}
