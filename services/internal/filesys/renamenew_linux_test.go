package filesys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of two that give their files one name at one time, one is told that it is taken: nobody looks first and renames then.
func TestOneOfTwoGetsANewName(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	write(t, filepath.Join(dir, "first"), "")
	if err := d.renameNew("first", "other"); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("this file system cannot rename to a new name alone: %v", err)
	}
	for range 2000 {
		from, errs := [2]string{"one", "two"}, [2]error{}
		start := make(chan struct{})
		var both sync.WaitGroup
		for i, name := range from {
			write(t, filepath.Join(dir, name), name)
			both.Go(func() {
				<-start
				errs[i] = d.RenameNew(name, "new")
			})
		}
		close(start)
		both.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		got, err := os.ReadFile(filepath.Join(dir, "new"))
		if errs[won] != nil || !errors.Is(errs[1-won], fs.ErrExist) || err != nil || string(got) != from[won] {
			t.Fatalf("%q has the name: %v, %v", got, errs, err)
		}
		if err := errors.Join(d.Remove("new"), d.Remove(from[1-won])); err != nil {
			t.Fatal(err)
		}
	}
}

// A link that leads nowhere cannot be read, and gives way as for a plain rename: who looked and found nothing would look for ever.
func TestALinkThatLeadsNowhereGivesWay(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Place(d, "link", []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadFile("link", 10); err != nil || string(data) != "ours" {
		t.Errorf("%q, %v", data, err)
	}
}
