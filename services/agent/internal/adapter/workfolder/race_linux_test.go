package workfolder

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// long has the tests of races and of paths take the numbers that the notes ask for: minutes instead of seconds.
var long = os.Getenv("TSUMUGI_LONG") != ""

// many is how often something is tried.
func many(quick, all int) int {
	if long {
		return all
	}
	return quick
}

// replacer is somebody else who replaces a file all the time, as editors do. last is what they wrote last.
type replacer struct {
	dir, target string
	last        string
	n           int
}

func (r *replacer) write() error {
	r.n++
	r.last = fmt.Sprintf("writer %d", r.n)
	copied := filepath.Join(r.dir, "copy")
	if err := os.WriteFile(copied, []byte(r.last), 0o644); err != nil {
		return err
	}
	return os.Rename(copied, r.target)
}

// field/review-agent.md S1: against a writer that replaces the file all the time, no content that was not seen is lost. In each round the
// writer writes while a change is applied; then the file holds the writer's last word, or ours upon exactly that.
func TestAgainstAWriter(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	r := &replacer{dir: w.base, target: filepath.Join(w.dir, "a.txt")}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	h := w.lock()
	defer free(h)
	random := rand.New(rand.NewPCG(1, 2))
	counts := map[folder.Result]int{}
	taken, turns, stale := 0, 0, 0
	w.step = func(step string) {
		switch step {
		case "taken back":
			taken++
		case "turn":
			turns++
		}
	}
	rounds := many(250, 25_000)
	for range rounds {
		p, err := w.plan(folder.Change{Op: folder.Write, Path: "a.txt"})
		if err != nil {
			t.Fatal(err)
		}
		c := folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("ours upon " + string(p.Before)), Before: p.Before}
		s, err := h.Stage(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		writes, first, pause := random.IntN(10), random.IntN(2), time.Duration(random.IntN(80))*time.Microsecond
		var wait sync.WaitGroup
		begun := make(chan struct{})
		wait.Go(func() {
			for n := range writes {
				if n == first { // In half of the rounds the first word comes before the change, so that what comes out was not seen.
					close(begun)
					time.Sleep(pause) // It is a writer that pauses, not a wait for anything.
				}
				if err := r.write(); err != nil {
					t.Error(err)
				}
			}
			if writes <= first {
				close(begun)
			}
		})
		<-begun
		out := h.Apply(t.Context(), s)
		wait.Wait()
		counts[out.Result]++
		now := w.content("a.txt")
		switch {
		case now == r.last && writes > 0:
		case now == string(c.Content) && c.Before == folder.Of([]byte(r.last)) && out.Result == folder.Done:
		default:
			t.Fatalf("the writer's last word %q is lost: %q upon %s, %+v", r.last, now, c.Before, out)
		}
		if kept, err := h.Finish(t.Context(), s); err != nil || kept != "" || len(w.staged()) > 0 {
			t.Fatalf("%q, %v, %q", kept, err, w.staged())
		}
		if out.Result == folder.Stale {
			stale++
		}
		r.last = now
	}
	t.Logf("%d rounds: %v, %d exchanges were taken back, and the writer came between %d times", rounds, counts, taken, turns-taken)
	if counts[folder.Done] == 0 || stale == 0 || counts[folder.Done]+stale != rounds {
		t.Errorf("the race did not happen, or its end is not known: %v", counts)
	}
}

// What others do between the exchange and the look at what came out, at the worst moment.
func TestExchangeTakenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// before is done between Stage and Apply, after when the wrong content has come out.
		before, after func(w work, r *replacer) error
		want, kept    string
	}{
		"replaced":              {before: replace, want: "writer 2"},
		"replaced twice":        {before: replace, after: replace, want: "writer 3"},
		"replaced, then gone":   {before: replace, after: func(_ work, r *replacer) error { return os.Remove(r.target) }, want: "writer 2"},
		"written in place":      {before: func(_ work, r *replacer) error { return os.WriteFile(r.target, []byte("in place"), 0o644) }, want: "in place"},
		"its writer goes on":    {before: inPlace("in"), after: inPlace("in place"), want: "in", kept: "in place"},
		"another name is given": {before: func(w work, r *replacer) error { return os.Link(r.target, filepath.Join(w.base, "second")) }, want: "writer 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			r := &replacer{dir: w.base, target: filepath.Join(w.dir, "a.txt")}
			if err := r.write(); err != nil {
				t.Fatal(err)
			}
			h := w.lock()
			defer free(h)
			s, err := h.Stage(t.Context(), folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("ours"), Before: folder.Of([]byte(r.last))})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.before(w, r); err != nil {
				t.Fatal(err)
			}
			w.step = func(step string) {
				if step == "renamed" && c.after != nil {
					if err := c.after(w, r); err != nil {
						t.Error(err)
					}
				}
			}
			out := h.Apply(t.Context(), s)
			kept, err := h.Finish(t.Context(), s)
			if out.Result != folder.Stale || err != nil || len(w.staged()) > 0 {
				t.Errorf("%+v, %v, %q", out, err, w.staged())
			}
			if now := w.content("a.txt"); now != c.want || kept == "" && c.kept != "" || kept != "" && w.content(kept) != c.kept {
				t.Errorf("%q, want %q; kept as %q", now, c.want, kept)
			}
		})
	}
}

