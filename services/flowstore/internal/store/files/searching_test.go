package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// look searches, and gives the page and how many nodes were found.
func look(t *testing.T, s *Store, query string) search.Result {
	t.Helper()
	q, err := search.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), ns, q, search.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fill stores nodes whose texts are n0, n1 and so on.
func fill(t *testing.T, s *Store, nodes int) {
	t.Helper()
	err := s.Update(t.Context(), ns, func(tx store.Tx) error {
		for i := range nodes {
			name := fmt.Sprintf("n%d", i)
			n := node.Node{ID: idOf(name), Created: tx.Now(), Tags: []string{"夜"}, Texts: []node.Text{{Role: "user", Content: name + " 駅"}}}
			if err := tx.CreateNode(n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// opened opens a world and counts the node files that are read until fn is done and the store closed.
func opened(t *testing.T, w world, fn func(s *Store)) (reads int) {
	t.Helper()
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead && filepath.Ext(s.Name) == ".xml" {
			reads++
		}
		return nil
	})
	s, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	fn(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return reads
}

func (w world) snapshot(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.local, ns, localFolder, snapshotName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

// TestASnapshotIsUsed holds opening to what it may read: nothing where nothing changed (cases/perf.md 11), else what did.
func TestASnapshotIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { fill(t, s, 20) })
	before := w.snapshot(t)
	if reads := opened(t, w, func(s *Store) {
		if r := look(t, s, "tag:夜"); r.Total != 20 || r.Approximate {
			t.Errorf("%+v", r)
		}
		if _, err := s.Tags(t.Context(), ns, "", "", 10); err != nil {
			t.Error(err)
		}
	}); reads != 20 { // the hits of the page, for their highlights
		t.Errorf("%d nodes were read", reads)
	}
	if !bytes.Equal(w.snapshot(t), before) || len(before) == 0 {
		t.Error("the snapshot was written although nothing changed")
	}
	if reads := opened(t, w, func(s *Store) {
		if page, err := s.Tags(t.Context(), ns, "", "", 10); err != nil || page.Tags[0].Nodes != 20 {
			t.Error(page, err)
		}
	}); reads != 0 {
		t.Errorf("%d nodes were read for a list of tags", reads)
	}
	path := ns + "/nodes/000/007.xml"
	data, err := w.tree.ReadFile(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := filesys.Replace(w.tree, path, bytes.ReplaceAll(data, []byte("駅"), []byte("港の灯"))); err != nil {
		t.Fatal(err)
	}
	if err := w.tree.Remove(ns + "/nodes/000/003.xml"); err != nil {
		t.Fatal(err)
	}
	if reads := opened(t, w, func(s *Store) {
		if r := look(t, s, "灯"); r.Total != 1 || r.Approximate || r.Hits[0].ID != idOf("n7") {
			t.Errorf("%+v", r)
		}
		if r := look(t, s, "n3"); r.Total != 0 {
			t.Errorf("%+v", r)
		}
	}); reads != 3 { // by the scan, for the index, and for the page
		t.Errorf("%d nodes were read after one was changed", reads)
	}
}

// TestALostSnapshotIsMadeAnew damages it and takes it away: what is found is the same.
func TestALostSnapshotIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { fill(t, s, 20) })
	whole := w.snapshot(t)
	path := filepath.Join(w.local, ns, localFolder, snapshotName)
	for name, damage := range map[string]func() error{
		"cut":     func() error { return os.WriteFile(path, whole[:len(whole)/2], 0o600) },
		"changed": func() error { return os.WriteFile(path, append([]byte{whole[0] ^ 1}, whole[1:]...), 0o600) },
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
		"gone":    func() error { return os.Remove(path) },
		"left":    func() error { return os.WriteFile(path+".tmp", whole, 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		opened(t, w, func(s *Store) {
			if r := look(t, s, "n7"); r.Total != 1 || r.Approximate {
				t.Errorf("%s: %+v", name, r)
			}
		})
		if again, err := search.Decode(w.snapshot(t)); err != nil || again.Len() != 20 {
			t.Errorf("%s: the snapshot was not made anew: %v", name, err)
		}
		if _, err := os.Stat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a part of a snapshot is left: %v", name, err)
		}
	}
}

// TestAnIndexIsMadeAnewBesideSearches has more nodes than the first search waits for.
func TestAnIndexIsMadeAnewBesideSearches(t *testing.T) {
	t.Parallel()
	const nodes = soon + 500
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { fill(t, s, nodes) })
	if err := os.Remove(filepath.Join(w.local, ns, localFolder, snapshotName)); err != nil {
		t.Fatal(err)
	}
	s, err := open(Options{Data: w.local, Gate: DefaultGate()}, w.tree)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		for {
			r := look(t, s, "tag:夜")
			if !r.Approximate {
				if r.Total != nodes {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.Total > nodes {
				t.Fatalf("%d nodes", r.Total)
			}
		}
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if reads := opened(t, w, func(s *Store) { look(t, s, "tag:夜") }); reads != search.DefaultPage {
		t.Errorf("%d nodes were read", reads)
	}
}

// TestASnapshotIsOfTheFiles loses local.db: the snapshot is of files, not of what the log says of them.
func TestASnapshotIsOfTheFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { fill(t, s, 5) })
	before := w.snapshot(t)
	if err := os.Remove(filepath.Join(w.local, ns, localFolder, "local.db")); err != nil {
		t.Fatal(err)
	}
	if reads := opened(t, w, func(s *Store) {
		if page, err := s.Tags(t.Context(), ns, "", "", 10); err != nil || page.Tags[0].Nodes != 5 {
			t.Error(page, err)
		}
	}); reads != 10 {
		t.Errorf("%d reads: the scan reads them, and the metadata files are made anew", reads)
	}
	if !bytes.Equal(w.snapshot(t), before) {
		t.Error("the snapshot was written although no file changed")
	}
}

func TestWhenASnapshotIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		changes, nodes int
		due            bool
	}{{0, 0, false}, {999, 999, false}, {1000, 1000, true}, {1000, 10_000, true}, {9_999, 100_000, false}, {10_000, 100_000, true}} {
		if due := snapshotDue(c.changes, c.nodes); due != c.due {
			t.Errorf("%+v: %t", c, due)
		}
	}
}
