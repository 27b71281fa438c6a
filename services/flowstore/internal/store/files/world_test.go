package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

const ns = "default"

// byHand writes files only when it is asked to, one at a time, so that every run does the same steps.
var byHand = Gate{Idle: time.Hour, MaxAge: time.Hour, MaxRecords: 1 << 20, MaxBytes: 1 << 40, Retry: time.Hour, Parallel: 1}

// world is what is left when a process ends: a tree in the double, and a folder with local.db. SQLite's own durability is
// SQLite's to prove, so local.db may lie in memory.
type world struct {
	tree  *powercut.FS
	local string
}

func newWorld(t testing.TB, hook powercut.Hook) world {
	t.Helper()
	return world{powercut.New(hook), tempDir(t)}
}

// tempDir is a folder in memory where there is one: a commit is then no wait for a disk.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "flowstore") //nolint:usetesting // TempDir lies on a disk.
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w world) open() (*Store, error) {
	clock := func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC) }
	return open(Options{Data: w.local, Gate: byHand, Clock: clock}, w.tree)
}

// copyLocal copies local.db as it is now. Nobody writes to it meanwhile.
func (w world) copyLocal(t testing.TB) string {
	t.Helper()
	dir := tempDir(t)
	if err := os.CopyFS(dir, os.DirFS(w.local)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// user writes to a store and remembers what was acknowledged.
type user struct {
	store *Store
	nodes map[uuid.UUID]node.Node
	flows map[uuid.UUID]flow.Flow
	// trash is what was dropped.
	trash map[store.Thing]bool
	// purged is what was purged.
	purged map[store.Thing]bool
	// requests are answered with the node that they made.
	requests map[uuid.UUID]uuid.UUID
	// interruptions counts what the user wrote while files were written.
	interruptions int
}

func newUser(s *Store) *user {
	return &user{
		store: s, nodes: map[uuid.UUID]node.Node{}, flows: map[uuid.UUID]flow.Flow{}, requests: map[uuid.UUID]uuid.UUID{},
		trash: map[store.Thing]bool{}, purged: map[store.Thing]bool{},
	}
}

// acknowledged is what stands in memory of the user now.
func (u *user) acknowledged() *user {
	return &user{nodes: maps.Clone(u.nodes), flows: maps.Clone(u.flows), requests: maps.Clone(u.requests), trash: maps.Clone(u.trash), purged: maps.Clone(u.purged)}
}

// interrupts writes to the novel while its file is being replaced, the first two times, to a node while that is, and takes
// back what goes to the trash. What comes then is not in the file.
func (u *user) interrupts(s powercut.Step) error {
	switch {
	case s.Op == powercut.OpRename && s.Name == "default/nodes/000/.000.xml.tmp" && u.nodes[idOf("one")].Model == "二":
		return unlessClosed(u.replaceNode("one", "三"))
	case s.Op == powercut.OpRename && s.Name == "default/trash/nodes/000/.001.xml.tmp" && u.trash[thing(store.KindNode, "a")]:
		return unlessClosed(u.move(thing(store.KindNode, "a"), false))
	}
	if s.Op != powercut.OpRename || s.Name != "default/flows/000/.000.yaml.tmp" || u.interruptions == 2 {
		return nil
	}
	u.interruptions++
	return u.addNode("novel", fmt.Sprintf("meanwhile %d", u.interruptions))
}

// unlessClosed leaves out that files are written at the end, when nobody may write any more.
func unlessClosed(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return nil
	}
	return err
}

func idOf(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

func nodeOf(name, text string) node.Node {
	return node.Node{
		ID: idOf(name), Created: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), Summary: node.Summary{Stale: true},
		Texts: []node.Text{{Role: "user", Content: text}},
	}
}

// createNode makes a node, with a request id.
func (u *user) createNode(name string) error {
	n := nodeOf(name, strings.Repeat(name+" 春の夜。\n", 20))
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error {
		n.Created = tx.Now()
		return errors.Join(tx.CreateNode(n), tx.PutRequest(store.Request{ID: idOf("request " + name), Result: n.ID}))
	})
	if err == nil {
		u.nodes[n.ID] = n
		u.requests[idOf("request "+name)] = n.ID
	}
	return err
}

func (u *user) createFlow(name string) error {
	var f flow.Flow
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error {
		f = flow.Flow{ID: idOf(name), Name: name, Created: tx.Now(), Updated: tx.Now(), Next: 1}
		return tx.CreateFlow(f)
	})
	if err == nil {
		u.flows[f.ID] = f
	}
	return err
}

// addNode makes a node and puts it into a flow, below the one before.
func (u *user) addNode(name, member string) error {
	var n node.Node
	var f flow.Flow
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error {
		n = nodeOf(member, strings.Repeat(member+" 長い夜。\n", 20))
		n.Created = tx.Now()
		before, err := tx.Flow(idOf(name))
		if err != nil {
			return err
		}
		c := flow.Change{At: tx.Now(), Add: []flow.Member{{Index: before.Next, Node: n.ID}}, Current: &before.Next}
		if before.Next > 1 {
			c.Connect = []flow.Edge{{From: before.Next - 1, To: before.Next}}
		}
		f = before.Apply(c)
		return errors.Join(before.Check(c), tx.CreateNode(n), tx.ChangeFlow(f.ID, c))
	})
	if err == nil {
		u.nodes[n.ID], u.flows[f.ID] = n, f
	}
	return err
}

