package audit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestSoundTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if r := w.finds(); !r.Clean() || r.Nodes != 4 || r.Flows != 1 {
		t.Errorf("%d nodes, %d flows", r.Nodes, r.Flows)
	}
}

func TestFlowstore04CheckListsAllThree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "nodes:", "current: 99\nnodes:")
	w.edit("flows/000/000.yaml", "connections:\n", "connections:\n  - from: 2\n    to: 77\n")
	w.remove("nodes/000/001.xml")
	r := w.finds("missing_node flows/000/000.yaml", "dangling_edge flows/000/000.yaml", "bad_current flows/000/000.yaml", "index_dead nodes/index.tsv")
	for i, want := range []string{idOf(1).String(), "2 -> 77", "99"} {
		if !strings.Contains(r.Findings[i].Reason, want) {
			t.Errorf("%q does not name %s", r.Findings[i].Reason, want)
		}
	}
}

func TestFlowstore14ByteOrderMarkAndHalfAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv"} {
		w.put(name, "\ufeff"+w.get(name))
	}
	w.put("nodes/000/001.xml", w.get("nodes/000/001.xml")[:100])
	w.finds("unreadable nodes/000/001.xml", "missing_node flows/000/000.yaml")
}

func TestFlowstore17OneIDInThreeFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node(7, 0, at(0))
	w.node(5, 0, at(30))
	r := w.finds("duplicate_id nodes/000/000.xml", "duplicate_id nodes/000/007.xml", "index_missing nodes/000/005.xml", "index_missing nodes/000/007.xml")
	for _, f := range r.Findings[:2] {
		if !strings.Contains(f.Reason, "nodes/000/005.xml has, which is newer") {
			t.Errorf("%s: %s", f.Path, f.Reason)
		}
	}
}

func TestFlowstore19IndexGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.get("flows/index.tsv")
	w.remove("flows/index.tsv")
	w.mend(w.finds("index_missing flows/index.tsv"))
	if after := w.get("flows/index.tsv"); after != before {
		t.Errorf("it was\n%sand is\n%s", before, after)
	}
}

func TestFlowstore25LineEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.files()
	for _, name := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv"} {
		w.put(name, strings.ReplaceAll(w.get(name), "\n", "\r\n"))
	}
	w.mend(w.finds("line_ends flows/000/000.yaml", "line_ends nodes/000/000.xml", "line_ends nodes/index.tsv"))
	for name, text := range before {
		if got := w.get(name); got != text {
			t.Errorf("%s came back as %q", name, got)
		}
	}
}

func TestFlowstore31TornLinesAndNULs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("nodes/index.tsv", w.get("nodes/index.tsv")+"000/009.xml\t0190")
	w.put("nodes/000/005.xml", strings.Repeat("\x00", 2000))
	r := w.finds("nul_file nodes/000/005.xml", "index_line nodes/index.tsv:6")
	w.mend(r)
	w.finds("nul_file nodes/000/005.xml")
	if got := w.get("nodes/000/005.xml"); got != strings.Repeat("\x00", 2000) {
		t.Error("repair touched a file that needs a person")
	}
}

func TestFlowstore32MarkedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mark := func(text string) string { return "<<<<<<< HEAD\n" + text + "=======\n" + text + ">>>>>>> theirs\n" }
	for _, name := range []string{"nodes/000/001.xml", "flows/000/000.yaml", "config.yaml"} {
		w.put(name, mark(w.get(name)))
	}
	w.put("nodes/index.tsv", format.IndexHeader+mark(strings.TrimPrefix(w.get("nodes/index.tsv"), format.IndexHeader)))
	w.finds("conflict_markers config.yaml", "conflict_markers flows/000/000.yaml", "conflict_markers nodes/000/001.xml",
		"index_line nodes/index.tsv:2", "index_line nodes/index.tsv:7", "index_line nodes/index.tsv:12")
}

// TestBadConfig: nothing of a namespace is read that has one.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("config.yaml", "version: \"1.0\"\nsettings: {max_files_per_folder: many}\n")
	r := w.finds("unreadable config.yaml")
	if fix := r.Findings[0].Fix; !strings.HasSuffix(fix, "until then the namespace is not opened") {
		t.Errorf("to be done: %s", fix)
	}
}

// TestMarkersInAText: a person may write about git.
func TestMarkersInAText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("nodes/000/001.xml", "夜明け前", "\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n")
	w.finds()
}

func TestHandMadeCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "connections:\n", "connections:\n  - from: 4\n    to: 2\n")
	if r := w.finds("cycle flows/000/000.yaml"); !strings.Contains(r.Findings[0].Reason, "closes a cycle") {
		t.Error(r.Findings[0].Reason)
	}
}