func replace(_ work, r *replacer) error { return r.write() }

// inPlace writes into the file that has the name at the time.
func inPlace(text string) func(work, *replacer) error {
	return func(_ work, r *replacer) error { return os.WriteFile(r.target, []byte(text), 0o644) }
}

// A writer that had the file open writes on into the replaced one, which no rename can see: what has come by the time of Finish is kept
// beside the new file.
func TestWriterWithOpenFile(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "old")
	f, err := os.OpenFile(filepath.Join(w.dir, "a.txt"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w.step = func(step string) {
		if step == "synced" {
			if _, err := f.WriteString(" and more"); err != nil {
				t.Error(err)
			}
		}
	}
	out, err := w.do(folder.Change{Op: folder.Write, Path: "a.txt", Content: []byte("new")})
	if err != nil || out.Result != folder.Done || out.Kept == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	if w.content("a.txt") != "new" || w.content(out.Kept) != "old and more" {
		t.Errorf("%q, %q", w.content("a.txt"), w.content(out.Kept))
	}
}

// A file that is replaced between the look and the move goes back to its place.
func TestMoveTakenBack(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "old")
	h := w.lock()
	defer free(h)
	s, err := h.Stage(t.Context(), folder.Change{Op: folder.Move, Path: "a.txt", To: "b.txt", Before: folder.Of([]byte("old"))})
	if err != nil {
		t.Fatal(err)
	}
	w.step = func(step string) {
		if step == "checked" {
			w.put("unseen", "unseen")
			if err := os.Rename(filepath.Join(w.dir, "unseen"), filepath.Join(w.dir, "a.txt")); err != nil {
				t.Error(err)
			}
		}
	}
	if out := h.Apply(t.Context(), s); out.Result != folder.Stale || out.Now != folder.Of([]byte("unseen")) || w.content("a.txt") != "unseen" || w.content("b.txt") != "-" {
		t.Errorf("%+v, %q", out, tree(t, w.dir))
	}
}

// A link to a protected file that is put in the place of a file between look and open is not followed, although it stays inside.
func TestLinkBetweenLookAndOpen(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "x")
	w.put("d/config", "x")
	w.put(".env", "SECRET")
	w.put(".git/config", "SECRET")
	s, err := w.find(t.Context(), "a.txt", follow)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	d, err := w.top.Lstat("d")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "a.txt")), os.RemoveAll(filepath.Join(w.dir, "d"))); err != nil {
		t.Fatal(err)
	}
	w.link(".env", "a.txt")
	w.link(".git", "d")
	if _, _, err := w.openFile(s, "a.txt", false); err == nil {
		t.Error("the link was followed to .env")
	}
	if _, err := openDir(w.top, "d", d); err == nil {
		t.Error("the link was followed to .git")
	}
}

// A folder that is moved away while a change in it is applied, with a link to the outside in its place: the change is taken back.
func TestFolderReplaced(t *testing.T) {
	t.Parallel()
	for _, op := range []folder.Op{folder.Write, folder.Create, folder.Delete, folder.Move} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			w.put("d/a.txt", "old")
			if err := os.WriteFile(filepath.Join(w.outside, "a.txt"), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			outside := tree(t, w.outside)
			c := folder.Change{Op: op, Path: "d/a.txt", To: "d/b.txt", Content: []byte("new")}
			if op == folder.Create {
				c.Path = "d/n.txt"
			}
			p, err := w.plan(c)
			if err != nil {
				t.Fatal(err)
			}
			c.Before = p.Before
			h := w.lock()
			defer free(h)
			s, err := h.Stage(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			w.step = func(step string) {
				if step == "renamed" {
					swap(t, w)
				}
			}
			if out := h.Apply(t.Context(), s); out.Result != folder.Stale {
				t.Errorf("%+v", out)
			}
			if got := tree(t, w.outside); len(got) != len(outside) || got["a.txt"] != outside["a.txt"] {
				t.Errorf("outside: %q", got)
			}
			if w.content("moved/a.txt") != "old" || w.content("moved/n.txt") != "-" || w.content("moved/b.txt") != "-" {
				t.Errorf("%q", tree(t, w.dir))
			}
		})
	}
}

