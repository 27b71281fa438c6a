package commitlog

import (
	"os"
	"path/filepath"
	"testing"
)

// What a killed process left in the write-ahead log is in the copy, and so is what one that was closed left in the database alone;
// the files stay as they are, and nothing is made beside them.
func TestACopyHasAllAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, dir string){
		"killed": func(t *testing.T, dir string) {
			from := t.TempDir()
			must(t, openLog(t, filepath.Join(from, "local.db")).Apply(everything()))
			must(t, os.CopyFS(dir, os.DirFS(from)))
			must(t, os.Remove(filepath.Join(dir, "local.db-shm")))
		},
		"closed": func(t *testing.T, dir string) {
			l, err := Open(filepath.Join(dir, "local.db"))
			must(t, err)
			must(t, l.Apply(everything()))
			must(t, l.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			leave(t, dir)
			before := contentsOf(t, dir)
			l, err := OpenCopy(filepath.Join(dir, "local.db"))
			must(t, err)
			want := everything()
			got := read(t, l)
			same(t, want.Records, got.Records)
			same(t, len(want.Files), len(got.Files))
			same(t, *want.State, got.State)
			must(t, l.Apply(Changes{Done: []int64{1, 2}}))
			same(t, 0, len(read(t, l).Records))
			must(t, l.Close())
			same(t, before, contentsOf(t, dir))
		})
	}
}

// contentsOf gives the contents of the files in a folder.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

func TestACopyOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenCopy(filepath.Join(dir, "local.db"))
	must(t, err)
	same(t, contents{}, read(t, l))
	must(t, l.Apply(everything()))
	must(t, l.Close())
	same(t, map[string]string{}, contentsOf(t, dir))
}
