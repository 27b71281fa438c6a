package workfolder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// syncedKey names, to the process that strace watches, the folder to work in.
const syncedKey = "TSUMUGI_TEST_SYNCED_WORK"

// field/review-agent.md 5: the staged file and its folder are on the disk before INTENT, and the folder again before EXECUTED: kill -9 keeps
// the page cache and cannot see a missing call, so the calls are counted.
func TestChangesReachTheDisk(t *testing.T) {
	if dir := os.Getenv(syncedKey); dir != "" {
		r, err := Open(Config{Name: "work", Path: dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w := work{T: t, dir: dir, Root: r}
		w.step = func(step string) {
			f, err := os.Create(filepath.Join(filepath.Dir(dir), "step "+step))
			if err != nil || f.Sync() != nil || f.Close() != nil {
				t.Error(err)
			}
		}
		w.must(folder.Change{Op: folder.Create, Path: "d/e/n.txt", Content: []byte("x")})
		w.must(folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("x")})
		w.must(folder.Change{Op: folder.Move, Path: "a.txt", To: "d/b.txt"})
		w.must(folder.Change{Op: folder.Delete, Path: "d/b.txt"})
		return
	}
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "old")
	log := testkit.SyncCalls(t, syncedKey, w.dir)
	var calls []string
	for line := range strings.Lines(log) {
		_, path, ok := strings.Cut(line, "<"+w.base+"/")
		if path, _, _ = strings.Cut(path, ">"); !ok {
			continue
		}
		parts := strings.Split(path, "/")
		for i, p := range parts {
			if strings.HasPrefix(p, folder.StagedPrefix) {
				parts[i] = "STAGED"
			}
		}
		calls = append(calls, strings.Join(parts, "/"))
	}
	want := []string{
		"work/STAGED/e/n.txt", "work/STAGED/e", "work/STAGED", "step staging", "work", "step staged", "step renamed", "step verified", "work", "step synced",
		"work/STAGED", "step staging", "work", "step staged", "step renamed", "step verified", "work", "step synced", "step finished", "work",
		"step checked", "step renamed", "step verified", "work/d", "work", "step synced",
		"step renamed", "step verified", "work/d", "step synced", "step finished", "work/d",
	}
	if got := strings.Join(calls, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("synced:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// cases/agent.md 26: a pipe is refused at once in every use and holds no goroutine (goleak), also one that is put in the place of a file
// between look and open.
func TestAgent26Pipe(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "x")
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := w.Read(t.Context(), "pipe", folder.ReadOptions{})
	refused(t, err, folder.WrongType)
	s, err := w.find(t.Context(), "a.txt", follow)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := os.Rename(filepath.Join(w.dir, "pipe"), filepath.Join(w.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.openFile(s, "a.txt", false); err == nil {
		t.Error("a pipe was opened as a file")
	}
	if err := os.Mkdir(filepath.Join(w.dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := w.top.Lstat("d")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.dir, "a.txt"), filepath.Join(w.dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	if _, err := openDir(w.top, "pipe", info); err == nil {
		t.Error("a pipe was opened as a folder")
	}
}

// Owner and mode of what is replaced stay; an owner that cannot be kept is refused (field/review-agent.md S25).
func TestOwnerStays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to others")
	}
	w := newWork(t)
	w.put("a.txt", "x")
	path := filepath.Join(w.dir, "a.txt")
	if err := os.Chown(path, 1234, 4321); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w.must(folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("y")})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := statOf(info); s.uid != 1234 || s.gid != 4321 || info.Mode() != 0o600 {
		t.Errorf("%d %d %s", s.uid, s.gid, info.Mode())
	}
}

// On a file system that cannot exchange, changes are made by check and rename, the outcome says so, what is stale is still refused, and the
// staged file still proves what happened.
func TestWithoutExchange(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.exchanges.Store(2)
	w.put("a.txt", "old")
	w.put("b.txt", "b")
	for _, c := range []folder.Change{
		{Op: folder.Write, Path: "a.txt", Content: []byte("new")}, {Op: folder.Create, Path: "d/n.txt"}, {Op: folder.Move, Path: "a.txt", To: "d/a.txt"}, {Op: folder.Delete, Path: "b.txt"},
	} {
		out, err := w.do(c)
		if err != nil || out.Result != folder.Done || !out.Weak {
			t.Fatalf("%s: %+v, %v", c.Op, out, err)
		}
	}
	if w.content("d/a.txt") != "new" || w.content("d/n.txt") != "" || w.content("b.txt") != "-" || len(w.staged()) > 0 {
		t.Errorf("%q", tree(t, w.dir))
	}
	h := w.lock()
	defer free(h)
	for _, c := range []folder.Change{
		{Op: folder.Write, Path: "d/a.txt", Content: []byte("ours"), Before: folder.Of([]byte("new"))}, {Op: folder.Create, Path: "x.txt", Content: []byte("ours"), Before: folder.Absent},
	} {
		s, err := h.Stage(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if out := h.Prove(t.Context(), s); out.Result != folder.NotDone {
			t.Errorf("%s: %+v", c.Op, out)
		}
		w.put(c.Path, "unseen")
		if out := h.Apply(t.Context(), s); out.Result != folder.Stale || w.content(c.Path) != "unseen" {
			t.Errorf("%s: %+v, %q", c.Op, out, w.content(c.Path))
		}
		if _, err := h.Finish(t.Context(), s); err != nil {
			t.Error(err)
		}
		c.Before = folder.Of([]byte("unseen"))
		c.Op = folder.Write
		if s, err = h.Stage(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if out := h.Apply(t.Context(), s); out.Result != folder.Done {
			t.Errorf("%+v", out)
		}
		w.put(c.Path, "unseen") // Somebody puts back what was there.
		if out := h.Prove(t.Context(), s); out.Result != folder.Done {
			t.Errorf("%+v", out)
		}
	}
}

// What only others can have done to a staged name is never called done or not done.
func TestProofOfWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "old")
	h := w.lock()
	defer free(h)
	s, err := h.Stage(t.Context(), folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("new"), Before: folder.Of([]byte("old"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.dir, s.Name)); err != nil {
		t.Fatal(err)
	}
	if out := h.Prove(t.Context(), s); out.Result != folder.Unknown || out.Reason == "" {
		t.Errorf("the staged file was taken away: %+v", out)
	}
	if out := h.Apply(t.Context(), s); out.Result != folder.Unknown || w.content("a.txt") != "old" {
		t.Errorf("%+v", out)
	}
	// Another content in the staged file is not put in place.
	if s, err = h.Stage(t.Context(), folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("new"), Before: folder.Of([]byte("old"))}); err != nil {
		t.Fatal(err)
	}
	w.put(s.Name, "not what was approved")
	if out := h.Apply(t.Context(), s); out.Result != folder.NotDone || w.content("a.txt") != "old" {
		t.Errorf("%+v, %q", out, w.content("a.txt"))
	}
	if err := os.Rename(w.dir+"/"+s.Name, w.base+"/x"); err != nil {
		t.Fatal(err)
	}
	if out := h.Apply(t.Context(), folder.Staged{}); out.Result == folder.Done {
		t.Errorf("the zero value was applied: %+v", out)
	}
	if out := h.Prove(t.Context(), folder.Staged{}); out.Result == folder.Done || out.Result == folder.NotDone {
		t.Errorf("the zero value is proved: %+v", out)
	}
}

// Who applies a change twice is told that nobody knows, never that it did not happen; nothing is done again, and the proof tells, also to one
// who has no time left.
func TestAppliedTwice(t *testing.T) {
	t.Parallel()
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			w.put("a.txt", "old")
			h := w.lock()
			defer free(h)
			c := k.change
			p, err := w.plan(c)
			if err != nil {
				t.Fatal(err)
			}
			c.Content, c.Before = []byte(k.content), p.Before
			s, err := h.Stage(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if out := h.Apply(ended, s); out.Result != folder.NotDone || h.Check(ended, s) == nil {
				t.Errorf("%+v", out)
			}
			if out := h.Apply(t.Context(), s); out.Result != folder.Done {
				t.Fatalf("%+v", out)
			}
			for range 2 {
				if out := h.Apply(t.Context(), s); out.Result != folder.Unknown || out.Reason == "" {
					t.Errorf("%+v", out)
				}
				if out := h.Prove(ended, s); out.Result != folder.Done {
					t.Errorf("%+v", out)
				}
			}
			if err := k.restore(w); err != nil {
				t.Fatal(err)
			}
			restored := tree(t, w.dir)
			if out := h.Apply(t.Context(), s); out.Result != folder.Unknown && (c.Op != folder.Move || out.Result != folder.Stale) {
				t.Errorf("%+v", out)
			}
			w.has(restored)
		})
	}
}
