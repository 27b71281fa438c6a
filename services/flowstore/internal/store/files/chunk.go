package files

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// A chunk is what is written between two looks at whether writers came: at most chunkFiles, or about chunkBytes.
const (
	chunkFiles = 64
	chunkBytes = 4 << 20
)

// writeChunk writes some of what is pending up to the record last, nodes first, so that a flow is not ahead of its nodes
// for long. done says that nothing of it is left.
func (sp *space) writeChunk(last int64) (files int, done bool, err error) {
	if err := sp.brokenError(); err != nil {
		return 0, false, err
	}
	if nodes := sp.pickNodes(last); len(nodes) > 0 {
		files, err := sp.writeNodes(nodes)
		return files, false, err
	}
	if flows := sp.pickFlows(last); len(flows) > 0 {
		files, err := sp.writeFlows(flows)
		return files, false, err
	}
	return 0, true, nil
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

func (sp *space) pickNodes(last int64) []*pendingNode {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	n, size := 0, 0
	for _, waiting := range sp.pending.queue {
		if waiting.seq > last || n == chunkFiles || size > chunkBytes {
			break
		}
		n++
		size += len(waiting.body)
	}
	return slices.Clone(sp.pending.queue[:n])
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
		picked = append(picked, *f)
		size += f.bytes
	}
	return picked
}

// writeNodes writes new nodes. Where a place is taken by a file that is not ours, nothing is written: the node gets
// another place, and comes again with the next chunk.
func (sp *space) writeNodes(nodes []*pendingNode) (int, error) {
	if err := sp.prepare(); err != nil {
		return 0, err
	}
	var files []outFile
	var taken []foreignFile
	for _, n := range nodes {
		f := outFile{path: n.path, data: n.body, hash: commitlog.HashOf(n.body), id: n.id, time: n.created, created: n.created}
		there, err := sp.look(n.path)
		if err != nil {
			return 0, err
		}
		if there.hash != (commitlog.Hash{}) && there.hash != f.hash {
			taken = append(taken, there)
		}
		files = append(files, f)
	}
	if len(taken) > 0 {
		return 0, sp.moveNodes(nodes, taken)
	}
	c, err := sp.writeFiles(format.Nodes, files)
	if err != nil {
		return 0, err
	}
	return len(c.Files), sp.onWriter(func() error { return sp.finishNodes(nodes, c) })
}

// foreignFile is a file that stands where we are about to write.
type foreignFile struct {
	path string
	data []byte
	// hash is zero where there is no file.
	hash commitlog.Hash
}

// look reads what stands in a place. Something that cannot be read as a file is not ours, and is not looked at further.
func (sp *space) look(file string) (foreignFile, error) {
	data, err := sp.tree.ReadFile(file, format.MaxFile)
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

// finishNodes takes nodes that are in the tree out of the log. On the writer.
func (sp *space) finishNodes(nodes []*pendingNode, c commitlog.Changes) error {
	c.Forget = sp.last.Add(-store.RequestLifetime)
	for _, n := range nodes {
		c.Done = append(c.Done, n.seq)
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.pending.doneNodes(nodes)
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
	var files []outFile
	plans := make(map[uuid.UUID]commitlog.Plan, len(flows))
	for _, f := range flows {
		there, err := sp.look(f.path)
		if err != nil {
			return 0, err
		}
		data, why := f.render(there)
		if why != "" {
			return 0, sp.moveFlow(f.flow.ID, there, why)
		}
		if there.hash == f.new && there.hash != f.old && there.data != nil {
			// We put it there and were interrupted: a power cut may still bring the old one back, unless we make sure.
			if err := sp.tree.SyncDir(path.Dir(f.path)); err != nil {
				return 0, err
			}
		}
		hash := commitlog.HashOf(data)
		plans[f.flow.ID] = commitlog.Plan{Flow: f.flow.ID, Old: there.hash, New: hash}
		files = append(files, outFile{path: f.path, data: data, hash: hash, id: f.flow.ID, time: f.flow.Updated, created: f.flow.Created})
	}
	if err := sp.onWriter(func() error { return sp.plan(plans) }); err != nil {
		return 0, err
	}
	c, err := sp.writeFiles(format.Flows, files)
	if err != nil {
		return 0, err
	}
	return len(c.Files), sp.onWriter(func() error { return sp.finishFlows(flows, c) })
}

// render gives the new file of a flow, or says why what stands in its place must be kept.
func (f *pendingFlow) render(there foreignFile) (data []byte, why string) {
	switch there.hash {
	case commitlog.Hash{}:
		return format.EncodeFlow(f.flow), ""
	case f.old, f.new:
		data, kept := format.UpdateFlow(there.data, f.flow)
		if !kept {
			return nil, "its YAML cannot be changed without losing something"
		}
		return data, ""
	}
	return nil, changedMeanwhile
}

const changedMeanwhile = "it was changed while changes of ours were on their way"

// plan notes which files are about to be replaced by which. On the writer.
func (sp *space) plan(plans map[uuid.UUID]commitlog.Plan) error {
	if err := sp.apply(commitlog.Changes{Plans: slices.Collect(maps.Values(plans))}); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for id, p := range plans {
		planned := *sp.pending.flows[id]
		planned.old, planned.new = p.Old, p.New
		sp.pending.flows[id] = &planned
	}
	return nil
}

// finishFlows takes what the files of flows hold out of the log; c describes these files in the same order. On the writer.
func (sp *space) finishFlows(flows []pendingFlow, c commitlog.Changes) error {
	c.Forget = sp.last.Add(-store.RequestLifetime)
	for i, f := range flows {
		c.Done = append(c.Done, f.seqs...)
		if now := sp.pending.flows[f.flow.ID]; len(now.seqs) > len(f.seqs) {
			c.Plans = append(c.Plans, commitlog.Plan{Flow: f.flow.ID, Old: c.Files[i].Hash, New: c.Files[i].Hash})
		} else {
			c.Fulfilled = append(c.Fulfilled, f.flow.ID)
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
