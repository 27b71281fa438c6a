package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Hands put files into the tree and spoil others while the store is closed: what was never known comes by its own time, what
// cannot be read any more stands at the end, and an id that stands in two files is listed once.
func TestListsAfterHands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	for i, name := range []string{"a", "b", "c"} {
		if err := s.Update(t.Context(), ns, func(tx store.Tx) error {
			made := time.Date(2026, 4, 1+i, 0, 0, 0, 0, time.UTC)
			if err := tx.CreateFlow(flow.Flow{ID: idOf(name), Name: name, Created: made, Updated: tx.Now(), Next: 1}); err != nil {
				return err
			}
			return tx.CreateNode(node.Node{ID: idOf(name), Created: made, Texts: []node.Text{{Role: "user", Content: name}}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, ns)
	for _, pair := range [][2]string{{"nodes/000/000.xml", "nodes/000/007.xml"}, {"flows/000/000.yaml", "flows/000/007.yaml"}} {
		data, err := os.ReadFile(filepath.Join(tree, pair[0]))
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, pair[1]), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"nodes/000/002.xml", "flows/000/002.yaml"} {
		if err := os.WriteFile(filepath.Join(tree, file), []byte("<torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, dir)
	want := []uuid.UUID{idOf("b"), idOf("a"), idOf("c")}
	for kind, list := range map[string]func() ([]store.Entry, error){
		"nodes": func() ([]store.Entry, error) { return s.Nodes(t.Context(), ns, store.NewestFirst, store.Entry{}, 10) },
		"flows": func() ([]store.Entry, error) { return s.Flows(t.Context(), ns, store.NewestFirst, store.Entry{}, 10) },
	} {
		entries, err := list()
		var got []uuid.UUID
		for _, e := range entries {
			got = append(got, e.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", kind, err, diff)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
