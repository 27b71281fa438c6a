package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// desk is a store on a real disk, and a person who looks into its folder.
type desk struct {
	testing.TB
	*user
	data string
	log  *zap.Logger
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{TB: t, data: t.TempDir()}
	d.user = newUser(nil)
	d.open()
	t.Cleanup(func() { d.must(d.store.Close()) })
	return d
}

func (d *desk) open() {
	d.Helper()
	clock := func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.FixedZone("", 9*3600)) }
	s, err := Open(Options{Data: d.data, Gate: byHand, Clock: clock, Log: d.log})
	d.must(err)
	d.store = s
}

func (d *desk) restart() {
	d.Helper()
	d.must(d.store.Close())
	d.open()
}

// crash leaves the store without writing what is pending, as a kill does, and starts the next one. What hands did meanwhile
// is done in between.
func (d *desk) crash(meanwhile func()) {
	d.Helper()
	left := d.TempDir()
	d.must(os.CopyFS(left, os.DirFS(d.data)))
	d.must(d.store.Close())
	d.data = left
	meanwhile()
	d.open()
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.data, ns, filepath.FromSlash(name)) }

func (d *desk) read(name string) string {
	d.Helper()
	data, err := os.ReadFile(d.path(name))
	d.must(err)
	return string(data)
}

// edit is a hand that changes a file. The new one has another time, as one from an editor.
func (d *desk) edit(name, old, replacement string) string {
	d.Helper()
	before := d.read(name)
	if !strings.Contains(before, old) {
		d.Fatalf("%s holds no %q:\n%s", name, old, before)
	}
	after := strings.ReplaceAll(before, old, replacement)
	d.put(name, after)
	return after
}

func (d *desk) put(name, text string) {
	d.Helper()
	mkfile(d, d.path(name), []byte(text))
}

func (d *desk) exists(name string) bool {
	_, err := os.Stat(d.path(name))
	return err == nil
}

func (d *desk) flushed() {
	d.Helper()
	d.must(d.flush())
}

func (d *desk) text(name string) string {
	d.Helper()
	n, err := d.store.Node(context.Background(), ns, idOf(name))
	d.must(err)
	return n.Texts[0].Content
}

func (d *desk) flowOf(name string) flow.Flow {
	d.Helper()
	f, err := d.store.Flow(context.Background(), ns, idOf(name))
	d.must(err)
	return f
}

// problemPaths are the files that need a person.
func (d *desk) problemPaths() []string {
	d.Helper()
	problems, err := d.store.Problems(context.Background(), ns)
	d.must(err)
	var paths []string
	for _, p := range problems {
		if p.Reason == "" {
			d.Errorf("%s without a reason", p.Path)
		}
		paths = append(paths, p.Path)
	}
	return paths
}

func (d *desk) wantProblems(paths ...string) {
	d.Helper()
	if got := d.problemPaths(); !slices.Equal(got, paths) {
		problems, _ := d.store.Problems(context.Background(), ns)
		d.Errorf("problems of %q, want %q: %v", got, paths, problems)
	}
}

