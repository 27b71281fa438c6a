package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

const ns = "default"

// byHand writes files only when it is asked to, one at a time, so that every run does the same steps.
var byHand = Gate{Idle: time.Hour, MaxAge: time.Hour, MaxRecords: 1 << 20, MaxBytes: 1 << 40, Retry: time.Hour, Parallel: 1, Together: 1 << 20}

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

func (w world) open() (*Store, error) { return w.openWith(byHand) }

func (w world) openWith(gate Gate) (*Store, error) {
	clock := func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC) }
	return open(Options{Data: w.local, Gate: gate, Clock: clock}, w.tree)
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
