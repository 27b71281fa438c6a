package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A hand edits a node that a client has open: whoever writes next sees the edit, before and after the store looked, and it is told
// once (cases/flowstore.md 16).
func TestFlowstore16AHandEditsWhatAClientHasOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	open := d.text("one")
	stale := errors.New("it is not what the client has open")
	write := func() error {
		return d.store.Update(context.Background(), ns, func(tx store.Tx) error {
			n, err := tx.Node(idOf("one"))
			if err == nil && n.Texts[0].Content != open {
				return stale
			}
			return errors.Join(err, tx.ReplaceNode(n))
		})
	}
	told := d.handsDo(func() {
		d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
		if err := write(); !errors.Is(err, stale) {
			t.Errorf("at once: %v", err)
		}
	})
	if err := write(); !errors.Is(err, stale) {
		t.Errorf("later: %v", err)
	}
	if !slices.Equal(told, []string{"node_updated one"}) {
		t.Errorf("told %q", told)
	}
	if d.flushed(); strings.Contains(d.text("one"), "春の夜") || !strings.Contains(d.read("nodes/000/000.xml"), "夏の夜") {
		t.Error("the edit is lost")
	}
}

// A client writes upon an edit that nobody had seen yet: the edit is in it and is told first, as a hand's, and nothing is told twice.
func TestAClientWritesUponAnUnseenEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
	d.flushed()
	told := d.handsDo(func() {
		d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
		d.edit("nodes/000/000.xml", `timestamp="2026`, `timestamp="2027`)
		d.edit("flows/000/000.yaml", "name: \"novel\"", "name: 長編")
		d.must(errors.Join(d.replaceNode("one", "二"), d.addNode("novel", "a"), d.replaceNode("one", "三")))
	})
	want := []string{
		"node_updated one", "ours: node_updated one", "flow_updated novel", "ours: node_created ", "ours: flow_updated novel", "ours: node_updated one",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if again := d.handsDo(d.flushed); len(again) > 0 {
		t.Errorf("our own file was told: %q", again)
	}
	d.soundIndex()
}

// A hand and a client edit the same node or flow: both versions stay, whether the store looks before the file is written or after
// (cases/flowstore.md 16 and 32).
func TestAHandAndAClientEditTheSame(t *testing.T) {
	t.Parallel()
	for _, scans := range []string{"", "before", "after", "before after"} {
		t.Run(scans, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a")))
			d.flushed()
			d.must(errors.Join(d.replaceNode("one", "二"), d.addNode("novel", "b"), d.createNode("two")))
			theirs := d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
			theirFlow := d.edit("flows/000/000.yaml", "name: \"novel\"", "name: 長編")
			stranger := string(format.EncodeNode(nodeOf("theirs", "彼らの文")))
			d.put("nodes/000/003.xml", stranger) // Where two is about to go.
			if strings.Contains(scans, "before") {
				if told := d.handsDo(); len(told) > 0 {
					t.Errorf("told %q of files that are on their way", told)
				}
			}
			d.flushed()
			if strings.Contains(scans, "after") {
				told := d.handsDo()
				want := []string{"external_change nodes/000/000.xml", "external_change flows/000/000.yaml", "node_created theirs"}
				slices.Sort(told)
				if slices.Sort(want); !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
			}
			for range 2 {
				if d.read("nodes/000/000.xml") != theirs || d.read("flows/000/000.yaml") != theirFlow || d.read("nodes/000/003.xml") != stranger {
					t.Error("what the hand wrote is not there any more")
				}
				d.text("two")
				d.text("theirs")
				if n, err := d.store.Node(context.Background(), ns, idOf("one")); err != nil || n.Model != "二" && !strings.Contains(n.Texts[0].Content, "夏の夜") {
					t.Errorf("the node is %+v, %v", n, err)
				}
				if f := d.flowOf("novel"); len(f.Members) != 2 {
					t.Errorf("the flow has %d members", len(f.Members))
				}
				d.restart()
			}
		})
	}
}

// What stands in the place of ours is a problem as long as it stands there: no more when a person took it away, or gave it an id of
// its own.
func TestAPersonDecidesBetweenTwoVersions(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(d *desk){
		"takes theirs away": func(d *desk) { d.remove("nodes/000/000.xml") },
		"makes it another":  func(d *desk) { d.edit("nodes/000/000.xml", idOf("one").String(), idOf("theirs").String()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.createNode("one"))
			d.flushed()
			d.must(d.replaceNode("one", "二"))
			d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
			d.flushed()
			d.handsDo()
			d.wantProblems("nodes/000/000.xml", "nodes/000/000.xml")
			d.handsDo(func() { decide(d) })
			d.wantProblems()
		})
	}
}