func TestTheTreeThatAPersonSees(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "two")))
	files, err := d.store.Flush(context.Background(), ns)
	d.must(err)
	if files != 5 {
		t.Errorf("Flush wrote %d files, not two nodes, a flow and two indexes", files)
	}
	var names []string
	d.must(filepath.WalkDir(d.path("."), func(path string, e os.DirEntry, err error) error {
		if !e.IsDir() && !strings.Contains(path, localFolder) {
			name, _ := filepath.Rel(d.path("."), path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	want := []string{
		".gitattributes", ".gitignore", "config.yaml", "flows/000/000.yaml", "flows/index.tsv", "metadata/index.yaml", "metadata/tags.yaml",
		"nodes/000/000.xml", "nodes/000/001.xml", "nodes/index.tsv",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the tree is %q", names)
	}
	index := format.IndexHeader +
		"000/000.xml\t" + idOf("one").String() + "\t2026-04-01T09:30:00.000000+09:00\n" +
		"000/001.xml\t" + idOf("two").String() + "\t2026-04-01T09:30:00.000002+09:00\n"
	if got := d.read("nodes/index.tsv"); got != index {
		t.Errorf("the index is\n%s", got)
	}
	if !strings.Contains(d.read(".gitignore"), ".flowstore/") || !strings.Contains(d.read("config.yaml"), "version:") {
		t.Error("git and the next program are not told what they need to know")
	}
	if files, err := d.store.Flush(context.Background(), ns); files != 0 || err != nil {
		t.Errorf("with nothing to write Flush wrote %d files: %v", files, err)
	}
}

func TestWhatAPersonTookAwayStaysAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(os.Remove(d.path(".gitignore")))
	d.restart()
	d.must(d.createNode("two"))
	d.flushed()
	if d.exists(".gitignore") {
		t.Error(".gitignore came back")
	}
}

func TestReadingMakesNoNamespace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, err := d.store.Node(t.Context(), "nobody", idOf("one"))
	if !errors.Is(err, store.ErrNodeNotFound) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(d.data); err != nil || len(entries) != 1 {
		t.Errorf("the data folder holds %v: %v", entries, err)
	}
}

func TestANodeIsReadAgainWhenAHandChangedIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.edit("nodes/000/000.xml", "春の夜", "夏の朝")
	if got := d.text("one"); !strings.Contains(got, "夏の朝") {
		t.Errorf("while the store runs: %q", got)
	}
	d.restart()
	if got := d.text("one"); !strings.Contains(got, "夏の朝") {
		t.Errorf("after a restart: %q", got)
	}
}

func TestAFlowIsReadAgainWhenAHandChangedIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.flowOf("novel")
	d.edit("flows/000/000.yaml", "name: \"novel\"", "# 私の小説\nname: 長編")
	if got := d.flowOf("novel").Name; got != "長編" {
		t.Errorf("the flow is called %q", got)
	}
	d.must(d.addNode("novel", "b"))
	d.flushed()
	if got := d.read("flows/000/000.yaml"); !strings.Contains(got, "# 私の小説") || !strings.Contains(got, idOf("b").String()) {
		t.Errorf("after a change the file is\n%s", got)
	}
	d.wantProblems()
}

// A file that somebody removed is a node that is not there (field/flowstore.md row 15).
func TestAFileThatWentAwayIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
	d.flushed()
	d.must(os.Remove(d.path("nodes/000/001.xml")))
	d.must(os.Remove(d.path("flows/000/000.yaml")))
	gone := func(when string) {
		_, errNode := d.store.Node(t.Context(), ns, idOf("two"))
		_, errFlow := d.store.Flow(t.Context(), ns, idOf("novel"))
		if !errors.Is(errNode, store.ErrNodeNotFound) || !errors.Is(errFlow, store.ErrFlowNotFound) {
			t.Errorf("%s: %v, %v", when, errNode, errFlow)
		}
	}
	gone("at once")
	d.restart()
	gone("after a restart")
	d.must(d.createNode("three"))
	d.flushed()
	if d.exists("nodes/000/001.xml") || !d.exists("nodes/000/002.xml") {
		t.Error("the slot was given to another node")
	}
	if got := d.read("nodes/index.tsv"); strings.Contains(got, "001.xml") || !strings.Contains(got, "002.xml") {
		t.Errorf("the index is\n%s", got)
	}
}