// change takes something out of a flow, or names what is in it.
func (u *user) change(name string, c flow.Change) error {
	var f flow.Flow
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error {
		before, err := tx.Flow(idOf(name))
		if err != nil {
			return err
		}
		c.At = tx.Now()
		f = before.Apply(c)
		return errors.Join(before.Check(c), tx.ChangeFlow(f.ID, c))
	})
	if err == nil {
		u.flows[f.ID] = f
	}
	return err
}

func thing(kind store.Kind, name string) store.Thing { return store.Thing{Kind: kind, ID: idOf(name)} }

// replaceNode gives a node another model.
func (u *user) replaceNode(name, model string) error {
	var n node.Node
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) (err error) {
		if n, err = tx.Node(idOf(name)); err != nil {
			return err
		}
		n.Model = model
		return tx.ReplaceNode(n)
	})
	if err == nil {
		u.nodes[n.ID] = n
	}
	return err
}

// move puts a thing into the trash, or takes it out.
func (u *user) move(t store.Thing, drop bool) error {
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error {
		if drop {
			return tx.Drop(t)
		}
		return tx.Restore(t)
	})
	if err == nil {
		u.trash[t] = drop
	}
	return err
}

// finds compares a store with what was acknowledged.
func (u *user) finds(s *Store) error {
	ctx := context.Background()
	for id, want := range u.nodes {
		got, err := s.Node(ctx, ns, id)
		if u.trash[store.Thing{Kind: store.KindNode, ID: id}] {
			if dropped := (*store.DroppedError)(nil); !errors.As(err, &dropped) {
				return errors.Join(fmt.Errorf("the node %s was dropped and is %+v", id, got), err)
			}
			continue
		}
		if err != nil || !bytes.Equal(format.EncodeNode(got), format.EncodeNode(want)) {
			return errors.Join(fmt.Errorf("the node %s was acknowledged and is %+v", id, got), err)
		}
	}
	for id, want := range u.flows {
		got, err := s.Flow(ctx, ns, id)
		if u.trash[store.Thing{Kind: store.KindFlow, ID: id}] {
			if dropped := (*store.DroppedError)(nil); !errors.As(err, &dropped) {
				return errors.Join(fmt.Errorf("the flow %s was dropped and is %+v", id, got), err)
			}
			continue
		}
		if err != nil || !bytes.Equal(format.EncodeFlow(got), format.EncodeFlow(want)) {
			return errors.Join(fmt.Errorf("the flow %s was acknowledged as\n%s and is\n%s", id, format.EncodeFlow(want), format.EncodeFlow(got)), err)
		}
	}
	if err := u.findsPurged(s); err != nil {
		return err
	}
	problems, err := s.Problems(ctx, ns)
	if err != nil || len(problems) > 0 {
		return errors.Join(fmt.Errorf("problems: %v", problems), err)
	}
	return nil
}

// findsRequests is apart from finds, since it takes an Update.
func (u *user) findsRequests(s *Store) error {
	return s.Update(context.Background(), ns, func(tx store.Tx) error {
		for id, want := range u.requests {
			if got, ok, err := tx.Request(id); !ok || err != nil || got.Result != want {
				return errors.Join(fmt.Errorf("the request %s was acknowledged and is %v", id, got), err)
			}
		}
		return nil
	})
}

// findsInTree compares the files with what was acknowledged: all of it, nothing else, nothing torn, and the indexes right.
func (u *user) findsInTree(tree filesys.FS) error {
	readNode := func(data []byte) (format.Row, error) {
		n, err := format.DecodeNode(data)
		if err == nil && !bytes.Equal(data, format.EncodeNode(u.nodes[n.ID])) {
			err = fmt.Errorf("it is not as it was acknowledged:\n%s", data)
		}
		return format.Row{ID: n.ID, Time: n.Created}, err
	}
	readFlow := func(data []byte) (format.Row, error) {
		f, err := format.DecodeFlow(data)
		return format.Row{ID: f.ID, Time: f.Updated}, err
	}
	droppedNodes, droppedFlows := 0, 0
	for t, dropped := range u.trash {
		switch {
		case dropped && t.Kind == store.KindNode:
			droppedNodes++
		case dropped:
			droppedFlows++
		}
	}
	return errors.Join(u.findsTombstones(tree),
		filesAre(tree, format.Nodes, len(u.nodes)-droppedNodes, droppedNodes, readNode),
		filesAre(tree, format.Flows, len(u.flows)-droppedFlows, droppedFlows, readFlow))
}

