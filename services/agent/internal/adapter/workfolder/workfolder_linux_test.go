package workfolder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// work is a work folder W beside a folder that is none of its business.
type work struct {
	*testing.T
	base, dir, outside string
	*Root
}

func newWork(t *testing.T) work {
	t.Helper()
	base := t.TempDir()
	w := work{T: t, base: base, dir: filepath.Join(base, "work"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{w.dir, w.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.Root = w.open(Config{})
	return w
}

func (w work) open(c Config) *Root {
	w.Helper()
	c.Name, c.Path = "work", w.dir
	r, err := Open(c, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { r.Close() })
	return r
}

// put writes a file into the work folder, and the folders on the way.
func (w work) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// link makes a symbolic link in the work folder.
func (w work) link(target, name string) {
	w.Helper()
	if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
		w.Fatal(err)
	}
}

func (w work) lock() folder.Held {
	w.Helper()
	h, err := w.Lock(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func free(h folder.Held) { _ = h.Unlock() }

// plan plans one change.
func (w work) plan(c folder.Change) (folder.Plan, error) {
	all := w.Plan(w.Context(), c)
	return all[0].Plan, all[0].Err
}

// do makes a change as the router does: plan, lock, stage, apply, finish.
func (w work) do(c folder.Change) (folder.Outcome, error) {
	w.Helper()
	p, err := w.plan(c)
	if err != nil {
		return folder.Outcome{}, err
	}
	c.Before = p.Before
	return w.carryOut(c)
}

// carryOut makes a planned change.
func (w work) carryOut(c folder.Change) (folder.Outcome, error) {
	w.Helper()
	h := w.lock()
	defer free(h)
	s, err := h.Stage(w.Context(), c)
	if err != nil {
		return folder.Outcome{}, err
	}
	if err := h.Check(w.Context(), s); err != nil {
		w.Fatal(err)
	}
	out := h.Apply(w.Context(), s)
	kept, err := h.Finish(w.Context(), s)
	if kept != "" {
		out.Kept = kept
	}
	return out, err
}

// must makes a change that is done.
func (w work) must(c folder.Change) {
	w.Helper()
	if out, err := w.do(c); err != nil || out.Result != folder.Done || out.Weak || out.Kept != "" {
		w.Fatalf("%+v: %+v, %v", c, out, err)
	}
}

// tree is all that is below a folder: names, kinds, modes, contents and where links lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		about := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			about += " " + string(data)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			about += " -> " + target
		}
		all[name] = about
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w work) has(want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, tree(w.T, w.dir)); diff != "" {
		w.Errorf("the folder (-want +got):\n%s", diff)
	}
}

// refused says that an error is a refusal with a code.
func refused(t *testing.T, err error, code folder.Code) {
	t.Helper()
	var r *folder.Refusal
	if !errors.As(err, &r) || r.Code != code || r.Reason == "" {
		t.Errorf("%v, want %s", err, code)
	}
}

// Each change does what it says, keeps modes, and leaves nothing else behind.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "one\n")
	w.put("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(w.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.put("gone.txt", "x")
	w.put("from.txt", "moved\n")
	w.link("/outside/v.txt", "notes.md")
	for _, c := range []folder.Change{
		{Op: folder.Write, Path: "a.txt", Content: []byte("two\n")},
		{Op: folder.Write, Path: "run.sh", Content: []byte("#!/bin/sh\ntrue\n")},
		{Op: folder.Write, Path: "new.txt", Content: []byte("new")},
		{Op: folder.Create, Path: "./docs//deep/日本語.md", Content: []byte("深い\n")},
		{Op: folder.Create, Path: "docs/two.md"},
		{Op: folder.Delete, Path: "gone.txt"},
		{Op: folder.Delete, Path: "notes.md"},
		{Op: folder.Move, Path: "from.txt", To: "docs/to.txt"},
	} {
		w.must(c)
	}
	const file, dir = "-rw-r--r-- ", "drwxr-xr-x"
	w.has(map[string]string{
		".": dir, "a.txt": file + "two\n", "run.sh": "-rwxr-xr-x #!/bin/sh\ntrue\n", "new.txt": file + "new",
		"docs": dir, "docs/deep": dir, "docs/deep/日本語.md": file + "深い\n", "docs/two.md": file, "docs/to.txt": file + "moved\n",
	})
}

// A move into a folder that is not there says what to do, and that is something which can be done.
func TestMovedIntoANewFolder(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "one\n")
	move := folder.Change{Op: folder.Move, Path: "a.txt", To: "e/b.txt"}
	if _, err := w.do(move); err == nil || !strings.Contains(err.Error(), "create a file in it first") {
		t.Errorf("error %v", err)
	}
	w.must(folder.Change{Op: folder.Create, Path: "e/note.txt"})
	w.must(move)
	w.has(map[string]string{".": "drwxr-xr-x", "e": "drwxr-xr-x", "e/note.txt": "-rw-r--r-- ", "e/b.txt": "-rw-r--r-- one\n"})
}

