package audit_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// Of two branches, one deleted a node under a name that the other gave to another one: the one in the trash gets a name that
// was never given, and nothing else changes.
func TestTheNameOfATrashedFileIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trashed := strings.ReplaceAll(w.get("nodes/000/003.xml"), idOf(3).String(), idOf(61).String())
	w.put("trash/nodes/000/002.xml", trashed)
	w.put("trash/nodes/000/003.xml", "cut o")
	w.put("trash/nodes/000/007.xml", strings.ReplaceAll(trashed, idOf(61).String(), idOf(62).String()))
	w.put("tombstones.tsv", string(format.AppendTombstone([]byte(format.TombstonesHeader), format.Tombstone{
		ID: idOf(63), Kind: format.Nodes, Path: "000/009.xml", Time: at(40), Reason: "asked for",
	})))
	r := w.finds("unreadable trash/nodes/000/003.xml", "trash_name trash/nodes/000/002.xml", "trash_name trash/nodes/000/003.xml")
	w.mend(r)
	if got := w.get("trash/nodes/000/010.xml"); got != trashed {
		t.Errorf("it moved as %q", got)
	}
	if got := w.get("trash/nodes/000/011.xml"); got != "cut o" {
		t.Errorf("what cannot be read moved as %q", got)
	}
	w.finds("unreadable trash/nodes/000/011.xml")

	// A copy that an interrupted mending made is not made twice.
	w.put("trash/nodes/000/002.xml", trashed)
	r = w.finds("unreadable trash/nodes/000/011.xml", "trash_name trash/nodes/000/002.xml")
	if err := audit.Mend(w.FS, audit.Plan(r, audit.PlanOptions{}), stamp+"1"); err != nil {
		t.Error(err)
	}
	w.finds("unreadable trash/nodes/000/011.xml")
	if _, there := w.files()["trash/nodes/000/012.xml"]; there {
		t.Error("there are two copies")
	}
	// A file that came to stand there meanwhile stays.
	w.put("trash/nodes/000/001.xml", strings.ReplaceAll(trashed, idOf(61).String(), idOf(64).String()))
	r = w.look(audit.Options{})
	w.put("trash/nodes/000/012.xml", "of somebody else")
	if err := audit.Mend(w.FS, audit.Plan(r, audit.PlanOptions{}), stamp+"2"); err == nil || !strings.Contains(err.Error(), "is another file") || w.get("trash/nodes/000/012.xml") != "of somebody else" {
		t.Errorf("%v", err)
	}
}

// An edit keeps a node's time, and may keep its length: the two versions of it are no copies of each other, and both stay.
func TestTwoVersionsOfANodeInTheTrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := strings.ReplaceAll(w.get("nodes/000/003.xml"), idOf(3).String(), idOf(61).String())
	other := strings.Replace(one, "夜明け", "真夜中", 1)
	if other == one || len(other) != len(one) {
		t.Fatal("these are not two versions of one length")
	}
	w.put("trash/nodes/000/002.xml", one)
	w.put("trash/nodes/000/007.xml", other)
	w.mend(w.finds("trash_name trash/nodes/000/002.xml"))
	if w.get("trash/nodes/000/007.xml") != other || w.get("trash/nodes/000/008.xml") != one {
		t.Errorf("%q", w.files())
	}
}

// What is in the tree is not in the trash: a second file there is told.
func TestAnIDInTheTreeAndInTheTrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("trash/nodes/000/002.xml", w.get("nodes/000/002.xml"))
	r := w.finds("duplicate_id trash/nodes/000/002.xml")
	if !strings.Contains(r.Findings[0].Reason, "nodes/000/002.xml has, which is in the tree and counts") {
		t.Error(r.Findings[0].Reason)
	}
}

// What was purged does not come back, and is not said to; what is in the trash does.
func TestLinksAndMembersThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "nodes:\n", "links:\n  - flow: "+idOf(90).String()+"\n  - flow: "+idOf(91).String()+"\n  - flow: "+idOf(92).String()+
		"\nnodes:\n  - index: 8\n    id: "+idOf(93).String()+"\n")
	w.put("trash/flows/000/001.yaml", strings.ReplaceAll(w.get("flows/000/000.yaml"), idOf(100).String(), idOf(91).String()))
	tombs := []byte(format.TombstonesHeader)
	for id, kind := range map[int]format.Kind{90: format.Flows, 93: format.Nodes} {
		tombs = format.AppendTombstone(tombs, format.Tombstone{ID: idOf(id), Kind: kind, Path: kind.SlotPath(20), Time: at(40), Reason: "asked for"})
	}
	w.put("tombstones.tsv", string(tombs))
	r := w.finds("missing_node flows/000/000.yaml", "dangling_link flows/000/000.yaml", "dangling_link flows/000/000.yaml", "dangling_link flows/000/000.yaml")
	for i, want := range []string{
		"was purged at 2026-04-01T09:40:00Z; take the entry out of the flow: what was purged does not come back",
		"was purged at 2026-04-01T09:40:00Z; take the link out of the flow: what was purged does not come back",
		"is in the trash; take the flow out of the trash, or the link out of this one",
		"no file that can be read holds the flow " + idOf(92).String() + "; bring the file of the flow back",
	} {
		found := false
		for _, f := range r.Findings {
			found = found || strings.Contains(f.Reason+"; "+f.Fix, want)
		}
		if !found {
			t.Errorf("%d: %q is not told: %+v", i, want, r.Findings)
		}
	}
}

// What was purged and came back has no row in an index, as the engine writes it: it is not said to lack one, and repair takes away one that
// came along.
func TestWhatWasPurgedAndCameBackHasNoRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.get("nodes/index.tsv")
	w.node(7, 90, at(30))
	w.put("tombstones.tsv", string(format.AppendTombstone([]byte(format.TombstonesHeader),
		format.Tombstone{ID: idOf(90), Kind: format.Nodes, Path: format.Nodes.SlotPath(7), Time: at(40), Reason: "asked for"})))
	w.finds("purged_is_back nodes/000/007.xml")
	w.put("nodes/index.tsv", string(format.AppendRow([]byte(before), format.Row{Path: format.Nodes.SlotPath(7), ID: idOf(90), Time: at(30)})))
	w.mend(w.finds("purged_is_back nodes/000/007.xml", "index_wrong nodes/000/007.xml"))
	if after := w.get("nodes/index.tsv"); after != before {
		t.Errorf("it was\n%sand is\n%s", before, after)
	}
}
