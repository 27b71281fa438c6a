package command

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// What git merges file by file, without a conflict, may not go together: one side deletes a node, and the other has a flow go
// on from it; one deletes a node under a name that the other gives to a new one.

// settle puts right what two branches together are. Nothing of it is lost.
func (p *plan) settle(ctx context.Context, repo *git.Repo) error {
	p.buryBrought()
	if err := p.settleMembers(); err != nil {
		return err
	}
	if err := p.fetchBack(ctx, repo); err != nil {
		return err
	}
	return p.settleTrash()
}

// settleMembers has what a flow holds in the tree, every version of it, or out of the flow where it was purged.
func (p *plan) settleMembers() error {
	inTree, dropped := map[[32]byte]bool{}, map[uuid.UUID][]string{}
	for name, h := range p.held {
		inTree[h.sum] = inTree[h.sum] || !inTrash(name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		if h := p.held[name]; h.kind == format.Nodes && inTrash(name) && !inTree[h.sum] {
			dropped[h.id] = append(dropped[h.id], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		if inTrash(name) {
			continue
		}
		for _, m := range p.held[name].members {
			for _, file := range dropped[m.Node] {
				if err := p.bringBack(file, name); err != nil {
					return err
				}
			}
			delete(dropped, m.Node)
		}
		if err := p.takeOut(name, wasPurged, p.nodePurged); err != nil {
			return err
		}
	}
	return nil
}

// bringBack takes a node out of the trash that a flow holds.
func (p *plan) bringBack(file, holder string) error {
	h := p.held[file]
	data, err := p.content(file)
	if err != nil {
		return err
	}
	to, ok := p.stand(treePath(file), data, h)
	if !ok {
		p.leaveFull(file)
		return nil
	}
	p.remove(file)
	p.tell(file, "one side deleted %s/%s, and %s holds it; it is %s again", h.kind, h.id, holder, to)
	return nil
}

const wasPurged = "was purged"

func (p *plan) nodePurged(id uuid.UUID) bool { return p.purged[thing{format.Nodes, id}] }

// takeOut takes what is gone out of a flow; what continued it continues what it continued.
func (p *plan) takeOut(name, why string, gone func(uuid.UUID) bool) error {
	if !slices.ContainsFunc(p.held[name].members, func(m flow.Member) bool { return gone(m.Node) }) {
		return nil
	}
	data, err := p.content(name)
	if err != nil {
		return err
	}
	data, err = p.spliced(name, data, why, gone)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	h, err := holding(format.Flows, data)
	if err != nil {
		return err
	}
	p.put(name, data, h)
	return nil
}

// spliced gives the file of a flow without what is gone.
func (p *plan) spliced(name string, data []byte, why string, gone func(uuid.UUID) bool) ([]byte, error) {
	f, err := format.DecodeFlow(data)
	if err != nil {
		return nil, err
	}
	leaving := slices.DeleteFunc(slices.Clone(f.Members), func(m flow.Member) bool { return !gone(m.Node) })
	if len(leaving) == 0 {
		return data, nil
	}
	for _, m := range leaving {
		c, err := f.Removal(m.Index, flow.Splice)
		if err != nil {
			p.tell(name, "holds nodes/%s, which %s, and it cannot be taken out: %s", m.Node, why, err)
			break
		}
		c.At = f.Updated
		f = f.Apply(c)
		p.tell(name, "nodes/%s %s; it is taken out of the flow", m.Node, why)
	}
	data, _ = format.UpdateFlow(data, f)
	return data, nil
}

// settleTrash has nothing in the trash that is in the tree too, and gives what is there under a name of another file one of its own.
func (p *plan) settleTrash() error {
	inTree := map[thing][]heldFile{}
	for name, h := range p.held {
		if !inTrash(name) {
			inTree[h.thing] = append(inTree[h.thing], h)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		h := p.held[name]
		heads := inTree[h.thing]
		switch {
		case !inTrash(name):
		case slices.ContainsFunc(heads, func(head heldFile) bool { return head.sum == h.sum }):
			p.remove(name)
			p.tell(name, "is in the tree as it is here; the copy in the trash is taken away")
		case p.names[treePath(name)] && p.held[treePath(name)].thing != h.thing:
			if err := p.rename(name, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename gives a file of the trash the next free name there, unless an interrupted resolve did.
func (p *plan) rename(name string, h heldFile) error {
	for other, copied := range p.held {
		if other != name && inTrash(other) && copied.sum == h.sum && !p.names[treePath(other)] {
			p.remove(name)
			p.tell(name, "another file has this name in the tree; %s/%s is %s, too", h.kind, h.id, other)
			return nil
		}
	}
	data, err := p.content(name)
	if err != nil {
		return err
	}
	to, ok := p.fresh(h.kind, true, data, h)
	if !ok {
		p.leaveFull(name)
		return nil
	}
	p.remove(name)
	p.tell(name, "another file has this name in the tree; %s/%s is %s now", h.kind, h.id, to)
	return nil
}

// content gives a file as it will be.
func (p *plan) content(name string) ([]byte, error) {
	for _, w := range slices.Backward(p.writes) {
		if w.path == name {
			return w.data, nil
		}
	}
	return p.tree.ReadFile(name, format.MaxFile)
}
