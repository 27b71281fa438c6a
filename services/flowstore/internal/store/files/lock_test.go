package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cases/flowstore.md 5: a second process is told who the first one is; when the first one is killed, the next one starts at once.
func TestFlowstore05OneOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOwnerProcess$")
	owner.Env = append(os.Environ(), "OWN="+dir)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil || line != "open" {
		t.Fatalf("the owner says %q: %v", line, err)
	}
	before := everyFile(t, dir)
	_, err = Open(Options{Data: dir})
	if after := everyFile(t, dir); !maps.Equal(before, after) {
		t.Errorf("the second one made %q of %q", after, before)
	}
	var locked *LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("the second one: %v", err)
	}
	for _, want := range []string{fmt.Sprintf("process %d on ", owner.Process.Pid), " since 2"} {
		if !strings.Contains(locked.Owner, want) {
			t.Errorf("the owner is %q, which lacks %q", locked.Owner, want)
		}
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	s, err := Open(Options{Data: dir})
	if err != nil {
		t.Fatalf("the third one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// everyFile gives the text of each file.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOwnerProcess is the process that TestFlowstore05OneOwner starts.
func TestOwnerProcess(t *testing.T) {
	dir := os.Getenv("OWN")
	if dir == "" {
		t.Skip("TestFlowstore05OneOwner runs this in a process of its own")
	}
	if _, err := Open(Options{Data: dir}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("open")
	select {}
}

func TestAStoreThatWasClosedIsFree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		s, err := Open(Options{Data: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