// What is refused says why, and nothing changes.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "one\n")
	w.put("d/b.txt", "b")
	w.put("か\u3099.txt", "decomposed")
	w.put("set", "s")
	if err := os.Chmod(filepath.Join(w.dir, "set"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	before := tree(t, w.dir)
	for _, c := range []struct {
		folder.Change
		code folder.Code
	}{
		{folder.Change{Op: folder.Create, Path: "a.txt"}, folder.Exists},
		{folder.Change{Op: folder.Write, Path: "d"}, folder.WrongType},
		{folder.Change{Op: folder.Delete, Path: "d"}, folder.WrongType},
		{folder.Change{Op: folder.Move, Path: "d", To: "e"}, folder.WrongType},
		{folder.Change{Op: folder.Move, Path: "a.txt", To: "d/b.txt"}, folder.Exists},
		{folder.Change{Op: folder.Move, Path: "a.txt", To: "e/b.txt"}, folder.Missing},
		{folder.Change{Op: folder.Move, Path: "a.txt", To: ".git/b.txt"}, folder.Protected},
		{folder.Change{Op: folder.Move, Path: "no.txt", To: "b.txt"}, folder.Missing},
		{folder.Change{Op: folder.Delete, Path: "no.txt"}, folder.Missing},
		{folder.Change{Op: folder.Write, Path: "a.txt/b"}, folder.WrongType},
		{folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("\x00")}, folder.NotText},
		{folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("\xff")}, folder.NotText},
		{folder.Change{Op: folder.Write, Path: "a.txt", Content: make([]byte, folder.MaxContent+1)}, folder.TooLarge},
		{folder.Change{Op: folder.Create, Path: "が.txt"}, folder.Exists},
		{folder.Change{Op: folder.Write, Path: "か\u3099\u3099.txt"}, folder.BadPath},
		{folder.Change{Op: folder.Write, Path: "set", Content: []byte("x")}, folder.Forbidden},
		{folder.Change{Op: "chmod", Path: "a.txt"}, folder.WrongType},
		{folder.Change{Path: "a.txt"}, folder.WrongType},
	} {
		if _, err := w.do(c.Change); err == nil {
			t.Errorf("%s %q is not refused", c.Op, c.Path)
		} else {
			refused(t, err, c.code)
		}
	}
	w.has(before)
	read := work{t, w.base, w.dir, w.outside, w.open(Config{ReadOnly: true})}
	if _, err := read.plan(folder.Change{Op: folder.Write, Path: "a.txt"}); err == nil {
		t.Error("a folder that may only be read is planned to be changed")
	}
	_, err := read.Lock(t.Context())
	refused(t, err, folder.ReadOnly)
	// A file with a decomposed name is there, and is changed under that name.
	w.must(folder.Change{Op: folder.Write, Path: "か\u3099.txt", Content: []byte("new")})
}

// cases/agent.md 31: what changed between preview and execution is not overwritten, and the present hash is told.
func TestAgent31Stale(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	path := filepath.Join(w.dir, "a.txt")
	w.put("a.txt", "1")
	p, err := w.plan(folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("2")})
	if err != nil || !strings.Contains(p.Diff, "-1\n") || !strings.Contains(p.Diff, "+2\n") {
		t.Fatalf("%+v, %v", p, err)
	}
	change := folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("2"), Before: p.Before}
	for name, c := range map[string]struct {
		meanwhile func()
		now       folder.Hash
	}{
		"changed": {func() { w.put("a.txt", "9") }, folder.Of([]byte("9"))},
		"deleted": {func() { _ = os.Remove(path) }, folder.Absent},
	} {
		c.meanwhile()
		want := tree(t, w.dir)
		_, err := w.carryOut(change)
		var stale *folder.StaleError
		if !errors.As(err, &stale) || stale.Now != c.now {
			t.Errorf("%s: %v", name, err)
		}
		w.has(want)
		// The same between Stage and Apply.
		w.put("a.txt", "1")
		h := w.lock()
		s, err := h.Stage(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		c.meanwhile()
		if err := h.Check(t.Context(), s); !errors.As(err, &stale) || stale.Now != c.now {
			t.Errorf("%s: check: %v", name, err)
		}
		if out := h.Apply(t.Context(), s); out.Result != folder.Stale || out.Now != c.now {
			t.Errorf("%s: %+v", name, out)
		}
		if _, err := h.Finish(t.Context(), s); err != nil {
			t.Error(err)
		}
		free(h)
		w.has(want)
		w.put("a.txt", "1")
	}
	// Created where the preview said that it is new.
	_ = os.Remove(path)
	p, err = w.plan(change)
	if err != nil || p.Before != folder.Absent {
		t.Fatalf("%+v, %v", p, err)
	}
	change.Before = p.Before
	h := w.lock()
	defer free(h)
	s, err := h.Stage(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	w.put("a.txt", "9")
	if out := h.Apply(t.Context(), s); out.Result != folder.Stale || out.Now != folder.Of([]byte("9")) {
		t.Errorf("%+v", out)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "9" {
		t.Errorf("%q, %v", data, err)
	}
}

// Two sessions of one process never have the folder at once, and one that waits gives up with its context.
func TestLockOfSessions(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	other := w.open(Config{})
	h := w.lock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []*Root{w.Root, other} {
		_, err := r.Lock(ctx)
		if busy := (*folder.BusyError)(nil); !errors.As(err, &busy) {
			t.Errorf("%v", err)
		}
	}
	if err := h.Unlock(); err != nil {
		t.Fatal(err)
	}
	h, err := other.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer free(h)
	if err := os.Rename(w.dir, w.dir+" moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	free(h)
	_, err = w.Lock(t.Context())
	refused(t, err, folder.Forbidden)
}
