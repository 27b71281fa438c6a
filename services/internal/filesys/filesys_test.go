package filesys_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// both are the real implementation and the double: what the double does while the power is on must be what a disk does.
func both(t *testing.T) map[string]filesys.FS {
	t.Helper()
	return map[string]filesys.FS{"disk": open(t, t.TempDir()), "double": powercut.New(nil)}
}

func open(t *testing.T, dir string) *filesys.Dir {
	t.Helper()
	d, err := filesys.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, fsys filesys.FS, name string) string {
	t.Helper()
	data, err := fsys.ReadFile(name, 1<<20)
	must(t, err)
	return string(data)
}

func names(t *testing.T, fsys filesys.FS, dir string) []string {
	t.Helper()
	list, err := fsys.List(dir)
	must(t, err)
	var names []string
	for _, info := range list {
		names = append(names, fmt.Sprintf("%s %v %v", info.Name, info.Mode.IsDir(), info.Size))
	}
	return names
}

func TestReplaceShowsTheOldOrTheNewFile(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, fsys.Mkdir("nodes"))
			must(t, filesys.Replace(fsys, "nodes/a.xml", []byte("one")))
			before, err := fsys.Stat("nodes/a.xml")
			must(t, err)
			must(t, filesys.Replace(fsys, "nodes/a.xml", []byte("two, longer")))
			must(t, fsys.SyncDir("nodes"))
			after, err := fsys.Stat("nodes/a.xml")
			must(t, err)
			if got := read(t, fsys, "nodes/a.xml"); got != "two, longer" {
				t.Errorf("read %q", got)
			}
			if before == after || after.Size != 11 || !after.Mode.IsRegular() || after.Name != "a.xml" {
				t.Errorf("before %+v, after %+v", before, after)
			}
			if got := names(t, fsys, "nodes"); !slices.Equal(got, []string{"a.xml false 11"}) {
				t.Errorf("the folder holds %v", got)
			}
		})
	}
}

func TestANewNameIsGivenOnce(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, errors.Join(fsys.Mkdir("nodes"), fsys.Mkdir("nodes/000")))
			h, err := filesys.Hold(fsys, "nodes/000")
			must(t, err)
			for i, tree := range []filesys.FS{fsys, filesys.Sub(fsys, "."), h} {
				file := fmt.Sprintf("nodes/000/%d.xml", i)
				must(t, filesys.Place(tree, file, []byte("ours")))
				if err := filesys.Place(tree, file, []byte("another")); !errors.Is(err, fs.ErrExist) {
					t.Errorf("placed twice: %v", err)
				}
				if got := read(t, fsys, file); got != "ours" {
					t.Errorf("%s holds %q", file, got)
				}
				must(t, filesys.WriteTemporary(tree, file, []byte("later")))
				if err := tree.RenameNew(filesys.Temporary(file), "nodes/000"); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("from one folder to another: %v", err)
				}
				must(t, tree.Remove(file))
				must(t, tree.RenameNew(filesys.Temporary(file), file))
				if got := read(t, fsys, file); got != "later" {
					t.Errorf("%s holds %q", file, got)
				}
			}
			must(t, h.Close())
			if got := names(t, fsys, "nodes/000"); len(got) != 3 {
				t.Errorf("the folder holds %v", got)
			}
		})
	}
}

