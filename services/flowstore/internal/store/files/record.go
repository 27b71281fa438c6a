package files

import (
	"encoding/json"
	"time"

	"go.uber.org/zap"

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
	case op.Flow != nil:
		return format.EncodeFlow(*op.Flow), nil
	}
	return json.Marshal(op.Change.Change)
}

// changes is the batch as a transaction of local.db.
func (b *batch) changes() commitlog.Changes {
	state := commitlog.State{Last: b.now, NextNode: b.nodes.next, NextFlow: b.flows.next}
	c := commitlog.Changes{Requests: b.writes.Requests(), At: b.now, State: &state}
	for i, op := range b.writes.Ops() {
		r := b.record(op, &state)
		r.Seq = b.seq + 1 + int64(i)
		r.Body = b.bodies[i]
		c.Records = append(c.Records, r)
	}
	return c
}

// record gives the record of one write, without its number and body; a new node or flow takes the next slot.
func (b *batch) record(op overlay.Op, state *commitlog.State) commitlog.Record {
	switch {
	case op.Node != nil:
		state.NextNode++
		return commitlog.Record{Kind: commitlog.NodeMade, ID: op.Node.ID, Path: b.nodes.slotPath(state.NextNode - 1)}
	case op.Flow != nil:
		state.NextFlow++
		return commitlog.Record{Kind: commitlog.FlowMade, ID: op.Flow.ID, Path: b.flows.slotPath(state.NextFlow - 1)}
	}
	r := commitlog.Record{Kind: commitlog.FlowChanged, ID: op.Change.Flow}
	if waiting := b.pending.flows[r.ID]; waiting != nil {
		r.Path, r.Old = waiting.path, waiting.old
	} else if l, ok := b.loaded[r.ID]; ok {
		r.Path, r.Old = l.path, l.hash
	}
	return r
}

// publish makes a durable batch visible.
func (sp *space) publish(b *batch, c commitlog.Changes) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	wasEmpty := sp.pending.empty()
	sp.last, sp.seq = b.now, sp.seq+int64(len(c.Records))
	sp.pending.came(len(c.Records), sp.seq, time.Now())
	for i, op := range b.writes.Ops() {
		if r := c.Records[i]; op.Node != nil {
			sp.nodes.put(r.ID, holdsNode(r.Path, op.Node.Created))
			sp.pending.addNode(&pendingNode{seq: r.Seq, id: r.ID, path: r.Path, body: r.Body, created: op.Node.Created})
		} else {
			sp.publishFlow(b, r)
		}
	}
	if sp.gate.full(&sp.pending) && !sp.pending.waiting {
		sp.pending.waiting = true
		sp.stats.waits.Add(1)
		sp.log.Info("writers wait for files to be written", zap.Int("records", sp.pending.records))
	}
	if wasEmpty || sp.pending.waiting {
		sp.wakeGate()
	}
}

// publishFlow makes the last state of a flow visible, and counts the record to its file.
func (sp *space) publishFlow(b *batch, r commitlog.Record) {
	next := pendingFlow{path: r.Path, old: r.Old}
	if before := sp.pending.flows[r.ID]; before != nil {
		next = *before
	}
	next.flow = b.writes.Flows()[r.ID]
	next.seqs = append(next.seqs, r.Seq)
	sp.pending.setFlow(&next)
	sp.flows.put(r.ID, holdsFlow(next.path, next.flow))
}
