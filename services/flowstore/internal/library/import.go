package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

// Importing says how a file is imported.
type Importing struct {
	// Format is who wrote the file; transfer.Any: each conversation shows it.
	Format transfer.Format
	// DryRun finds out what would be done, and does not do it.
	DryRun bool
}

// errDry ends a transaction of a dry run: what it found out is kept, and what it wrote is not.
var errDry = errors.New("a dry run")

// Import reads a file and stores what it holds, each conversation in one transaction. Ids come from those of the file, so
// that what is stored already is left alone, but for texts that changed in the file: they become a new revision of their
// node. What people changed here stays: a text that a node had before does not come back, nor does what was deleted or taken
// out of a flow. What one conversation cannot be is told in the report, and the others are imported.
//
// *transfer.FormatError where nothing was read; an error of r as it is. What was stored before an error stays.
func (l *Library) Import(ctx context.Context, ns string, r io.Reader, in Importing) (transfer.Report, error) {
	imp := &importer{l: l, ns: ns, dry: in.DryRun, made: map[uuid.UUID]bool{}}
	err := transfer.Read(r, in.Format, func(e transfer.Entry) error {
		if e.Ignored {
			imp.report.Ignore(e.File)
			return ctx.Err()
		}
		wrong := e.Err
		if wrong == nil {
			if wrong = imp.take(ctx, *e.Bundle); wrong != nil && !ofOne(wrong) {
				return wrong
			}
		}
		if wrong != nil {
			imp.report.Fail(e, wrong)
		}
		return ctx.Err()
	})
	return imp.report, err
}

// ofOne says that an error is about what one conversation holds, and no reason to end.
func ofOne(err error) bool {
	var taken *TakenError
	var unreadable *UnreadableError
	var changing *nodeChanging
	var full *flow.FullError
	var cycle *flow.CycleError
	var member *flow.MemberError
	return errors.As(err, &taken) || errors.As(err, &unreadable) || errors.As(err, &changing) || errors.Is(err, errWoven) ||
		errors.As(err, &full) || errors.As(err, &cycle) || errors.As(err, &member)
}

// nodeChanging says that somebody else is changing a node again and again.
type nodeChanging struct{ node uuid.UUID }

func (e *nodeChanging) Error() string {
	return fmt.Sprintf("%s is being changed by somebody else; import it again", node.Name(e.node))
}

// importer is one import.
type importer struct {
	l      *Library
	ns     string
	dry    bool
	report transfer.Report
	// made are the nodes that this import made: a flow that is there takes these, and no others, since those were taken out of it.
	made map[uuid.UUID]bool
}

// attempts is how often a conversation is tried whose nodes somebody else changes meanwhile.
const attempts = 3

// take stores a bundle.
func (i *importer) take(ctx context.Context, b transfer.Bundle) error {
	known := versions{}
	for n := 1; ; n++ {
		run := &taking{importer: i, b: b, known: known}
		err := i.l.store.Update(ctx, i.ns, run.write)
		if errors.Is(err, errDry) || err == nil {
			for _, id := range run.fresh {
				i.made[id] = true
			}
			i.report.Add(run.flows, run.nodes, b.Left)
			return nil
		}
		var unknown *nodeChanging
		if !errors.As(err, &unknown) || n == attempts {
			return err
		}
		if err := known.read(ctx, i.l.store, i.ns, b.Nodes); err != nil {
			return err
		}
	}
}

// versions are the texts that nodes have, and had before, by node.
type versions map[uuid.UUID][]node.Node

// read reads the versions of those nodes that have other texts than they have in the file.
func (v versions) read(ctx context.Context, s store.Store, ns string, nodes []node.Node) error {
	for _, n := range nodes {
		now, err := s.Node(ctx, ns, n.ID)
		if err != nil || sameWords(now, n) {
			continue // what is not there is none of them, and what cannot be read is told by the transaction
		}
		v[n.ID] = []node.Node{now}
		revisions, err := s.Revisions(ctx, ns, n.ID)
		if err != nil {
			return named(store.KindNode, n.ID, err)
		}
		for _, r := range revisions {
			if old, err := s.Revision(ctx, ns, n.ID, r); err == nil {
				v[n.ID] = append(v[n.ID], old)
			}
		}
	}
	return nil
}

// taking is a transaction that stores a bundle. The store may run it again: write begins anew.
type taking struct {
	*importer
	b            transfer.Bundle
	known        versions
	flows, nodes transfer.Count
	fresh        []uuid.UUID
	isNew        map[uuid.UUID]bool
}

