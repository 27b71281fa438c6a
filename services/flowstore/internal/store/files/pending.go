package files

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

// pending is what was acknowledged and is not in the tree yet. Its size is what the Gate bounds.
type pending struct {
	nodes map[uuid.UUID]*pendingNode
	// queue holds the nodes in the order in which they came.
	queue []*pendingNode
	flows map[uuid.UUID]*pendingFlow
	// records is how many records of the log they are, bytes about what they take in memory.
	records int
	bytes   int64
	// since is when the oldest came, or earlier; wrote when the last came, with the number last.
	since, wrote time.Time
	last         int64
	// waiting says that writers wait until half of this is written.
	waiting bool
}

// pendingNode is a new node. Only path changes, when the gate finds the place taken.
type pendingNode struct {
	seq     int64
	id      uuid.UUID
	path    string
	body    []byte
	created time.Time
}

// pendingFlow is a flow whose file is behind.
type pendingFlow struct {
	path string
	flow flow.Flow
	// old is the hash of the file that it was read from, and new that of the file which the gate was about to put in its
	// place: if the tree holds neither, a person was there. Zero for none.
	old, new commitlog.Hash
	// seqs are its records, ascending.
	seqs []int64
	// bytes are counted in pending.bytes.
	bytes int64
}

func newPending() pending {
	return pending{nodes: map[uuid.UUID]*pendingNode{}, flows: map[uuid.UUID]*pendingFlow{}}
}

func (p *pending) empty() bool { return p.records == 0 }

// came notes that n records came, up to the number last.
func (p *pending) came(n int, last int64, now time.Time) {
	if p.empty() {
		p.since = now
	}
	p.wrote, p.last = now, last
	p.records += n
}

func (p *pending) addNode(n *pendingNode) {
	p.nodes[n.id] = n
	p.queue = append(p.queue, n)
	p.bytes += int64(len(n.body))
}

// setFlow puts a flow in, or in place of what it was before.
func (p *pending) setFlow(f *pendingFlow) {
	if before := p.flows[f.flow.ID]; before != nil {
		p.bytes -= before.bytes
	}
	f.bytes = flowBytes(f.flow)
	p.bytes += f.bytes
	p.flows[f.flow.ID] = f
}

// holds says that a file of something is not in the tree yet.
func (p *pending) holds(id uuid.UUID, file string) bool {
	if n := p.nodes[id]; n != nil && n.path == file {
		return true
	}
	f := p.flows[id]
	return f != nil && f.path == file && f.old == commitlog.Hash{}
}

// doneNodes takes away nodes that are in the tree.
func (p *pending) doneNodes(done []*pendingNode) {
	for _, n := range done {
		delete(p.nodes, n.id)
		p.bytes -= int64(len(n.body))
	}
	p.records -= len(done)
	p.queue = slices.DeleteFunc(p.queue, func(n *pendingNode) bool { return p.nodes[n.id] == nil })
}

// doneFlow notes that the file of a flow holds its first n records, and has this hash.
func (p *pending) doneFlow(id uuid.UUID, n int, hash commitlog.Hash) {
	f := p.flows[id]
	p.records -= n
	if n < len(f.seqs) {
		later := *f
		later.seqs, later.old, later.new = f.seqs[n:], hash, hash
		p.flows[id] = &later
		return
	}
	p.bytes -= f.bytes
	delete(p.flows, id)
}

// flowBytes is about what a flow takes in memory.
func flowBytes(f flow.Flow) int64 {
	size := int64(512 + len(f.Name) + len(f.Description) + 24*len(f.Members) + 16*len(f.Edges))
	for _, text := range []*string{f.Story.Title, f.Story.Synopsis, f.Story.Setting, f.Story.Plot, f.Story.Note} {
		if text != nil {
			size += int64(len(*text))
		}
	}
	return size
}
