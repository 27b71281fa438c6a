package audit_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is the tree of a namespace on the disk.
type world struct {
	t   testing.TB
	dir string
	filesys.FS
}

// newWorld is a sound tree: four nodes, each continuing the one before, in one flow.
func newWorld(t testing.TB) world {
	t.Helper()
	w := world{t: t, dir: t.TempDir()}
	tree, err := filesys.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	w.FS = tree
	w.put("config.yaml", string(format.EncodeConfig(at(0))))
	index := format.IndexHeader
	f := flow.Flow{ID: idOf(100), Name: "夜明けの町", Created: at(0), Updated: at(9), Next: 5}
	for n := range 4 {
		w.node(n, n, at(n))
		index += string(format.AppendRow(nil, format.Row{Path: format.Nodes.SlotPath(n), ID: idOf(n), Time: at(n)}))
		f.Members = append(f.Members, flow.Member{Index: n + 1, Node: idOf(n)})
		if n > 0 {
			f.Edges = append(f.Edges, flow.Edge{From: n, To: n + 1})
		}
	}
	w.put("nodes/index.tsv", index)
	w.put("flows/000/000.yaml", string(format.EncodeFlow(f)))
	w.put("flows/index.tsv", format.IndexHeader+string(format.AppendRow(nil, format.Row{Path: "000/000.yaml", ID: f.ID, Time: f.Updated})))
	return w
}

func idOf(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("0197a1b2-c3d4-7e5f-8a9b-%012d", n))
}

func at(minute int) time.Time { return time.Date(2026, 4, 1, 9, minute, 0, 0, time.UTC) }

func (w world) node(slot, id int, created time.Time) {
	w.put("nodes/"+format.Nodes.SlotPath(slot), string(format.EncodeNode(node.Node{
		ID: idOf(id), Created: created, Texts: []node.Text{{Role: "user", Content: fmt.Sprintf("%d 夜明け前の町\nは静かだった。", slot)}},
	})))
}

func (w world) put(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) get(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// edit puts one text in place of another, which has to be there.
func (w world) edit(name, from, to string) {
	w.t.Helper()
	text := w.get(name)
	if !strings.Contains(text, from) {
		w.t.Fatalf("%s has no %q", name, from)
	}
	w.put(name, strings.Replace(text, from, to, 1))
}

func (w world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, filepath.FromSlash(name))); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) look(o audit.Options) audit.Report {
	w.t.Helper()
	r, err := audit.Look(context.Background(), w.FS, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// finds looks and wants these findings and no others, as `kind path`, with `:line` where one has a line.
func (w world) finds(want ...string) audit.Report {
	w.t.Helper()
	r := w.look(audit.Options{})
	if got := short(r); strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("it finds\n  %s\nand should find\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return r
}

func short(r audit.Report) (list []string) {
	for _, f := range r.Findings {
		text := string(f.Kind) + " " + f.Path
		if f.Line > 0 {
			text += fmt.Sprintf(":%d", f.Line)
		}
		list = append(list, text)
	}
	return list
}

// files gives everything in the tree by its path.
func (w world) files() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := w.List(folder)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			switch in := path.Join(folder, e.Name); {
			case e.Mode.IsDir():
				walk(in)
			case e.Mode.IsRegular():
				all[in] = w.get(in)
			}
		}
	}
	walk(".")
	return all
}