// filesAre counts the files of a kind in the tree and in the trash.
func filesAre(tree filesys.FS, kind format.Kind, want, wantDropped int, read func([]byte) (format.Row, error)) error {
	n, err := filesIn(tree, kind, read)
	if err != nil || n != want {
		return errors.Join(fmt.Errorf("%d files of %s in the tree, acknowledged %d", n, kind, want), err)
	}
	sp := &space{tree: filesys.Sub(tree, ns), nodes: newIndex(format.Nodes), flows: newIndex(format.Flows), log: nopLog}
	list, err := sp.listKind(kind, trashFolder)
	if err != nil || len(list) != wantDropped {
		return errors.Join(fmt.Errorf("%d files of %s in the trash, acknowledged %d", len(list), kind, wantDropped), err)
	}
	for _, f := range list {
		data, err := sp.tree.ReadFile(f.Path, format.MaxFile)
		if err == nil {
			_, err = read(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// filesIn reads all files of a kind and compares them with the index.
func filesIn(tree filesys.FS, kind format.Kind, read func([]byte) (format.Row, error)) (int, error) {
	text, err := tree.ReadFile(path.Join(ns, string(kind), "index.tsv"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte(format.IndexHeader), nil
	}
	rows, sound := kind.ReadIndex(text)
	if err != nil || !sound {
		return 0, errors.Join(fmt.Errorf("the index of %s is %q", kind, text), err)
	}
	byPath := map[string]format.Row{}
	for _, r := range rows {
		byPath[r.Path] = r
	}
	sp := &space{tree: filesys.Sub(tree, ns), nodes: newIndex(format.Nodes), flows: newIndex(format.Flows), log: nopLog}
	list, err := sp.listKind(kind, "")
	if err != nil || len(list) != len(byPath) {
		return 0, errors.Join(fmt.Errorf("%d files, %d rows in the index of %s", len(list), len(byPath), kind), err)
	}
	for _, f := range list {
		data, err := tree.ReadFile(path.Join(ns, f.Path), format.MaxFile)
		if err != nil {
			return 0, err
		}
		held, err := read(data)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", f.Path, err)
		}
		if r := byPath[strings.TrimPrefix(f.Path, string(kind)+"/")]; r.ID != held.ID || !r.Time.Equal(held.Time) {
			return 0, fmt.Errorf("%s holds %v, the index says %v", f.Path, held, r)
		}
	}
	return len(list), nil
}

// work is a morning of a user: everything that makes the engine write, and write again.
func (u *user) work(open reopener) error {
	script := []func() error{
		func() error { return u.createNode("one") },
		func() error { return u.createFlow("novel") },
		func() error { return u.addNode("novel", "a") },
		func() error { return u.addNode("novel", "b") },
		u.flush,
		func() error { return u.addNode("novel", "c") },
		func() error { return u.createNode("two") },
		func() error { return u.replaceNode("one", "二") },
		func() error { return u.replaceNode("two", "二") },
		u.flush,
		func() error { return u.move(thing(store.KindNode, "a"), true) },
		func() error { return u.move(thing(store.KindNode, "two"), true) },
		func() error { return u.createFlow("essay") },
		func() error { return u.addNode("essay", "d") },
		func() error { return u.addNode("novel", "e") },
		func() error { return u.change("novel", flow.Change{Disconnect: []flow.Edge{{From: 1, To: 2}}}) },
		func() error {
			name, title := "別の名", "題"
			return u.change("essay", flow.Change{Name: &name, Story: &flow.Story{Title: &title}})
		},
		func() error { return u.move(thing(store.KindFlow, "essay"), true) },
		func() error { return u.reopen(open) },
		func() error { return u.move(thing(store.KindFlow, "essay"), false) },
		func() error { return u.move(thing(store.KindNode, "two"), false) },
		func() error { return u.replaceNode("two", "四") },
		func() error {
			return u.change("novel", flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "本筋"}}})
		},
		func() error { return u.addNode("novel", "f") },
		u.flush,
		func() error { return u.addNode("essay", "g") },
		func() error {
			return u.change("essay", flow.Change{Remove: []flow.Member{{Index: 2, Node: idOf("g")}}})
		},
		func() error { return u.createNode("three") },
		func() error { return u.replaceNode("three", "二") },
		func() error { return u.move(thing(store.KindNode, "three"), true) },
		u.flush,
		func() error { return u.createNode("four") },
		func() error { return u.purge(thing(store.KindNode, "three")) },
		func() error { return u.purge(thing(store.KindNode, "four")) },
		func() error { return u.purge(thing(store.KindNode, "one")) },
		func() error { return u.addNode("novel", "h") },
		func() error { return u.purge(thing(store.KindFlow, "essay")) },
	}
	for _, step := range script {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (u *user) flush() error {
	_, err := u.store.Flush(context.Background(), ns)
	return err
}

// reopener opens the store again.
type reopener func() (*Store, error)

func (u *user) reopen(open reopener) error {
	if err := u.store.Close(); err != nil {
		return err
	}
	s, err := open()
	if err != nil {
		return err
	}
	u.store = s
	return nil
}

func mkfile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