func (t *taking) write(tx store.Tx) error {
	t.flows, t.nodes, t.fresh, t.isNew = transfer.Count{}, transfer.Count{}, nil, map[uuid.UUID]bool{}
	if f := t.b.Flow; f != nil {
		if _, err := tx.Flow(f.ID); takenAway(err) {
			t.flows.Skipped, t.nodes.Skipped = 1, len(t.b.Nodes)
			return nil
		}
	}
	for _, n := range t.b.Nodes {
		if err := t.writeNode(tx, n); err != nil {
			return named(store.KindNode, n.ID, err)
		}
	}
	if t.b.Flow != nil {
		if err := t.writeFlow(tx, *t.b.Flow); err != nil {
			return named(store.KindFlow, t.b.Flow.ID, err)
		}
	}
	if t.dry {
		return errDry
	}
	return nil
}

func (t *taking) writeNode(tx store.Tx, n node.Node) error {
	stored, err := tx.Node(n.ID)
	switch {
	case takenAway(err):
		t.nodes.Skipped++
		return nil
	case errors.Is(err, store.ErrNodeNotFound):
		if n.Created.IsZero() {
			n.Created = tx.Now()
		}
		t.nodes.Imported++
		t.fresh, t.isNew[n.ID] = append(t.fresh, n.ID), true
		return tx.CreateNode(n)
	case err != nil:
		return err
	case sameWords(stored, n):
		t.nodes.Skipped++
		return nil
	}
	had := t.known[n.ID]
	if len(had) == 0 || !sameWords(had[0], stored) {
		return &nodeChanging{n.ID}
	}
	if slices.ContainsFunc(had, func(old node.Node) bool { return sameWords(old, n) }) {
		t.nodes.Skipped++
		return nil
	}
	t.nodes.Updated++
	stored.Texts, stored.Model, stored.Warnings = n.Texts, n.Model, nil
	stored.Summary.Stale = true
	return tx.ReplaceNode(stored)
}

// takenAway says that somebody deleted a thing, or purged it: it does not come back.
func takenAway(err error) bool {
	var dropped *store.DroppedError
	var purged *store.PurgedError
	return errors.As(err, &dropped) || errors.As(err, &purged)
}

// isAway says that a node, which is not stored, was taken away.
func isAway(tx store.Tx, id uuid.UUID) bool {
	_, err := tx.Node(id)
	return takenAway(err)
}

// sameWords says whether two nodes hold the same words of the same model.
func sameWords(a, b node.Node) bool {
	return a.Model == b.Model && slices.EqualFunc(a.Texts, b.Texts, func(a, b node.Text) bool {
		return a.Role == b.Role && a.Content == b.Content
	})
}

// writeFlow makes the flow, or adds to one that is there what this import made.
func (t *taking) writeFlow(tx store.Tx, f flow.Flow) error {
	stored, err := tx.Flow(f.ID)
	if err == nil {
		return t.extend(tx, stored, f)
	}
	if !errors.Is(err, store.ErrFlowNotFound) {
		return err
	}
	if f, err = spared(tx, f); err != nil {
		return err
	}
	if len(f.Members) == 0 && t.b.Left != nil {
		t.flows.Skipped++ // a conversation without anything to keep
		return nil
	}
	if f.Created.IsZero() {
		f.Created = tx.Now()
	}
	if f.Updated.IsZero() {
		f.Updated = tx.Now()
	}
	t.flows.Imported++
	return tx.CreateFlow(f)
}

// extend adds new nodes of the flow from to the stored one, behind the nearest ones before them that it holds. The reader's place,
// the name and what is there stay as they are.
func (t *taking) extend(tx store.Tx, stored, from flow.Flow) error {
	c, index := flow.Change{At: tx.Now()}, map[int]int{} // by the index in from, the one in stored
	find := stored.Finder(len(from.Members))
	next := stored.Next
	var added []int // their indexes in from
	for _, m := range from.Members {
		at, held := find(m.Node)
		switch {
		case held:
			index[m.Index] = at
		case t.isNew[m.Node] || t.made[m.Node]:
			c.Add = append(c.Add, flow.Member{Index: next, Node: m.Node})
			index[m.Index] = next
			added = append(added, m.Index)
			next++
		}
	}
	above, err := nearest(from, func(at int) (int, bool) { there, ok := index[at]; return there, ok })
	if err != nil {
		return err
	}
	for _, at := range added {
		for _, w := range above[at] {
			c.Connect = append(c.Connect, flow.Edge{From: w.from, To: index[at], Name: w.name})
		}
	}
	if c.Empty() {
		if t.nodes.Updated > 0 {
			t.flows.Updated++
		} else {
			t.flows.Skipped++
		}
		return nil
	}
	t.flows.Updated++
	_, err = change(tx, stored, c)
	return err
}