// A torn line at the end of an index, also one that appears while the store runs, is gone when the next file is written; a torn
// node stays as it is (cases/flowstore.md 31).
func TestFlowstore31TornWhileTheStoreRuns(t *testing.T) {
	t.Parallel()
	for _, scan := range []bool{false, true} {
		d := newDesk(t)
		d.must(errors.Join(d.createNode("one"), d.createNode("two")))
		d.flushed()
		d.put("nodes/index.tsv", d.read("nodes/index.tsv")+"000/009.xml\t0190")
		zeros := strings.Repeat("\x00", 2000)
		d.put("nodes/000/005.xml", zeros)
		if scan {
			d.handsDo()
		}
		d.must(d.createNode("theirs"))
		d.flushed()
		if strings.Contains(d.read("nodes/index.tsv"), "009") {
			t.Errorf("the index still has a torn row:\n%s", d.read("nodes/index.tsv"))
		}
		d.soundIndex()
		d.crash(func() {})
		d.text("theirs")
		d.wantProblems("nodes/000/005.xml")
		if d.read("nodes/000/005.xml") != zeros {
			t.Error("the torn file was changed")
		}
		d.soundIndex()
	}
}

// A node that a hand takes away is missing on the path and stays in the flow (cases/flowstore.md 4); put back, it is there again.
func TestFlowstore04WhileTheStoreRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a"), d.addNode("novel", "b")))
	d.flushed()
	kept := d.read("nodes/000/000.xml")
	d.handsDo(func() {
		d.remove("nodes/000/000.xml")
		text := d.edit("flows/000/000.yaml", "current: 2", "current: 99")
		d.put("flows/000/000.yaml", strings.Replace(text, "connections:\n", "connections:\n  - from: 2\n    to: 77\n", 1))
	})
	if _, err := d.store.Node(context.Background(), ns, idOf("a")); !errors.Is(err, store.ErrNodeNotFound) {
		t.Errorf("the node that went away: %v", err)
	}
	f := d.flowOf("novel")
	if len(f.Members) != 2 || len(f.Problems) != 2 || f.Current != 2 {
		t.Errorf("the flow is %+v", f)
	}
	if !strings.Contains(d.read("flows/000/000.yaml"), "to: 77") {
		t.Error("the file was changed unasked")
	}
	if told := d.handsDo(func() { d.put("nodes/000/000.xml", kept) }); len(told) != 1 || !strings.HasPrefix(told[0], "node_created") {
		t.Errorf("told %q", told)
	}
	d.text("a")
}

// Whatever hands and clients do in whatever order: a scan knows just what a start with an empty memory finds, and what was
// acknowledged and not edited is there.
func TestAScanKnowsWhatAStartFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := &desk{TB: t, data: tempDir(t), user: newUser(nil)}
		d.open()
		d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel"), d.addNode("novel", "a")))
		d.flushed()
		files := []string{"nodes/000/000.xml", "nodes/000/001.xml", "nodes/000/002.xml", "nodes/005/001.xml", "trash/nodes/000/001.xml", "flows/000/000.yaml", "flows/000/003.yaml"}
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"edit": func(rt *rapid.T) {
				if file := rapid.SampledFrom(files).Draw(rt, "file"); d.exists(file) {
					d.put(file, strings.Replace(d.read(file), "夜", rapid.SampledFrom([]string{"朝", "夜夜"}).Draw(rt, "word"), 1))
				}
			},
			"copy": func(rt *rapid.T) {
				from, to := rapid.SampledFrom(files).Draw(rt, "from"), rapid.SampledFrom(files).Draw(rt, "to")
				if d.exists(from) && from[len(from)-3:] == to[len(to)-3:] {
					d.copy(from, to)
				}
			},
			"remove":  func(rt *rapid.T) { d.remove(rapid.SampledFrom(files).Draw(rt, "file")) },
			"break":   func(rt *rapid.T) { d.put(rapid.SampledFrom(files).Draw(rt, "file"), "<") },
			"replace": func(*rapid.T) { n++; _ = d.replaceNode("one", fmt.Sprint(n)) },
			"drop":    func(*rapid.T) { _ = d.move(thing(store.KindNode, "two"), true) },
			"restore": func(*rapid.T) { _ = d.move(thing(store.KindNode, "two"), false) },
			"flush":   func(*rapid.T) { d.flushed() },
			"scan":    func(*rapid.T) { d.handsDo() },
		})
		d.flushed()
		d.handsDo()
		_ = d.store.Rescan(context.Background(), ns)
		d.flushed()
		_ = d.store.Rescan(context.Background(), ns)
		before := d.known()
		d.must(d.store.Close())
		d.remove(".flowstore")
		d.open()
		if after := d.known(); before != after {
			rt.Fatalf("a scan knows\n%s\na start finds\n%s", before, after)
		}
		d.must(d.store.Close())
	})
}