// Half a file is told and not touched (cases/flowstore.md 14 and 31; field/flowstore.md row 14).
func TestAnUnreadableFileIsToldAndLeftAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createNode("three"), d.createFlow("novel")))
	d.flushed()
	whole := d.read("nodes/000/001.xml")
	d.put("nodes/000/000.xml", "\ufeff"+d.read("nodes/000/000.xml"))
	d.put("nodes/000/001.xml", whole[:100])
	d.put("nodes/000/002.xml", strings.Repeat("\x00", 2000))
	d.put("flows/000/000.yaml", "<<<<<<< ours\nid: 1\n")
	for range 2 {
		d.restart()
		d.wantProblems("flows/000/000.yaml", "nodes/000/001.xml", "nodes/000/002.xml")
		d.text("one")
		d.wantUnreadable("nodes/000/001.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("two")); return err })
		d.wantUnreadable("nodes/000/002.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("three")); return err })
		d.wantUnreadable("flows/000/000.yaml", func() error { return d.addNode("novel", "a") })
		if err := d.createNode("two"); !errors.Is(err, store.ErrTaken) {
			t.Errorf("the id of the torn node was given away: %v", err)
		}
	}
	d.must(errors.Join(d.createNode("four"), d.createFlow("other")))
	d.flushed()
	if !d.exists("nodes/000/003.xml") || !d.exists("flows/000/001.yaml") || d.read("nodes/000/001.xml") != whole[:100] {
		t.Error("a slot was given away, or a file changed")
	}
	d.put("nodes/000/001.xml", whole)
	d.restart()
	d.text("two")
	d.wantProblems("flows/000/000.yaml", "nodes/000/002.xml")
}

// wantUnreadable wants an error that names a file.
func (d *desk) wantUnreadable(path string, call func() error) {
	d.Helper()
	var unreadable *store.UnreadableError
	if err := call(); !errors.As(err, &unreadable) || unreadable.Path != path {
		d.Errorf("want that %s is unreadable: %v", path, err)
	}
}

// While the store runs, a file that became unreadable is an error that names it.
func TestAFileThatBecameUnreadable(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.createNode("two")))
	d.flushed()
	d.put("nodes/000/000.xml", d.read("nodes/000/001.xml"))
	d.put("flows/000/000.yaml", ":")
	// A file that holds another node, one that is no flow, and a change of it.
	d.wantUnreadable("nodes/000/000.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("one")); return err })
	d.wantUnreadable("flows/000/000.yaml", func() error { _, err := d.store.Flow(t.Context(), ns, idOf("novel")); return err })
	d.wantUnreadable("flows/000/000.yaml", func() error { return d.addNode("novel", "a") })
}

// Of several files with one id the newest counts, and all are kept (cases/flowstore.md 17; field/flowstore.md row 13).
func TestOneIDInSeveralFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	original := d.read("nodes/000/000.xml")
	d.put("nodes/000/007.xml", strings.ReplaceAll(original, "春の夜", "copy"))
	newer := strings.Replace(original, "T09:30:00.000000+09:00", "T01:30:00.5Z", 1)
	d.put("nodes/000/003.xml", strings.ReplaceAll(newer, "春の夜", "newest"))
	for range 2 {
		d.restart()
		if got := d.text("one"); !strings.Contains(got, "newest") {
			t.Errorf("the node is %q", got)
		}
		d.wantProblems("nodes/000/000.xml", "nodes/000/007.xml")
		var order []string
		for _, h := range d.store.spaces[ns].space.nodes.holdings(idOf("one")) {
			order = append(order, h.path)
		}
		if want := []string{"nodes/000/003.xml", "nodes/000/007.xml", "nodes/000/000.xml"}; !slices.Equal(order, want) {
			t.Errorf("versions %q, want %q", order, want)
		}
	}
	d.must(d.createNode("three"))
	d.flushed()
	if d.read("nodes/000/000.xml") != original || !d.exists("nodes/000/008.xml") {
		t.Error("a file was changed, or a slot given away")
	}
}

// Why one of several files with one id counts is told: it is newer, or of the same time and behind in the tree.
func TestWhyAFileCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	original := d.read("nodes/000/000.xml")
	for _, tt := range []struct{ text, why string }{
		{original, "nodes/000/003.xml has, which has the same time, a later name and counts"},
		{strings.Replace(original, "T09:30:00.000000+09:00", "T01:30:00.5Z", 1), "nodes/000/003.xml has, which is newer and counts"},
	} {
		d.put("nodes/000/003.xml", tt.text)
		d.restart()
		problems, err := d.store.Problems(t.Context(), ns)
		if err != nil || len(problems) != 1 || problems[0].Path != "nodes/000/000.xml" || !strings.HasSuffix(problems[0].Reason, tt.why) {
			t.Errorf("%v, %v; want %s", problems, err, tt.why)
		}
	}
}

