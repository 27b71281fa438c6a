package files

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// A chunk is what is written between two looks at whether writers came: at most chunkFiles, or about chunkBytes. It is that many
// files that share what is paid once for all new ones (putTogether).
const (
	chunkFiles = 512
	chunkBytes = 4 << 20
)

// writeChunk writes some of what is pending up to the record last. What comes out of the trash is first, since it may have
// changed, and what goes there last. Nodes come before flows, so that a flow is not ahead of its nodes for long. done says
// that nothing of it is left, and that the indexes are of what stands there. What was purged is not written, and erased behind the rest.
func (sp *space) writeChunk(last int64) (files int, done bool, err error) {
	if err := sp.brokenError(); err != nil {
		return 0, false, err
	}
	if moves := sp.pickMoves(last, false); len(moves) > 0 {
		files, err := sp.moveFiles(moves)
		return files, false, err
	}
	if nodes := sp.pickNodes(last); len(nodes) > 0 {
		files, err := sp.writeNodes(nodes)
		return files, false, err
	}
	if flows := sp.pickFlows(last); len(flows) > 0 {
		files, err := sp.writeFlows(flows)
		return files, false, err
	}
	if moves := sp.pickMoves(last, true); len(moves) > 0 {
		files, err := sp.moveFiles(moves)
		return files, false, err
	}
	if purges := sp.pickPurges(last); len(purges) > 0 {
		files, err := sp.eraseThings(purges)
		return files, false, err
	}
	files, err = sp.writeIndexes()
	return files, err == nil, err
}

// brokenError is why local.db cannot be written any more, nil where it can.
func (sp *space) brokenError() error {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if sp.broken {
		return sp.cause
	}
	return nil
}

// pickNodes gives nodes as they are now; what comes later counts to the next chunk.
func (sp *space) pickNodes(last int64) (picked []*pendingNode) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	size := 0
	for _, id := range sp.pending.queue {
		n := sp.pending.nodes[id]
		if len(picked) == chunkFiles || size > chunkBytes {
			break
		}
		if n.seqs[0] <= last && sp.pending.purges[store.Thing{Kind: store.KindNode, ID: id}] == nil {
			picked = append(picked, n)
			size += len(n.body)
		}
	}
	return picked
}

// pickFlows gives flows as they are now; what comes later counts to the next chunk.
func (sp *space) pickFlows(last int64) []pendingFlow {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	all := slices.SortedFunc(maps.Values(sp.pending.flows), func(a, b *pendingFlow) int {
		return cmp.Compare(a.seqs[0], b.seqs[0])
	})
	var picked []pendingFlow
	var size int64
	for _, f := range all {
		if f.seqs[0] > last || len(picked) == chunkFiles || size > chunkBytes {
			break
		}
		if sp.pending.purges[store.Thing{Kind: store.KindFlow, ID: f.flow.ID}] != nil {
			continue
		}
		picked = append(picked, *f)
		size += f.bytes
	}
	return picked
}

// writeNodes writes nodes. Where a place is taken by a file that is not ours, nothing is written: the node gets another
// place, and comes again with the next chunk.
func (sp *space) writeNodes(nodes []*pendingNode) (int, error) {
	if err := sp.prepare(); err != nil {
		return 0, err
	}
	paths := make([]string, len(nodes))
	for i, n := range nodes {
		paths[i] = n.path
	}
	tree, err := sp.holdFolders(paths)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tree.Close() }()
	var files []outFile
	var taken []foreignFile
	plans := map[store.Thing]commitlog.Plan{}
	for _, n := range nodes {
		there, err := sp.lookFor(tree, store.Thing{Kind: store.KindNode, ID: n.id}, n.target)
		if err != nil {
			return 0, err
		}
		data, why := n.render(sp.reader, there)
		if why != "" {
			there.why = why
			taken = append(taken, there)
			continue
		}
		hash := commitlog.HashOf(data)
		if there.data != nil && there.hash != hash {
			of := store.Thing{Kind: store.KindNode, ID: n.id}
			plans[of] = commitlog.Plan{Of: of, Old: there.hash, New: hash}
		}
		files = append(files, outFile{path: n.path, data: data, hash: hash, id: n.id, time: n.created, created: n.created, isNew: there.hash == commitlog.Hash{}})
	}
	if len(taken) > 0 {
		return 0, sp.moveNodes(nodes, taken)
	}
	if err := sp.plan(plans); err != nil {
		return 0, err
	}
	c, err := sp.writeFiles(tree, format.Nodes, files)
	if errors.Is(err, errTaken) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return len(c.Files), sp.onWriter(func() error { return sp.finishNodes(nodes, files, c) })
}

