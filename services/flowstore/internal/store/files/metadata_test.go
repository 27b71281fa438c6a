package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

func (w world) file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := w.tree.ReadFile(ns+"/"+name, format.MaxMetadata)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

// tags tells what tags.yaml says: each tag with the number of its nodes.
func (w world) tags(t *testing.T) string {
	t.Helper()
	x, err := format.DecodeTags(w.file(t, tagsPath))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, tag := range x.Tags {
		fmt.Fprintf(&b, "%q %d, ", tag.Tag, len(tag.Nodes))
	}
	return b.String()
}

// indexed gives what index.yaml says of a node.
func (w world) indexed(t *testing.T, name string) (format.NodeEntry, bool) {
	t.Helper()
	x, err := format.DecodeNodeIndex(w.file(t, nodeIndexPath))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range x.Nodes {
		if e.ID == idOf(name) {
			return e, true
		}
	}
	return format.NodeEntry{}, false
}

func tagged(t *testing.T, s *Store, name string, tags ...string) {
	t.Helper()
	change(t, s, func(tx store.Tx) error {
		return tx.CreateNode(node.Node{
			ID: idOf(name), Created: tx.Now(), Tags: tags, Summary: node.Summary{Text: "of " + name}, Texts: []node.Text{{Role: "user", Content: name}},
		})
	})
}

// change makes a change and has it written.
func change(t *testing.T, s *Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), ns, fn); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flush(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
}

func TestFlowstore07TagsInTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) {
		tagged(t, s, "1", "Budget")
		tagged(t, s, "2", "budget")
		tagged(t, s, "3", "ｂｕｄｇｅｔ", "Budget")
		if got := w.tags(t); got != `"Budget" 3, ` {
			t.Error(got)
		}
		if e, ok := w.indexed(t, "3"); !ok || strings.Join(e.Keywords, "|") != "ｂｕｄｇｅｔ|Budget" || e.Summary != "of 3" {
			t.Errorf("%+v", e)
		}
		change(t, s, func(tx store.Tx) error {
			return errors.Join(tx.Drop(thing(store.KindNode, "1")), tx.Drop(thing(store.KindNode, "2")))
		})
		if got := w.tags(t); got != `"Budget" 1, ` {
			t.Error(got)
		}
		if _, ok := w.indexed(t, "1"); ok {
			t.Error("a deleted node is in index.yaml")
		}
		change(t, s, func(tx store.Tx) error { return tx.Drop(thing(store.KindNode, "3")) })
		if got := w.tags(t); got != "" {
			t.Error(got)
		}
	})
}

func TestFlowstore20TagsFromAFreshOpen(t *testing.T) {
	t.Parallel()
	tags := []string{
		"yes", "NO", "null", "~", "2024-01-01", "2024-09-19T01:52:55.944", "12:30:45", "1_000", "0x1F", "<<", ": ", "#x", "- a", " lead", "a\nb", "タグ：名", "🙂",
	}
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { tagged(t, s, "1", tags...) })
	x, err := format.DecodeTags(w.file(t, tagsPath))
	if err != nil || len(x.Tags) != len(tags) || len(x.Problems) > 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	opened(t, w, func(s *Store) {
		page, err := s.Tags(t.Context(), ns, "", "", 100)
		if err != nil || len(page.Tags) != len(tags) {
			t.Errorf("%+v, %v", page, err)
		}
		for _, tag := range tags {
			if !strings.Contains(fmt.Sprint(x.Tags), "{"+tag+" [") || !strings.Contains(fmt.Sprint(page.Tags), "{"+tag+" ") {
				t.Errorf("%q is missing", tag)
			}
		}
	})
}