// An index that is damaged or gone is made anew (cases/flowstore.md 19 and 31; field/flowstore.md row 17).
func TestAnIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(d *desk, file string){
		"deleted":          func(d *desk, file string) { d.must(os.Remove(d.path(file))) },
		"torn":             func(d *desk, file string) { d.put(file, d.read(file)+"000/009.xml\t0190") },
		"marked by git":    func(d *desk, file string) { d.put(file, "<<<<<<< ours\n"+d.read(file)+">>>>>>> theirs\n") },
		"zeros":            func(d *desk, file string) { d.put(file, strings.Repeat("\x00", len(d.read(file)))) },
		"of wrong columns": func(d *desk, file string) { d.put(file, strings.ReplaceAll(d.read(file), "\t", ":")) },
		"of other times":   func(d *desk, file string) { d.put(file, strings.ReplaceAll(d.read(file), "2026", "2025")) },
		"with a dead row": func(d *desk, file string) {
			d.put(file, d.read(file)+"000/050.xml\t"+idOf("dead").String()+"\t2026-04-01T09:30:00.000000+09:00\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a"), d.createFlow("essay")))
			d.flushed()
			want := map[string]string{}
			for _, file := range []string{"nodes/index.tsv", "flows/index.tsv"} {
				want[file] = d.read(file)
				damage(d, file)
			}
			d.restart()
			d.must(d.finds(d.store))
			d.flushed()
			for file, text := range want {
				if got := d.read(file); got != text {
					t.Errorf("%s is\n%s\nwant\n%s", file, got, text)
				}
			}
		})
	}
}

// cases/flowstore.md 25: a checkout with other line ends changes nothing, and is not answered by writing files.
func TestOtherLineEndsAreLeftAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	for _, file := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv", "flows/index.tsv"} {
		d.edit(file, "\n", "\r\n")
	}
	for range 3 {
		d.restart()
		d.must(d.finds(d.store))
		d.flushed()
	}
	for _, file := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv", "flows/index.tsv"} {
		if !strings.Contains(d.read(file), "\r\n") {
			t.Errorf("%s was written", file)
		}
	}
}

func TestAnIndexOfManyChangesIsPutInOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createFlow("novel"))
	for range 130 {
		d.must(d.addNode("novel", time.Duration(len(d.nodes)).String()))
		d.flushed()
	}
	if n := strings.Count(d.read("flows/index.tsv"), "\n"); n < 2 || n > 110 {
		t.Errorf("the index of one flow has %d lines", n)
	}
	d.restart()
	if n := strings.Count(d.read("flows/index.tsv"), "\n"); n != 2 {
		t.Errorf("after closing it has %d lines", n)
	}
	d.must(d.findsInTree(filesysOf(d)))
}

func filesysOf(d *desk) filesys.FS {
	d.Helper()
	tree, err := filesys.Open(d.data)
	d.must(err)
	d.Cleanup(func() { _ = tree.Close() })
	return tree
}

func TestWithoutLocalDBTheTreeIsAllThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.work(func() (*Store, error) { d.open(); return d.store, nil }))
	d.must(d.store.Close())
	d.must(os.RemoveAll(d.path(localFolder)))
	d.open()
	d.must(d.finds(d.store))
	d.flushed()
	d.must(d.findsInTree(filesysOf(d)))
}

func TestANewerTreeIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("config.yaml", "version: \"2.0\"\n")
	err := d.createNode("one")
	if err == nil || !strings.Contains(err.Error(), "config.yaml") {
		t.Errorf("error %v", err)
	}
	d.put("config.yaml", "version: \"1.7\"\n")
	d.must(d.createNode("one"))
}

// Row 3: names that are not ours.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	text := d.read("nodes/000/000.xml")
	for _, name := range []string{
		"000.xml.bak", "000.xml~", "000.xml.orig", ".001.xml.swp", "001 (conflicted copy).xml", "x.xml", "1.xml", "001.XML",
	} {
		d.put("nodes/000/"+name, text)
	}
	d.must(os.Mkdir(d.path("nodes/000/005.xml"), 0o700))
	d.put("nodes/README.md", "text")
	core, logs := observer.New(zap.InfoLevel)
	d.log = zap.New(core)
	d.restart()
	d.wantProblems()
	if told := logs.FilterField(zap.Int("files", 9)).Len(); told != 1 {
		t.Errorf("the log does not count them: %v", logs.All())
	}
	d.must(d.createNode("two"))
	d.flushed()
	if !d.exists("nodes/000/001.xml") {
		t.Error("a file that is not ours took a slot")
	}
}

