package filesys_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

func TestSubStaysBelowItsFolder(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, filesys.EnsureDir(fsys, "ns"))
			must(t, filesys.EnsureDir(fsys, "ns"))
			below := filesys.Sub(fsys, "ns")
			must(t, filesys.EnsureDir(below, "nodes"))
			must(t, filesys.Replace(below, "nodes/a", []byte("text")))
			must(t, filesys.AppendSynced(below, "nodes/a", []byte("+")))
			must(t, below.SyncDir("nodes"))
			if got := read(t, fsys, "ns/nodes/a"); got != "text+" || read(t, below, "nodes/a") != got {
				t.Errorf("read %q", got)
			}
			if got := names(t, below, "."); len(got) != 1 {
				t.Errorf("the folder holds %v", got)
			}
			must(t, filesys.AppendSynced(fsys, "outside", []byte("x")))
			if _, err := below.ReadFile("../outside", 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read what is outside: %v", err)
			}
			info, err := below.Stat("nodes/a")
			must(t, err)
			must(t, below.Rename("nodes/a", "b"))
			must(t, below.Remove("b"))
			if got := names(t, fsys, "ns/nodes"); info.Size != 5 || !slices.Equal(got, nil) {
				t.Errorf("%+v; left: %v", info, got)
			}
		})
	}
}