// render gives the new file of a node, or says why what stands in its place must be kept.
func (n *pendingNode) render(reader format.Reader, there foreignFile) (data []byte, why string) {
	switch hash := there.hash; {
	case hash == commitlog.Hash{}, hash == commitlog.HashOf(n.body), format.Torn(there.data):
		return n.body, ""
	case hash == n.old, hash == n.new, slices.Contains(n.ours, hash):
		now, err := format.DecodeNode(n.body)
		if err != nil {
			return nil, err.Error()
		}
		data, kept := reader.UpdateNode(there.data, now)
		if !kept {
			return nil, "its XML cannot be changed without losing something"
		}
		return data, ""
	}
	return nil, "another file came to stand here"
}

// lookFor reads what stands in the place of something, also where it is in the trash for now.
func (sp *space) lookFor(tree filesys.FS, of store.Thing, t target) (foreignFile, error) {
	there, err := lookIn(tree, t.path)
	if err != nil {
		return there, err
	}
	if there.data != nil && there.hash == t.new && there.hash != t.old {
		// We put it there and were interrupted: a power cut may still bring the old one back, unless we make sure.
		return there, tree.SyncDir(path.Dir(t.path))
	}
	sp.mu.RLock()
	moves := sp.pending.moves[of] != nil
	sp.mu.RUnlock()
	if there.hash == (commitlog.Hash{}) && moves {
		there, err = sp.look(trashPath(t.path))
		there.path = t.path
	}
	return there, err
}

// foreignFile is a file that stands where we are about to write.
type foreignFile struct {
	path string
	data []byte
	// hash is zero where there is no file.
	hash commitlog.Hash
	// why says why it must be kept.
	why string
}

// look reads what stands in a place. Something that cannot be read as a file is not ours, and is not looked at further.
func (sp *space) look(file string) (foreignFile, error) { return lookIn(sp.tree, file) }

func lookIn(tree filesys.FS, file string) (foreignFile, error) {
	data, err := tree.ReadFile(file, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return foreignFile{path: file}, nil
	case errors.Is(err, filesys.ErrTooLarge), errors.Is(err, filesys.ErrIrregular):
		return foreignFile{path: file, hash: commitlog.HashOf(nil)}, nil
	case err != nil:
		return foreignFile{}, err
	}
	return foreignFile{path: file, data: data, hash: commitlog.HashOf(data)}, nil
}

