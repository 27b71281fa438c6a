package files

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

// pending is what was acknowledged and is not in the tree yet. Its size is what the Gate bounds.
type pending struct {
	nodes map[uuid.UUID]*pendingNode
	// queue holds the nodes in the order in which they came.
	queue []uuid.UUID
	flows map[uuid.UUID]*pendingFlow
	moves map[store.Thing]*pendingMove
	// purges are things that are to be erased, with what else stands here of them.
	purges map[store.Thing]*pendingPurge
	// records is how many records of the log they are, bytes about what they take in memory.
	records int
	bytes   int64
	// since is when the oldest came, or earlier; wrote when the last came, with the number last.
	since, wrote time.Time
	last         int64
	// waiting says that writers wait until half of this is written.
	waiting bool
}

// A pendingNode, pendingFlow or pendingMove is never changed: what comes later takes its place, so that the gate knows what it
// has written.

// target is the file that is behind.
type target struct {
	path string
	// old is the hash of the file that it was read from, and new that of the file which the gate was about to put in its
	// place: if the tree holds neither, a person was there. Zero for none.
	old, new commitlog.Hash
	// seqs are its records, ascending.
	seqs []int64
}

// pendingNode is a node whose file is behind.
type pendingNode struct {
	target
	id uuid.UUID
	// body is the file in our own form.
	body    []byte
	created time.Time
	// ours are hashes of what body was before there was a file: a new file is written without a plan, and may hold one of these where
	// writing it was interrupted before the log was told.
	ours []commitlog.Hash
}

// pendingFlow is a flow whose file is behind.
type pendingFlow struct {
	target
	flow flow.Flow
	// bytes are counted in pending.bytes.
	bytes int64
}

// pendingMove is a thing whose files belong into the trash (drop), or in the tree, and may not be there yet.
type pendingMove struct {
	of    store.Thing
	drop  bool
	paths []string
	seqs  []int64
}

func newPending() pending {
	return pending{
		nodes: map[uuid.UUID]*pendingNode{}, flows: map[uuid.UUID]*pendingFlow{}, moves: map[store.Thing]*pendingMove{},
		purges: map[store.Thing]*pendingPurge{},
	}
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

// setNode puts a node in, or in place of what it was before.
func (p *pending) setNode(n *pendingNode) {
	if before := p.nodes[n.id]; before != nil {
		p.bytes -= int64(len(before.body))
	} else {
		p.queue = append(p.queue, n.id)
	}
	p.nodes[n.id] = n
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
	if n := p.nodes[id]; n != nil && n.path == file && n.old == (commitlog.Hash{}) {
		return true
	}
	f := p.flows[id]
	return f != nil && f.path == file && f.old == commitlog.Hash{}
}

// waits says that a file of a thing is not in the tree yet as it was acknowledged.
func (p *pending) waits(of store.Thing) bool {
	if of.Kind == store.KindNode {
		return p.nodes[of.ID] != nil
	}
	return p.flows[of.ID] != nil
}

// doneNodes notes that files hold nodes as they were picked, and have these hashes.
func (p *pending) doneNodes(done []*pendingNode, hashes []commitlog.Hash) {
	for i, n := range done {
		now := p.nodes[n.id]
		p.records -= len(n.seqs)
		if len(now.seqs) > len(n.seqs) {
			later := *now
			later.seqs, later.old, later.new = now.seqs[len(n.seqs):], hashes[i], hashes[i]
			later.ours = nil
			p.nodes[n.id] = &later
			continue
		}
		p.bytes -= int64(len(now.body))
		delete(p.nodes, n.id)
	}
	p.queue = slices.DeleteFunc(p.queue, func(id uuid.UUID) bool { return p.nodes[id] == nil })
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

// setMove notes where a thing's files belong now, by one more record.
func (p *pending) setMove(m pendingMove) {
	if before := p.moves[m.of]; before != nil {
		m.seqs = slices.Concat(before.seqs, m.seqs)
		m.paths = union(before.paths, m.paths)
	}
	p.moves[m.of] = &m
}

// placesOf are the places of a thing whose file is behind.
func (p *pending) placesOf(of store.Thing) (files []string) {
	if n := p.nodes[of.ID]; n != nil && of.Kind == store.KindNode {
		files = append(files, n.path)
	}
	if f := p.flows[of.ID]; f != nil && of.Kind == store.KindFlow {
		files = append(files, f.path)
	}
	if m := p.moves[of]; m != nil {
		files = append(files, m.paths...)
	}
	return files
}

// behind are the files for which something is on its way.
func (p *pending) behind() map[string]bool {
	files := map[string]bool{}
	for _, n := range p.nodes {
		files[n.path] = true
	}
	for _, f := range p.flows {
		files[f.path] = true
	}
	for _, purge := range p.purges {
		for _, file := range purge.paths {
			files[file] = true
		}
	}
	for _, m := range p.moves {
		for _, file := range m.paths {
			files[file] = true
		}
	}
	return files
}

// relocate notes that something has another file, should it be about to move.
func (p *pending) relocate(of store.Thing, from, to string) {
	m := p.moves[of]
	if m == nil {
		return
	}
	later := *m
	later.paths = union(slices.DeleteFunc(slices.Clone(m.paths), func(file string) bool { return file == from }), []string{to})
	p.moves[of] = &later
}

// retarget notes that a file stands in another place: it is behind there, or is to be erased there.
func (p *pending) retarget(of store.Thing, from, to string) {
	if n := p.nodes[of.ID]; n != nil && of.Kind == store.KindNode && n.path == from {
		later := *n
		later.path = to
		p.nodes[of.ID] = &later
	}
	if f := p.flows[of.ID]; f != nil && of.Kind == store.KindFlow && f.path == from {
		later := *f
		later.path = to
		p.flows[of.ID] = &later
	}
	if purge := p.purges[of]; purge != nil {
		later := *purge
		later.paths = union(purge.paths, []string{to})
		p.purges[of] = &later
	}
}

// spread notes that what moves may stand in one more place.
func (p *pending) spread(of store.Thing, place string) {
	later := *p.moves[of]
	later.paths = union(later.paths, []string{place})
	p.moves[of] = &later
}

// doneMove notes that files are where the first n records had them.
func (p *pending) doneMove(of store.Thing, n int) {
	m := p.moves[of]
	p.records -= n
	if n < len(m.seqs) {
		later := *m
		later.seqs = m.seqs[n:]
		p.moves[of] = &later
		return
	}
	delete(p.moves, of)
}

// union gives the paths of both, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// flowBytes is about what a flow takes in memory.
func flowBytes(f flow.Flow) int64 {
	size := int64(512 + len(f.Name) + len(f.Description) + 24*len(f.Members) + 32*len(f.Edges) + 32*len(f.Links))
	for _, h := range f.Heads {
		size += int64(32 + len(h.Name))
	}
	for _, text := range []*string{f.Story.Title, f.Story.Synopsis, f.Story.Setting, f.Story.Plot, f.Story.Note} {
		if text != nil {
			size += int64(len(*text))
		}
	}
	return size
}