// What was lost, damaged, or changed by a hand is made anew.
func TestMetadataAreMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) {
		tagged(t, s, "1", "夜")
		tagged(t, s, "2", "駅")
	})
	tags, index := w.file(t, tagsPath), w.file(t, nodeIndexPath)
	for name, damage := range map[string]func() error{
		"tags gone":     func() error { return w.tree.Remove(ns + "/" + tagsPath) },
		"index gone":    func() error { return w.tree.Remove(ns + "/" + nodeIndexPath) },
		"index damaged": func() error { return filesys.Replace(w.tree, ns+"/"+nodeIndexPath, []byte("nodes: [\x00")) },
		"tags cut":      func() error { return filesys.Replace(w.tree, ns+"/"+tagsPath, tags[:len(tags)/2]) },
		"by a hand": func() error {
			return filesys.Replace(w.tree, ns+"/"+tagsPath, bytes.ReplaceAll(tags, []byte("夜"), []byte("朝")))
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		opened(t, w, func(s *Store) {
			if _, err := s.Tags(t.Context(), ns, "", "", 1); err != nil { // opens the namespace; closing writes
				t.Error(err)
			}
		})
		if !bytes.Equal(w.file(t, tagsPath), tags) || !bytes.Equal(w.file(t, nodeIndexPath), index) {
			t.Errorf("%s: not as they were:\n%s%s", name, w.file(t, tagsPath), w.file(t, nodeIndexPath))
		}
	}
}

// A change that is none of theirs leaves the files as they are, and of 20 nodes only the one that changed is read.
func TestMetadataAreWrittenForTheirOwnChangesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { fill(t, s, 20) })
	index := w.file(t, nodeIndexPath)
	var reads, writes int
	reads = opened(t, w, func(s *Store) {
		w.tree.SetHook(func(step powercut.Step) error {
			switch {
			case step.Op == powercut.OpRename && strings.Contains(step.Name, "metadata"):
				writes++
			case step.Op == powercut.OpRead && strings.HasSuffix(step.Name, ".xml"):
				reads++
			}
			return nil
		})
		change(t, s, func(tx store.Tx) error {
			n, err := tx.Node(idOf("n5"))
			if err != nil {
				return err
			}
			n.Texts = []node.Text{{Role: "user", Content: "other"}}
			return tx.ReplaceNode(n)
		})
		if writes != 0 || !bytes.Equal(w.file(t, nodeIndexPath), index) {
			t.Errorf("%d writings for another text", writes)
		}
		if reads > 4 { // by the transaction, before it is replaced, for the index and for the entry
			t.Errorf("%d nodes were read", reads)
		}
		change(t, s, func(tx store.Tx) error {
			n, err := tx.Node(idOf("n5"))
			if err != nil {
				return err
			}
			n.Tags = nil
			return tx.ReplaceNode(n)
		})
		if e, ok := w.indexed(t, "n5"); writes != 2 || !ok || len(e.Keywords) > 0 || w.tags(t) != `"夜" 19, ` {
			t.Errorf("%d writings for another tag: %+v, %s", writes, e, w.tags(t))
		}
	})
}

func TestMetadataCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	opened(t, w, func(s *Store) { tagged(t, s, "1", "夜") })
	config := append(w.file(t, configName), "settings:\n  metadata: false\n"...)
	if err := filesys.Replace(w.tree, ns+"/"+configName, config); err != nil {
		t.Fatal(err)
	}
	before := w.file(t, tagsPath)
	opened(t, w, func(s *Store) { tagged(t, s, "2", "駅") })
	if !bytes.Equal(w.file(t, tagsPath), before) {
		t.Errorf("%s", w.file(t, tagsPath))
	}
}

func TestWhenMetadataAreDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		first, last, wrote time.Time
		want               time.Duration
	}{
		"nothing touched":                 {time.Time{}, ago(time.Hour), time.Time{}, long},
		"touched just now":                {now, now, time.Time{}, quiet},
		"quiet for long enough":           {ago(9 * time.Second), ago(quiet), time.Time{}, 0},
		"never quiet":                     {ago(time.Minute), now, time.Time{}, 0},
		"quiet, and written not long ago": {ago(20 * time.Second), ago(10 * time.Second), ago(40 * time.Second), 20 * time.Second},
	} {
		m := metadata{first: c.first, last: c.last, wrote: c.wrote, touched: map[uuid.UUID]*format.NodeEntry{}}
		if got := m.dueIn(now); got != c.want {
			t.Errorf("%s: in %s, want %s", name, got, c.want)
		}
	}
}