// Another folder of the same name, with the same file in it, is not the one that was approved.
func TestAnotherFolder(t *testing.T) {
	t.Parallel()
	for _, op := range []folder.Op{folder.Write, folder.Create, folder.Delete, folder.Move} {
		for _, when := range []string{"staged", "renamed"} {
			t.Run(string(op)+" "+when, func(t *testing.T) {
				t.Parallel()
				w := newWork(t)
				w.put("d/a.txt", "old")
				c := folder.Change{Op: op, Path: "d/a.txt", To: "d/b.txt", Content: []byte("new"), Before: folder.Of([]byte("old"))}
				if op == folder.Create {
					c.Path, c.Before = "d/n.txt", folder.Absent
				}
				replaced := func() {
					if err := os.Rename(filepath.Join(w.dir, "d"), filepath.Join(w.dir, "moved")); err != nil {
						t.Error(err)
					}
					w.put("d/a.txt", "old")
				}
				h := w.lock()
				defer free(h)
				s, err := h.Stage(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if when == "staged" {
					replaced()
				}
				w.step = func(step string) {
					if step == when {
						replaced()
					}
				}
				if out := h.Apply(t.Context(), s); out.Result != folder.Stale {
					t.Errorf("%+v", out)
				}
				for _, dir := range []string{"d/", "moved/"} {
					if w.content(dir+"a.txt") != "old" || w.content(dir+"n.txt") != "-" || w.content(dir+"b.txt") != "-" {
						t.Errorf("%s: %q", dir, tree(t, w.dir))
					}
				}
			})
		}
	}
}

// swap moves W/d away and puts a link to the outside in its place.
func swap(t *testing.T, w work) {
	t.Helper()
	if err := errors.Join(os.Rename(filepath.Join(w.dir, "d"), filepath.Join(w.dir, "moved")), os.Symlink(w.outside, filepath.Join(w.dir, "d"))); err != nil {
		t.Error(err)
	}
}

// cases/agent.md 25, field/review-agent.md S2: a file and a folder that are exchanged all the time with links that lead out: nothing outside is
// ever read or changed, whatever the moment.
func TestAgent25SwappedLinks(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("d/v.txt", "inside")
	w.put("f.txt", "inside")
	secret := filepath.Join(w.outside, "v.txt")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.link("../outside", "d link")
	w.link("../outside/v.txt", "f link")
	outside := tree(t, w.outside)
	var stop atomic.Bool
	var swaps atomic.Int64
	var swapping sync.WaitGroup
	random := rand.New(rand.NewPCG(3, 4))
	swapping.Go(func() {
		for !stop.Load() {
			for _, pair := range [][2]string{{"d", "d link"}, {"f.txt", "f link"}} {
				a, b := filepath.Join(w.dir, pair[0]), filepath.Join(w.dir, pair[1])
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err == nil {
					swaps.Add(1)
				}
			}
			time.Sleep(time.Duration(random.IntN(400)) * time.Microsecond) // So that some changes find time between two swaps.
		}
	})
	done, refusals, enough := 0, 0, many(40, 4000)
	for n := 0; (done < enough || refusals < enough) && n < 1000*enough; n++ { // Refusals are much quicker than changes.
		for _, name := range []string{"d/v.txt", "f.txt"} {
			if c, err := w.Read(t.Context(), name, folder.ReadOptions{}); strings.Contains(string(c.Text), "SECRET") {
				t.Fatalf("the outside is read: %v", err)
			}
		}
		for _, c := range []folder.Change{
			{Op: folder.Write, Path: "d/v.txt", Content: fmt.Appendf(nil, "ours %d", n)},
			{Op: folder.Write, Path: "f.txt", Content: fmt.Appendf(nil, "ours %d", n)},
			{Op: folder.Create, Path: fmt.Sprintf("d/n%d.txt", n)},
			{Op: folder.Move, Path: fmt.Sprintf("d/n%d.txt", n), To: "d/moved.txt"},
			{Op: folder.Delete, Path: "d/moved.txt"},
		} {
			if out, err := w.quietly(c); err == nil && out.Result == folder.Done {
				done++
			} else {
				refusals++
			}
		}
	}
	stop.Store(true)
	swapping.Wait()
	if got := tree(t, w.outside); len(got) != len(outside) || got["v.txt"] != outside["v.txt"] {
		t.Errorf("outside: %q", got)
	}
	t.Logf("%d swaps, %d changes made, %d refused or stale", swaps.Load(), done, refusals)
	if done < enough || refusals < enough {
		t.Error("the race did not happen")
	}
}

// quietly makes a change that may be stale at any step.
func (w work) quietly(c folder.Change) (folder.Outcome, error) {
	w.Helper()
	p, err := w.plan(c)
	if err != nil {
		return folder.Outcome{}, err
	}
	c.Before = p.Before
	h := w.lock()
	defer free(h)
	s, err := h.Stage(w.Context(), c)
	if err != nil {
		return folder.Outcome{}, err
	}
	out := h.Apply(w.Context(), s)
	_, err = h.Finish(w.Context(), s)
	return out, err
}