// Rows 1 and 2: names with two digits, and slots beyond the first round.
func TestOtherNamesThatAreRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	text := d.read("nodes/000/000.xml")
	for name, path := range map[string]string{"two": "nodes/00/01.xml", "three": "nodes/099/099.xml", "four": "nodes/0001/0000.xml"} {
		d.put(path, strings.ReplaceAll(text, idOf("one").String(), idOf(name).String()))
	}
	d.restart()
	for _, name := range []string{"one", "two", "three", "four"} {
		d.text(name)
	}
	d.must(d.createNode("five"))
	d.flushed()
	if !d.exists("nodes/000/100.xml") {
		t.Error("the slot after 099/099 is 000/100")
	}
	d.wantProblems()
}

func TestOpeningReadsNoNodeFile(t *testing.T) {
	t.Parallel()
	const n = 10_000
	w := newWorld(t, nil)
	u := newUser(nil)
	s, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	u.store = s
	err = s.Update(t.Context(), ns, func(tx store.Tx) error {
		for i := range n {
			if err := tx.CreateNode(nodeOf(time.Duration(i).String(), "春の夜。")); err != nil {
				return err
			}
		}
		return tx.CreateFlow(flow.Flow{ID: idOf("novel"), Name: "novel", Next: 1})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	var read []string
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead {
			read = append(read, s.Name)
		}
		return nil
	})
	if s, err = w.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Node(t.Context(), ns, idOf("none")); !errors.Is(err, store.ErrNodeNotFound) {
		t.Error(err)
	}
	if !slices.Equal(read, []string{"default/config.yaml", "default/tombstones.tsv"}) {
		t.Errorf("opening %d nodes read %d files: %.200q", n, len(read), read)
	}
	if _, err := s.Node(t.Context(), ns, idOf(time.Duration(n-1).String())); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A file that may not be read is told; when it may be, it is there, though neither its size nor its time changed.
func TestAFileThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	must(t, err)
	u := newUser(s)
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), s.Close()))
	must(t, os.RemoveAll(filepath.Join(w.local, ns))) // So that files are read.
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead && strings.HasSuffix(s.Name, "nodes/000/001.xml") {
			return fs.ErrPermission
		}
		return nil
	})
	s, err = w.open()
	must(t, err)
	problems, err := s.Problems(t.Context(), ns)
	if err != nil || len(problems) != 1 || problems[0].Path != "nodes/000/001.xml" {
		t.Errorf("problems %v: %v", problems, err)
	}
	must(t, s.Close())
	w.tree.SetHook(nil)
	s, err = w.open()
	must(t, err)
	must(t, errors.Join(u.finds(s), s.Close()))
}

// A file that goes away while the tree is looked through is not there.
func TestAFileThatGoesAwayWhileItIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	must(t, err)
	u := newUser(s)
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), s.Close()))
	must(t, os.RemoveAll(filepath.Join(w.local, ns)))
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead && strings.HasSuffix(s.Name, "nodes/000/001.xml") {
			return fs.ErrNotExist
		}
		return nil
	})
	s, err = w.open()
	must(t, err)
	if _, err := s.Node(t.Context(), ns, idOf("two")); !errors.Is(err, store.ErrNodeNotFound) {
		t.Errorf("error %v", err)
	}
	problems, err := s.Problems(t.Context(), ns)
	if err != nil || len(problems) != 0 {
		t.Errorf("problems %v: %v", problems, err)
	}
	must(t, s.Close())
}

// A folder that a hand took away is made again, at the second try.
func TestAFolderThatWentAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.must(errors.Join(d.addNode("novel", "b"), os.RemoveAll(d.path("nodes")), os.RemoveAll(d.path("flows"))))
	if err := d.flush(); err == nil {
		t.Error("a file was written into no folder")
	}
	d.flushed()
	d.text("b")
	if f := d.flowOf("novel"); len(f.Members) != 2 {
		t.Errorf("the flow is %+v", f)
	}
	d.must(d.addNode("novel", "c"))
	d.flushed()
}
