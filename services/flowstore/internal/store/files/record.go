package files

import (
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

// encode gives the bodies of the records of writes.
func encode(ops []overlay.Op) ([][]byte, error) {
	bodies := make([][]byte, 0, len(ops))
	for _, op := range ops {
		body, err := encodeOp(op)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func encodeOp(op overlay.Op) ([]byte, error) {
	switch {
	case op.Node != nil:
		return format.EncodeNode(*op.Node), nil
	case op.Replace != nil:
		return format.EncodeNode(op.Replace.Node), nil
	case op.Flow != nil:
		return format.EncodeFlow(*op.Flow), nil
	case op.Move != nil:
		return nil, nil // The files are known when the batch is whole.
	case op.Purge != nil, op.Erase != nil:
		return nil, nil
	}
	return json.Marshal(op.Change.Change)
}

// changes is the batch as a transaction of local.db.
func (b *batch) changes() commitlog.Changes {
	nodes, flows := b.nodes.names, b.flows.names
	r := recording{batch: b, names: map[format.Kind]*format.Names{format.Nodes: &nodes, format.Flows: &flows}, made: map[store.Thing]string{}}
	edits := b.editedByHands()
	r.changes = commitlog.Changes{
		Requests: b.writes.Requests(), At: b.now,
		Events: append(edits, b.writes.Events(b.lastEvent+int64(len(edits)), b.now)...),
	}
	for i, op := range b.writes.Ops() {
		r.body = b.bodies[i]
		one := r.record(op)
		one.Seq = b.seq + 1 + int64(i)
		one.Body = r.body
		r.changes.Records = append(r.changes.Records, one)
	}
	r.changes.State = &commitlog.State{Last: b.now, NextNode: nodes.Next(), NextFlow: flows.Next()}
	return r.changes
}

// editedByHands tells what a hand changed of things before the batch changed them, so that no scan will see it: who passes over his own
// events learns that somebody else was there.
func (b *batch) editedByHands() (events []store.Event) {
	told := map[store.Thing]bool{}
	for _, op := range b.writes.Ops() {
		var of store.Thing
		var kind store.EventKind
		var file string
		var hash commitlog.Hash
		switch {
		case op.Replace != nil:
			l := b.loadedNodes[op.Replace.Node.ID]
			of, kind, file, hash = store.Thing{Kind: store.KindNode, ID: op.Replace.Node.ID}, store.NodeUpdated, l.path, l.hash
		case op.Change != nil:
			l := b.loaded[op.Change.Flow]
			of, kind, file, hash = store.Thing{Kind: store.KindFlow, ID: op.Change.Flow}, store.FlowUpdated, l.path, l.hash
		default:
			continue
		}
		if before, known := b.seen.get(file); !known || told[of] || before.size == unsettled || before.hash == hash {
			continue
		}
		told[of] = true
		events = append(events, store.Event{Seq: b.lastEvent + int64(len(events)) + 1, At: b.now, Kind: kind, Of: of, Origin: store.External})
	}
	return events
}

// recording turns writes into records.
type recording struct {
	*batch
	// names are those that are free behind the batch.
	names   map[format.Kind]*format.Names
	changes commitlog.Changes
	// made are the files of what the batch makes.
	made map[store.Thing]string
	// body is that of the record at hand.
	body []byte
}

// record gives the record of one write, without its number and body; something new takes the next slot.
func (r *recording) record(op overlay.Op) commitlog.Record {
	switch {
	case op.Node != nil:
		return r.newFile(commitlog.NodeMade, store.Thing{Kind: store.KindNode, ID: op.Node.ID}, r.newName(r.nodes))
	case op.Flow != nil:
		r.changes.Members = append(r.changes.Members, membersOf(op.Flow.ID, op.Flow.Members)...)
		return r.newFile(commitlog.FlowMade, store.Thing{Kind: store.KindFlow, ID: op.Flow.ID}, r.newName(r.flows))
	case op.Replace != nil:
		return r.nodeChanged(*op.Replace)
	case op.Move != nil:
		return r.moved(*op.Move)
	case op.Purge != nil:
		return r.purged(*op.Purge)
	case op.Erase != nil:
		return r.purged(*op.Erase)
	}
	return r.flowChanged(*op.Change)
}

// newName gives the next free name of a kind: for something new there is room (Room); the tombstone of what no file holds has a name that
// no slot has where there is none.
func (r *recording) newName(x *index) string {
	slot, ok := r.names[x.kind].Give()
	if !ok {
		slot = format.Slots
	}
	return x.slotPath(slot)
}

func (r *recording) newFile(kind commitlog.Kind, of store.Thing, file string) commitlog.Record {
	r.made[of] = file
	return commitlog.Record{Kind: kind, ID: of.ID, Path: file}
}

func (r *recording) nodeChanged(op overlay.Replace) commitlog.Record {
	id := op.Node.ID
	r.changes.Revisions = append(r.changes.Revisions, commitlog.Revision{Node: id, At: op.At, Body: format.EncodeNode(op.Before)})
	one := commitlog.Record{Kind: commitlog.NodeChanged, ID: id, Path: r.made[store.Thing{Kind: store.KindNode, ID: id}]}
	if waiting := r.pending.nodes[id]; waiting != nil {
		one.Path, one.Old = waiting.path, waiting.old
	} else if l, ok := r.loadedNodes[id]; ok {
		one.Path, one.Old = l.path, l.hash
	}
	return one
}

func (r *recording) flowChanged(op overlay.Change) commitlog.Record {
	r.changes.Members = append(r.changes.Members, membersOf(op.Flow, slices.Concat(op.Add, op.Restore))...)
	r.step(op, r.body)
	one := commitlog.Record{Kind: commitlog.FlowChanged, ID: op.Flow, Path: r.made[store.Thing{Kind: store.KindFlow, ID: op.Flow}]}
	if waiting := r.pending.flows[op.Flow]; waiting != nil {
		one.Path, one.Old = waiting.path, waiting.old
	} else if l, ok := r.loaded[op.Flow]; ok {
		one.Path, one.Old = l.path, l.hash
	}
	return one
}

// moved lists the files that go to the trash or come from there.
func (r *recording) moved(op overlay.Move) commitlog.Record {
	kind, x := commitlog.FlowDropped, r.flows
	if op.Kind == store.KindNode {
		kind, x = commitlog.NodeDropped, r.nodes
	}
	if !op.Drop {
		kind += commitlog.NodeRestored - commitlog.NodeDropped
	}
	paths := x.places(op.ID)
	if file, ok := r.made[op.Thing]; ok {
		paths = append(paths, file)
	}
	r.body, _ = json.Marshal(paths) // Strings.
	at := op.At
	if !op.Drop {
		at = time.Time{}
	}
	r.changes.Dropped = append(r.changes.Dropped, commitlog.Dropped{Thing: op.Thing, At: at})
	return commitlog.Record{Kind: kind, ID: op.ID}
}

// publish makes a durable batch visible.
func (sp *space) publish(b *batch, c commitlog.Changes) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	wasEmpty := sp.pending.empty()
	sp.last, sp.seq, sp.lastStep = b.now, sp.seq+int64(len(c.Records)), b.writes.LastStep()
	sp.pending.came(len(c.Records), sp.seq, time.Now())
	for i, op := range b.writes.Ops() {
		sp.publishOne(b, op, c.Records[i])
	}
	sp.happen(c.Events)
	if sp.gate.full(&sp.pending) && !sp.pending.waiting {
		sp.pending.waiting = true
		sp.stats.waits.Add(1)
		sp.log.Info("writers wait for files to be written", zap.Int("records", sp.pending.records))
	}
	if wasEmpty || sp.pending.waiting {
		sp.wakeGate()
	}
}

func (sp *space) publishOne(b *batch, op overlay.Op, r commitlog.Record) {
	switch {
	case op.Node != nil:
		sp.nodes.put(r.ID, holdsNode(r.Path, op.Node.Created))
		sp.metadata.know(*op.Node)
		sp.pending.setNode(&pendingNode{id: r.ID, body: r.Body, created: op.Node.Created, target: target{path: r.Path, seqs: []int64{r.Seq}}})
	case op.Replace != nil:
		next := pendingNode{id: r.ID, created: op.Replace.Node.Created, target: target{path: r.Path, old: r.Old}}
		if before := sp.pending.nodes[r.ID]; before != nil {
			next = *before
			if next.old == (commitlog.Hash{}) {
				next.ours = append(slices.Clone(next.ours), commitlog.HashOf(before.body))
			}
		}
		next.body, next.created = r.Body, op.Replace.Node.Created
		next.seqs = slices.Concat(next.seqs, []int64{r.Seq})
		sp.pending.setNode(&next)
		sp.touch(r.ID)
		if h := holdsNode(next.path, next.created); !sp.nodes.heads[r.ID].time.Equal(h.time) {
			sp.nodes.put(r.ID, h) // A hand dated it anew, and nobody had seen that.
		}
		sp.metadata.know(op.Replace.Node)
	case op.Move != nil:
		sp.publishMove(*op.Move, r)
	case op.Purge != nil, op.Erase != nil:
		p, _ := purgeOf(r)
		sp.publishPurge(p)
	default:
		sp.publishFlow(b, r)
	}
}

func (sp *space) publishMove(m overlay.Move, r commitlog.Record) {
	x := sp.indexOf(m.Kind)
	if m.Drop {
		x.drop(m.ID, m.At)
	} else {
		x.restore(m.ID)
	}
	sp.pending.setMove(pendingMove{of: m.Thing, drop: m.Drop, paths: pathsOf(r), seqs: []int64{r.Seq}})
}

// pathsOf are the files that a record moves.
func pathsOf(r commitlog.Record) (paths []string) {
	_ = json.Unmarshal(r.Body, &paths) // We wrote it.
	return paths
}

// indexOf gives the index of a kind of thing.
func (sp *space) indexOf(kind store.Kind) *index { return sp.indexedBy(kindOf(kind)) }

// publishFlow makes the last state of a flow visible, and counts the record to its file.
func (sp *space) publishFlow(b *batch, r commitlog.Record) {
	next := pendingFlow{target: target{path: r.Path, old: r.Old}}
	if before := sp.pending.flows[r.ID]; before != nil {
		next = *before
	}
	next.flow = b.writes.Flows()[r.ID]
	next.seqs = append(next.seqs, r.Seq)
	sp.pending.setFlow(&next)
	sp.flows.put(r.ID, holdsFlow(next.path, next.flow))
}