// known is all that a store says of its nodes.
func (d *desk) known() string {
	d.Helper()
	var b strings.Builder
	for _, name := range []string{"one", "two", "a"} {
		n, err := d.store.Node(context.Background(), ns, idOf(name))
		if err != nil {
			n = node.Node{}
		}
		fmt.Fprintf(&b, "%s: %s %x\n", name, n.Model, commitlog.HashOf(format.EncodeNode(n)))
	}
	f, err := d.store.Flow(context.Background(), ns, idOf("novel"))
	fmt.Fprintf(&b, "novel: %v %v\n", f.Name, err != nil)
	for _, kind := range []store.Kind{store.KindNode, store.KindFlow} {
		x := d.store.spaces[ns].space.indexOf(kind)
		fmt.Fprintf(&b, "%s: %v %v", kind, x.heads, x.others)
		trash := map[uuid.UUID][]holding{} // Printed in the order of ids.
		for id, t := range x.trash {
			trash[id] = t.holdings
		}
		fmt.Fprintf(&b, " trash %v", trash)
		fmt.Fprintf(&b, " %v\n", x.broken)
	}
	return b.String()
}

// What a hand put where a file goes when it is deleted, or where it comes back, stays; the file goes beside it.
func TestAPlaceInTheTrashThatIsTaken(t *testing.T) {
	t.Parallel()
	for _, restore := range []bool{false, true} {
		d := newDesk(t)
		d.must(errors.Join(d.createNode("one"), d.createNode("two")))
		d.flushed()
		taken := "trash/nodes/000/001.xml"
		if restore {
			taken = "nodes/000/001.xml"
			d.must(d.move(thing(store.KindNode, "two"), true))
			d.flushed()
		}
		d.put(taken, "<notes of mine")
		d.must(d.move(thing(store.KindNode, "two"), !restore))
		d.flushed()
		for range 2 {
			if d.read(taken) != "<notes of mine" {
				t.Error("what the hand wrote is gone")
			}
			if !slices.Contains(d.problemPaths(), taken) {
				t.Errorf("problems of %q", d.problemPaths())
			}
			d.must(d.isThere("two", restore))
			d.handsDo()
			d.must(d.isThere("two", restore))
			d.restart()
		}
		d.must(d.move(thing(store.KindNode, "two"), restore))
		d.flushed()
		d.must(d.isThere("two", !restore))
	}
}

// isThere says whether a node is in the tree, or else in the trash.
func (d *desk) isThere(name string, there bool) error {
	_, err := d.store.Node(context.Background(), ns, idOf(name))
	if dropped := (*store.DroppedError)(nil); there != (err == nil) || !there && !errors.As(err, &dropped) {
		return errors.Join(fmt.Errorf("%s is to be there: %v", name, there), err)
	}
	return nil
}

// What was purged and comes back by hand is not served, and told.
func TestWhatWasPurgedComesBackWhileTheStoreRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	kept := d.read("nodes/000/001.xml")
	d.must(d.move(thing(store.KindNode, "two"), true))
	d.must(d.store.Update(context.Background(), ns, func(tx store.Tx) error { return tx.Purge(thing(store.KindNode, "two"), "for a test") }))
	d.flushed()
	if told := d.handsDo(func() { d.put("nodes/000/001.xml", kept) }); !slices.Equal(told, []string{"external_change nodes/000/001.xml"}) {
		t.Errorf("told %q", told)
	}
	for range 2 {
		if _, err := d.store.Node(context.Background(), ns, idOf("two")); !errors.Is(err, store.ErrNodeNotFound) {
			t.Errorf("it is served: %v", err)
		}
		d.wantProblems("nodes/000/001.xml")
		d.restart()
	}
}

// A search finds what a hand wrote and no longer what was there, with the event at the latest (cases/flowstore.md 16).
func TestFlowstore16ASearchFindsTheEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	found := func(text string) int {
		q, err := search.Parse(text)
		d.must(err)
		r, err := d.store.Search(context.Background(), ns, q, search.Page{Size: 10})
		d.must(err)
		return len(r.Hits)
	}
	if n := found("春の夜"); n != 2 {
		t.Fatalf("found %d", n)
	}
	d.handsDo(func() { d.edit("nodes/000/000.xml", "春の夜", "夏の夜") })
	if before, after := found("春の夜"), found("夏の夜"); before != 1 || after != 1 {
		t.Errorf("found %d as it was and %d as it is", before, after)
	}
	d.handsDo(func() { d.remove("nodes/000/000.xml") })
	if n := found("夏の夜"); n != 0 {
		t.Errorf("found %d of what is gone", n)
	}
}
