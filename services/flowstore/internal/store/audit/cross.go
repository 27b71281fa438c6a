package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// lookForMembers tells which nodes of a flow no file holds.
func (t *tree) lookForMembers(c *collector, f *file) {
	for _, m := range f.missing {
		if t.nodes[m.Node] {
			continue
		}
		out := finding(store.DamageMissingNode, f.path, fmt.Sprintf("nodes: index %d: no file that can be read holds the node %s", m.Index, m.Node))
		at, purged := t.purged[thing{format.Nodes, m.Node}]
		switch {
		case purged:
			out.Reason = fmt.Sprintf("nodes: index %d: the node %s was purged at %s", m.Index, m.Node, at.Format(time.RFC3339))
			out.Fix = "take the entry out of the flow: what was purged does not come back"
		case t.trashed[m.Node]:
			out.Reason = fmt.Sprintf("nodes: index %d: the node %s is in the trash", m.Index, m.Node)
			out.Fix = "take it out of the trash, or out of the flow"
		}
		c.add(out)
	}
}

// lookForLinks tells which flows that a flow links to no file holds.
func (t *tree) lookForLinks(c *collector, f *file) {
	for _, l := range f.links {
		there, trashed := t.flows[l.Flow]
		if there {
			continue
		}
		out := finding(store.DamageLink, f.path, fmt.Sprintf("links: no file that can be read holds the flow %s", l.Flow))
		at, purged := t.purged[thing{format.Flows, l.Flow}]
		switch {
		case purged:
			out.Reason = fmt.Sprintf("links: the flow %s was purged at %s", l.Flow, at.Format(time.RFC3339))
			out.Fix = "take the link out of the flow: what was purged does not come back"
		case trashed:
			out.Reason = fmt.Sprintf("links: the flow %s is in the trash", l.Flow)
			out.Fix = "take the flow out of the trash, or the link out of this one"
		}
		c.add(out)
	}
}

// lookForDuplicates tells which files stand behind another one with the same id (field/flowstore.md row 13): what is in the tree
// is not in the trash.
func (t *tree) lookForDuplicates(c *collector) {
	type key struct {
		place
		id uuid.UUID
	}
	files := t.sorted()
	heads := make(map[key]*file, len(files))
	for _, f := range files {
		k := key{f.place, f.id}
		if head := heads[k]; f.ok && !f.trash && (head == nil || !f.time.Before(head.time)) {
			heads[k] = f // Of the same time the later name counts, and the files come by name.
		}
	}
	for _, f := range files {
		head := heads[key{f.inTree(), f.id}]
		if !f.ok || head == nil || head == f {
			continue
		}
		better := "is newer"
		switch {
		case f.trash:
			better = "is in the tree"
		case head.time.Equal(f.time):
			better = "has the same time, a later name"
		}
		c.add(finding(store.DamageDuplicateID, f.path, fmt.Sprintf("has the id %s, as %s has, which %s and counts", f.id, head.path, better)))
	}
}

// lookForTakenNames tells which files of the trash have the name of another one in the tree, which they could not come back to.
func (t *tree) lookForTakenNames(c *collector) {
	for _, f := range t.sorted() {
		there := t.files[path.Join(f.inTree().folder, f.row())]
		if f.trash && there != nil && (!f.ok || !there.ok || f.id != there.id) {
			c.add(finding(store.DamageTrashName, f.path, fmt.Sprintf("is in the trash, and %s is another file", there.path)))
		}
	}
}

// maxIndex is the largest index.tsv that is read: every slot three times.
const maxIndex = 3 * 82 * format.Slots

// lookAtIndex compares an index.tsv with the files.
func (t *tree) lookAtIndex(c *collector, p place) {
	file := p.index()
	data, err := t.fsys.ReadFile(file, maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if t.holdsAny(p) {
			c.add(finding(store.DamageIndexMissing, file, "is not there, and there are files for it"))
		}
		return
	case err != nil:
		c.add(cannotRead(file, err))
		return
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		c.add(finding(store.DamageLineEnds, file, lineEndsReason))
	}
	rows, sound := p.kind.ReadIndex(data)
	if !sound {
		lookAtLines(c, p.kind, file, data)
	}
	byPath := make(map[string]format.Row, len(rows))
	for _, r := range rows {
		byPath[r.Path] = r
	}
	t.compareRows(c, p, file, rows, byPath)
}

func (t *tree) holdsAny(p place) bool {
	for _, f := range t.files {
		if f.place == p && t.indexed(f) {
			return true
		}
	}
	return false
}

func (t *tree) compareRows(c *collector, p place, index string, rows []format.Row, byPath map[string]format.Row) {
	for _, f := range t.sorted() {
		if f.place != p || !f.ok {
			continue
		}
		switch r, ok := byPath[f.row()]; {
		case !t.indexed(f) && ok:
			c.add(finding(store.DamageIndexWrong, f.path, fmt.Sprintf("holds %s, which was purged, and has a row in %s", f.id, index)))
		case !t.indexed(f):
		case !ok:
			c.add(finding(store.DamageIndexMissing, f.path, "has no row in "+index))
		case r.ID != f.id:
			c.add(finding(store.DamageIndexWrong, f.path, fmt.Sprintf("holds %s, and %s has %s for it", f.id, index, r.ID)))
		case !r.Time.Equal(f.time):
			c.add(finding(store.DamageIndexWrong, f.path, "has another time than its row in "+index))
		}
	}
	told := map[string]bool{}
	for _, r := range rows {
		if t.files[path.Join(p.folder, r.Path)] == nil && !told[r.Path] {
			told[r.Path] = true
			c.add(finding(store.DamageIndexDead, index, fmt.Sprintf("has a row for %s, which is not there", r.Path)))
		}
	}
}

// lookAtLines tells which lines of an index are no rows.
func lookAtLines(c *collector, kind format.Kind, file string, data []byte) {
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		bare := strings.TrimRight(text, "\r\n")
		_, isRow := kind.ReadIndex([]byte(format.IndexHeader + bare + "\n"))
		isHead := line == 1 && strings.HasPrefix(strings.TrimPrefix(bare, "\ufeff"), strings.TrimSuffix(format.IndexHeader, "\n"))
		out := finding(store.DamageIndexLine, file, "is no row of a path, an id and a time")
		out.Line = line
		switch {
		case isMarker(bare):
			out.Reason = "is a line that git leaves where it could not merge"
		case line == 1 && !isHead:
			out.Reason = "is not the head line of an index"
		case !isHead && !isRow:
		case text == bare:
			out.Reason = "has no line end: it was cut while it was written"
		default:
			continue
		}
		c.add(out)
	}
	if line == 0 {
		c.add(finding(store.DamageIndexLine, file, "is empty"))
	}
}
