package files

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A file that is not what we left, in a place where we are about to write, was put there by a person or by git. It stays
// as it is. What we have to write goes to the next free slot, under the same UUID: both versions are kept, and
// the newer one counts (field/flowstore.md row 13).

// moveNodes gives nodes whose places are taken new ones. On the gate.
func (sp *space) moveNodes(nodes []*pendingNode, taken []foreignFile) error {
	ids := make(map[string]uuid.UUID, len(nodes))
	for _, n := range nodes {
		ids[n.path] = n.id
	}
	return sp.onWriter(func() error {
		names := sp.nodes.names
		var c commitlog.Changes
		for _, f := range taken {
			n := sp.pending.nodes[ids[f.path]]
			slot, ok := names.Give()
			if !ok {
				return errNoSlot
			}
			c.Done = append(c.Done, n.seqs...)
			c.Records = append(c.Records, commitlog.Record{
				Seq: n.seqs[0], Kind: commitlog.NodeMade, ID: n.id, Path: sp.nodes.slotPath(slot), Body: n.body,
			})
			c.Fulfilled = append(c.Fulfilled, store.Thing{Kind: store.KindNode, ID: n.id})
		}
		c.State = &commitlog.State{Last: sp.last, NextNode: names.Next(), NextFlow: sp.flows.names.Next()}
		if err := sp.apply(c); err != nil {
			return err
		}
		sp.mu.Lock()
		defer sp.mu.Unlock()
		for i, f := range taken {
			sp.movedNode(sp.pending.nodes[ids[f.path]], c.Records[i], f)
		}
		return nil
	})
}

var errNoSlot = fmt.Errorf("a file stands in our place, and all %d slots are taken", format.Slots)

// movedNode notes a node's new place, and what stands in the old one. The caller holds mu.
func (sp *space) movedNode(n *pendingNode, r commitlog.Record, there foreignFile) {
	sp.nodes.replace(n.id, n.path, holdsNode(r.Path, n.created))
	sp.pending.relocate(store.Thing{Kind: store.KindNode, ID: n.id}, n.path, r.Path)
	sp.noteFile(there.path, fmt.Sprintf("%s; the node %s, which belonged here, is in %s", there.why, n.id, r.Path))
	sp.pending.records -= len(n.seqs) - 1
	sp.pending.setNode(&pendingNode{id: n.id, body: n.body, created: n.created, target: target{path: r.Path, seqs: []int64{r.Seq}}})
	other, err := sp.reader.DecodeNode(there.data)
	sp.adopt(sp.nodes, there, other.ID, holdsNode(there.path, other.Created), err)
}

// adopt indexes a file that somebody else put into the tree, or that is to come there. The caller holds mu.
func (sp *space) adopt(x *index, there foreignFile, id uuid.UUID, h holding, err error) {
	x.take(h.path)
	sp.seen.put(there.path, seenFile{size: unsettled, id: id})
	if err != nil {
		x.broken[there.path] = err.Error()
		return
	}
	x.put(id, h)
}

// moveFlow gives a flow another file, since what stands in its place must be kept. On the gate.
func (sp *space) moveFlow(id uuid.UUID, there foreignFile, why string) error {
	return sp.onWriter(func() error { return sp.splitFlow(sp.pending.flows[id], there, why) })
}

// splitFlow writes our version of a flow down as a new file, in place of its records. On the writer.
func (sp *space) splitFlow(ours *pendingFlow, there foreignFile, why string) error {
	names := sp.flows.names
	slot, ok := names.Give()
	if !ok {
		return errNoSlot
	}
	theirs, err := sp.reader.DecodeFlow(there.data)
	f := ours.flow
	if err == nil && theirs.ID == f.ID {
		f.Updated = laterOf(f.Updated, theirs.Updated.Add(time.Microsecond))
	}
	seq, moved := ours.seqs[0], sp.flows.slotPath(slot)
	if err := sp.apply(commitlog.Changes{
		Done:      ours.seqs,
		Records:   []commitlog.Record{{Seq: seq, Kind: commitlog.FlowMade, ID: f.ID, Path: moved, Body: format.EncodeFlow(f)}},
		Fulfilled: []store.Thing{{Kind: store.KindFlow, ID: f.ID}},
		State:     &commitlog.State{Last: sp.last, NextNode: sp.nodes.names.Next(), NextFlow: names.Next()},
	}); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.pending.records -= len(ours.seqs) - 1
	sp.pending.setFlow(&pendingFlow{flow: f, target: target{path: moved, seqs: []int64{seq}}})
	sp.flows.replace(f.ID, ours.path, holdsFlow(moved, f))
	sp.pending.relocate(store.Thing{Kind: store.KindFlow, ID: f.ID}, ours.path, moved)
	sp.adopt(sp.flows, there, theirs.ID, holdsFlow(inTree(there.path), theirs), err)
	sp.noteFile(inTree(there.path), fmt.Sprintf("%s; our version is in %s, which counts", why, moved))
	return nil
}

// laterOf gives the later of two times, so that the version with what we acknowledged is the one that counts.
func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