func TestAppendSyncedAddsToTheEnd(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, filesys.AppendSynced(fsys, "index.tsv", []byte("a\n")))
			must(t, filesys.AppendSynced(fsys, "index.tsv", []byte("b\n")))
			before, err := fsys.Stat("index.tsv")
			must(t, err)
			must(t, filesys.AppendSynced(fsys, "index.tsv", nil))
			if after, err := fsys.Stat("index.tsv"); err != nil || after != before {
				t.Errorf("before %+v, after %+v: %v", before, after, err)
			}
			if got := read(t, fsys, "index.tsv"); got != "a\nb\n" {
				t.Errorf("read %q", got)
			}
			f, err := fsys.Create("index.tsv")
			must(t, err)
			must(t, f.Close())
			if got := read(t, fsys, "index.tsv"); got != "" {
				t.Errorf("read %q after Create", got)
			}
		})
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, fsys.Mkdir("d"))
			must(t, filesys.AppendSynced(fsys, "five", []byte("12345")))
			_, missing := fsys.ReadFile("none", 10)
			_, tooLarge := fsys.ReadFile("five", 4)
			_, noDir := fsys.Create("none/a")
			_, irregular := fsys.ReadFile("d", 10)
			_, stat := fsys.Stat("none")
			_, list := fsys.List("none")
			for _, c := range []struct {
				what      string
				got, want error
			}{
				{"read of nothing", missing, fs.ErrNotExist},
				{"read over the limit", tooLarge, filesys.ErrTooLarge},
				{"read of a folder", irregular, filesys.ErrIrregular},
				{"create in no folder", noDir, fs.ErrNotExist},
				{"stat of nothing", stat, fs.ErrNotExist},
				{"list of nothing", list, fs.ErrNotExist},
				{"mkdir twice", fsys.Mkdir("d"), fs.ErrExist},
				{"rename of nothing", fsys.Rename("none", "some"), fs.ErrNotExist},
				{"a new name for nothing", fsys.RenameNew("none", "some"), fs.ErrNotExist},
				{"remove of nothing", fsys.Remove("none"), fs.ErrNotExist},
				{"syncdir of nothing", fsys.SyncDir("none"), fs.ErrNotExist},
			} {
				if !errors.Is(c.got, c.want) {
					t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
				}
			}
		})
	}
}

func TestNoNameLeadsOut(t *testing.T) {
	for name, fsys := range both(t) {
		t.Run(name, func(t *testing.T) {
			must(t, filesys.AppendSynced(fsys, "here", nil))
			for _, name := range []string{"../canary", "/etc/passwd", "a/../../canary", ""} {
				if _, err := fsys.ReadFile(name, 1<<20); err == nil {
					t.Errorf("read %q", name)
				}
				if _, err := fsys.Create(name); err == nil {
					t.Errorf("created %q", name)
				}
				if err := fsys.RenameNew("here", name); err == nil {
					t.Errorf("renamed to %q", name)
				}
				if err := fsys.RenameNew(name, "there"); err == nil {
					t.Errorf("renamed %q", name)
				}
				if err := fsys.Mkdir(name); err == nil {
					t.Errorf("made %q", name)
				}
			}
		})
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "canary"), []byte("secret"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "tree"), 0o700))
	must(t, os.Symlink("../canary", filepath.Join(dir, "tree", "link")))
	d := open(t, filepath.Join(dir, "tree"))
	if data, err := d.ReadFile("link", 100); err == nil {
		t.Errorf("read %q through a link", data)
	}
	list, err := d.List(".")
	must(t, err)
	if len(list) != 1 || list[0].Mode.IsRegular() || list[0].Mode.IsDir() {
		t.Errorf("the link is described as %+v", list)
	}
}

func TestOpenMakesTheFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	must(t, filesys.AppendSynced(open(t, dir), "x", nil))
	if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
		t.Error(err)
	}
	if _, err := filesys.Open(filepath.Join(dir, "x")); err == nil {
		t.Error("a file was opened as a folder")
	}
}

func TestReplaceLeavesNothingWhenItFails(t *testing.T) {
	full := errors.New("no space left on device")
	for _, op := range []powercut.Op{powercut.OpCreate, powercut.OpWrite, powercut.OpSync, powercut.OpRename} {
		fsys := powercut.New(func(s powercut.Step) error {
			if s.Op == op {
				return full
			}
			return nil
		})
		if err := filesys.Replace(fsys, "a", []byte("text")); !errors.Is(err, full) {
			t.Errorf("%s fails: %v", op, err)
		}
		if left := names(t, fsys, "."); left != nil {
			t.Errorf("%s fails: %v is left", op, left)
		}
	}
}