// everyKind is a tree with each kind of finding.
func everyKind(t testing.TB) world {
	t.Helper()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "nodes:\n", "current: 99\nheads:\n  雨: 98\nlinks:\n  - flow: "+idOf(90).String()+"\nnodes:\n  - index: 4\n    id: "+idOf(50).String()+"\n  - index: 8\n    id: "+idOf(60).String()+"\n")
	w.edit("flows/000/000.yaml", "connections:\n", "connections:\n  - from: 2\n    to: 77\n  - from: 4\n    to: 2\n")
	w.edit("flows/000/000.yaml", "index: 4", "index: four")
	w.node(4, 0, at(30))
	w.put("nodes/000/005.xml", strings.Repeat("\x00", 2000))
	w.put("nodes/000/006.xml", "<node>")
	w.put("nodes/000/007.xml", "<<<<<<< HEAD\n<node/>\n=======\n<node/>\n>>>>>>> theirs\n")
	w.put("nodes/000/008.xml", strings.ReplaceAll(w.get("nodes/000/003.xml"), "\n", "\r\n"))
	w.edit("nodes/000/008.xml", idOf(3).String(), idOf(8).String())
	w.put("nodes/000/.009.xml.tmp", "<node")
	w.put("nodes/000/000.xml.bak", "<node/>")
	w.put("nodes/drafts/000.xml", "<node/>")
	w.put("nodes/000/.DS_Store", "\x00")
	w.put("README.md", "my novels")
	if err := os.Symlink("003.xml", filepath.Join(w.dir, "nodes", "000", "010.xml")); err != nil {
		t.Fatal(err)
	}
	w.edit("nodes/index.tsv", "000/001.xml\t"+idOf(1).String(), "000/001.xml\t"+idOf(70).String())
	w.edit("nodes/index.tsv", "000/002.xml", "000/222.xml")
	w.put("nodes/index.tsv", w.get("nodes/index.tsv")+"torn")
	w.put("tombstones.tsv", string(format.AppendTombstone([]byte(format.TombstonesHeader), format.Tombstone{
		ID: idOf(60), Kind: format.Nodes, Path: "000/011.xml", Time: at(40), Reason: "asked for",
	}))+"no row\n")
	w.put("trash/nodes/000/002.xml", strings.ReplaceAll(w.get("nodes/000/003.xml"), idOf(3).String(), idOf(61).String()))
	w.put("trash/nodes/000/011.xml", strings.ReplaceAll(w.get("nodes/000/003.xml"), idOf(3).String(), idOf(60).String()))
	return w
}

func render(r audit.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s line %d by %s\n  %s\n  %s\n", f.Kind, f.Path, f.Line, f.By, f.Reason, f.Fix)
	}
	return b.String()
}

func TestEveryKind(t *testing.T) {
	t.Parallel()
	w := everyKind(t)
	before := w.files()
	r := w.look(audit.Options{})
	testkit.Golden(t, "every-kind.txt", []byte(render(r)))
	told := map[store.Damage]bool{}
	for _, f := range r.Findings {
		told[f.Kind] = true
	}
	for _, kind := range store.Damages {
		if !told[kind] || audit.Title(kind) == "" {
			t.Errorf("the tree has no %s, or it has no title", kind)
		}
	}
	if diff := cmp.Diff(before, w.files()); diff != "" {
		t.Errorf("looking changed the tree: %s", diff)
	}
}

func TestMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 10 {
		w.put(fmt.Sprintf("nodes/000/1%02d.xml", n), "")
	}
	r := w.look(audit.Options{Most: 3})
	if len(r.Findings) != 3 || r.More[store.DamageUnreadable] != 7 {
		t.Errorf("%d findings, %v more", len(r.Findings), r.More)
	}
}

func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything; run the tests as another user")
	}
	w := newWorld(t)
	if err := os.Chmod(filepath.Join(w.dir, "nodes", "000", "000.xml"), 0); err != nil {
		t.Fatal(err)
	}
	if f := w.look(audit.Options{}).Findings[0]; f.Kind != store.DamageUnreadable || !strings.Contains(f.Fix, "right to read") {
		t.Errorf("%+v", f)
	}
}

// TestRunningService: what is only so because files are written one after another is not told.
func TestRunningService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "nodes:\n", "nodes:\n  - index: 5\n    id: "+idOf(4).String()+"\n")
	w.put("nodes/000/.004.xml.tmp", "<node")
	w.put("nodes/000/009.xml", "<node")
	w.put("flows/000/.000.yaml.tmp", "id:")
	pause := func(context.Context) error {
		w.node(4, 4, at(4))
		if err := os.Chtimes(filepath.Join(w.dir, "flows", "000", ".000.yaml.tmp"), at(5), at(5)); err != nil {
			return err
		}
		w.remove("nodes/000/.004.xml.tmp")
		w.put("nodes/index.tsv", w.get("nodes/index.tsv")+string(format.AppendRow(nil, format.Row{Path: "000/004.xml", ID: idOf(4), Time: at(4)})))
		return nil
	}
	w.remove("nodes/000/000.xml")
	got := short(w.look(audit.Options{Pause: pause}))
	if want := []string{"unreadable nodes/000/009.xml", "missing_node flows/000/000.yaml", "index_dead nodes/index.tsv"}; !slices.Equal(got, want) {
		t.Errorf("it tells %q, want %q", got, want)
	}
}

func TestProgressAndCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var last audit.Progress
	w.look(audit.Options{Progress: func(p audit.Progress) { last = p }})
	if last != (audit.Progress{Read: 5, Files: 5}) {
		t.Errorf("the last progress was %+v", last)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := audit.Look(ctx, w.FS, audit.Options{Progress: func(audit.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled look: %v", err)
	}
}

// FuzzIndex: no index crashes the look, and one that is not right is right when it was mended.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(format.IndexHeader + "000/000.xml\t0190"))
	f.Add([]byte("<<<<<<< HEAD\n\r\n\x00"))
	f.Add([]byte(""))
	sound := newWorld(f).files()
	f.Fuzz(func(t *testing.T, data []byte) {
		disk := powercut.New(nil)
		fill(t, disk, sound)
		if err := filesys.Replace(disk, "nodes/index.tsv", data); err != nil {
			t.Fatal(err)
		}
		w := world{t: t, FS: disk}
		r := w.look(audit.Options{})
		if r.Clean() {
			return
		}
		w.mend(r)
		if got := in(disk, "nodes/index.tsv"); got != sound["nodes/index.tsv"] {
			t.Errorf("mended to %q", got)
		}
		if left := short(w.look(audit.Options{})); left != nil {
			t.Errorf("%q is left", left)
		}
	})
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
