package watch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each way to change a folder is told with the folder, by the operating system itself.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	name := func(dir, name string) string { return filepath.Join(dir, name) }
	for what, do := range map[string]func(dir string) error{
		"write":  func(dir string) error { return os.WriteFile(name(dir, "000.xml"), []byte("text"), 0o600) },
		"new":    func(dir string) error { return os.WriteFile(name(dir, "001.xml"), nil, 0o600) },
		"rename": func(dir string) error { return os.Rename(name(dir, "000.xml"), name(dir, "002.xml")) },
		"remove": func(dir string) error { return os.Remove(name(dir, "000.xml")) },
		"mkdir":  func(dir string) error { return os.Mkdir(name(dir, "folder"), 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(name(dir, "000.xml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			told := make(chan string, 1000)
			w, err := watch.New(func(folder string) { told <- folder }, func(err error) { t.Error(err) })
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := w.Watch(dir); err != nil {
					t.Fatal(err)
				}
			}
			// A dot file is nobody's: its change comes first and is not told.
			if err := errors.Join(os.WriteFile(name(dir, ".swap"), nil, 0o600), do(dir)); err != nil {
				t.Fatal(err)
			}
			select {
			case folder := <-told:
				if folder != dir {
					t.Errorf("told of %s", folder)
				}
			case <-time.After(time.Minute):
				t.Error("it is not told")
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Without people there is nothing to tell.
func TestDotFilesAreNotTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := make(chan string, 1000)
	w, err := watch.New(func(folder string) { told <- folder }, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.Watch(dir), os.WriteFile(filepath.Join(dir, ".000.xml.tmp"), []byte("text"), 0o600), os.Mkdir(filepath.Join(dir, "last"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	<-told
	if err := w.Close(); err != nil || len(told) > 0 {
		t.Errorf("%d more changes were told, %v", len(told), err)
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	w, err := watch.New(func(string) {}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Watch(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