// finishNodes takes what the files of nodes hold out of the log; files are in the same order. On the writer.
func (sp *space) finishNodes(nodes []*pendingNode, files []outFile, c commitlog.Changes) error {
	sp.forget(&c)
	hashes := make([]commitlog.Hash, len(nodes))
	for i, n := range nodes {
		hashes[i] = files[i].hash
		c.Done = append(c.Done, n.seqs...)
		of := store.Thing{Kind: store.KindNode, ID: n.id}
		if now := sp.pending.nodes[n.id]; len(now.seqs) > len(n.seqs) {
			c.Plans = append(c.Plans, commitlog.Plan{Of: of, Old: hashes[i], New: hashes[i]})
		} else if n.new != (commitlog.Hash{}) || now.new != (commitlog.Hash{}) {
			c.Fulfilled = append(c.Fulfilled, of)
		}
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.pending.doneNodes(nodes, hashes)
	for i, n := range nodes {
		if hashes[i] != commitlog.HashOf(n.body) { // a file that a hand made stays more as it was
			sp.touch(n.id)
		}
	}
	sp.goOn()
	return nil
}

// goOn lets writers go on when half of what they waited for is written. The caller holds mu.
func (sp *space) goOn() {
	if sp.gate.halfEmpty(&sp.pending) {
		sp.pending.waiting = false
	}
}

// writeFlows writes flows. A flow whose file a person changed meanwhile gets another file, with the next chunk.
func (sp *space) writeFlows(flows []pendingFlow) (int, error) {
	if err := sp.prepare(); err != nil {
		return 0, err
	}
	paths := make([]string, len(flows))
	for i, f := range flows {
		paths[i] = f.path
	}
	tree, err := sp.holdFolders(paths)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tree.Close() }()
	var files []outFile
	plans := make(map[store.Thing]commitlog.Plan, len(flows))
	for _, f := range flows {
		of := store.Thing{Kind: store.KindFlow, ID: f.flow.ID}
		there, err := sp.lookFor(tree, of, f.target)
		if err != nil {
			return 0, err
		}
		data, why := f.render(sp.reader, there)
		if why != "" {
			return 0, sp.moveFlow(f.flow.ID, there, why)
		}
		hash := commitlog.HashOf(data)
		plans[of] = commitlog.Plan{Of: of, Old: there.hash, New: hash}
		files = append(files, outFile{path: f.path, data: data, hash: hash, id: f.flow.ID, time: f.flow.Updated, created: f.flow.Created})
	}
	if err := sp.plan(plans); err != nil {
		return 0, err
	}
	c, err := sp.writeFiles(tree, format.Flows, files)
	if err != nil {
		return 0, err
	}
	return len(c.Files), sp.onWriter(func() error { return sp.finishFlows(flows, c) })
}

// render gives the new file of a flow, or says why what stands in its place must be kept.
func (f *pendingFlow) render(reader format.Reader, there foreignFile) (data []byte, why string) {
	switch hash := there.hash; {
	case hash == commitlog.Hash{}, format.Torn(there.data):
		return format.EncodeFlow(f.flow), ""
	case hash == f.old, hash == f.new:
		data, kept := reader.UpdateFlow(there.data, f.flow)
		if !kept {
			return nil, "its YAML cannot be changed without losing something"
		}
		return data, ""
	}
	return nil, changedMeanwhile
}

const changedMeanwhile = "it was changed while changes of ours were on their way"

// plan notes which files are about to be replaced by which.
func (sp *space) plan(plans map[store.Thing]commitlog.Plan) error {
	if len(plans) == 0 {
		return nil
	}
	return sp.onWriter(func() error {
		if err := sp.apply(commitlog.Changes{Plans: slices.Collect(maps.Values(plans))}); err != nil {
			return err
		}
		sp.mu.Lock()
		defer sp.mu.Unlock()
		for of, p := range plans {
			if of.Kind == store.KindNode {
				planned := *sp.pending.nodes[of.ID]
				planned.old, planned.new = p.Old, p.New
				sp.pending.nodes[of.ID] = &planned
				continue
			}
			planned := *sp.pending.flows[of.ID]
			planned.old, planned.new = p.Old, p.New
			sp.pending.flows[of.ID] = &planned
		}
		return nil
	})
}

// finishFlows takes what the files of flows hold out of the log; c describes these files in the same order. On the writer.
func (sp *space) finishFlows(flows []pendingFlow, c commitlog.Changes) error {
	sp.forget(&c)
	for i, f := range flows {
		c.Done = append(c.Done, f.seqs...)
		c.OldSteps = append(c.OldSteps, f.flow.ID)
		of := store.Thing{Kind: store.KindFlow, ID: f.flow.ID}
		if now := sp.pending.flows[f.flow.ID]; len(now.seqs) > len(f.seqs) {
			c.Plans = append(c.Plans, commitlog.Plan{Of: of, Old: c.Files[i].Hash, New: c.Files[i].Hash})
		} else {
			c.Fulfilled = append(c.Fulfilled, of)
		}
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for i, f := range flows {
		file := c.Files[i]
		sp.pending.doneFlow(f.flow.ID, len(f.seqs), file.Hash)
		sp.cache.put(loadedFlow{flow: f.flow, hash: file.Hash, path: file.Path, size: file.Size, modTime: file.ModTime})
	}
	sp.goOn()
	return nil
}
