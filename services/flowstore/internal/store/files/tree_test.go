package files

import (
	"context"
	"errors"
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
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

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
	n := 10_000
	if testkit.Race { // One goroutine makes and reads them: it takes many times as long.
		n = 500
	}
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
	if !slices.Equal(read, []string{"default/config.yaml"}) {
		t.Errorf("opening %d nodes read %d files: %.200q", n, len(read), read)
	}
	if _, err := s.Node(t.Context(), ns, idOf(time.Duration(n-1).String())); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
