package files

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// HasNode implements overlay.Reader.
func (sp *space) HasNode(id uuid.UUID) (bool, error) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	_, ok := sp.nodes.path(id)
	return ok, nil
}

// HasFlow implements overlay.Reader.
func (sp *space) HasFlow(id uuid.UUID) (bool, error) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	_, ok := sp.flows.path(id)
	return ok, nil
}

// list gives a page of what an index knows.
func (sp *space) list(x *index, after store.Entry, n int) []store.Entry {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return x.listed.Behind(after, n)
}

// Node gives a node, from memory while its file is not written.
func (sp *space) Node(id uuid.UUID) (node.Node, error) {
	sp.mu.RLock()
	waiting := sp.pending.nodes[id]
	file, ok := sp.nodes.path(id)
	sp.mu.RUnlock()
	if waiting != nil {
		return decodeNode(file, id, waiting.body)
	}
	if !ok {
		return node.Node{}, store.ErrNodeNotFound
	}
	data, err := sp.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return node.Node{}, store.ErrNodeNotFound
	}
	if err != nil {
		return node.Node{}, err
	}
	return decodeNode(file, id, data)
}

// decodeNode reads a file that should hold the node id.
func decodeNode(file string, id uuid.UUID, data []byte) (node.Node, error) {
	n, err := format.DecodeNode(data)
	if err == nil && n.ID != id {
		err = fmt.Errorf("it holds the node %s now, not %s", n.ID, id)
	}
	if err != nil {
		return node.Node{}, &store.UnreadableError{Path: file, Reason: err.Error()}
	}
	return n, nil
}

// Flow gives a flow, from memory while its file is behind.
func (sp *space) Flow(id uuid.UUID) (flow.Flow, error) {
	sp.mu.RLock()
	waiting := sp.pending.flows[id]
	file, ok := sp.flows.path(id)
	sp.mu.RUnlock()
	if waiting != nil {
		return waiting.flow, nil
	}
	if !ok {
		return flow.Flow{}, store.ErrFlowNotFound
	}
	loaded, err := sp.loadFlow(file, id)
	return loaded.flow, err
}

// loadFlow reads the file of a flow, or takes it from the cache where the file is as it was. The file is described before
// it is read: if it changes between the two, it is read once more next time.
func (sp *space) loadFlow(file string, id uuid.UUID) (loadedFlow, error) {
	info, err := sp.tree.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return loadedFlow{}, store.ErrFlowNotFound
	}
	if err != nil {
		return loadedFlow{}, err
	}
	if l, ok := sp.cache.get(id); ok && l.is(file, info) {
		return l, nil
	}
	data, err := sp.readFile(file)
	if err != nil {
		return loadedFlow{}, err
	}
	f, err := decodeFlow(file, id, data)
	if err != nil {
		return loadedFlow{}, err
	}
	l := loadedFlow{flow: f, hash: commitlog.HashOf(data), path: file, size: info.Size, modTime: info.ModTime}
	sp.cache.put(l)
	return l, nil
}

// decodeFlow reads a file that should hold the flow id.
func decodeFlow(file string, id uuid.UUID, data []byte) (flow.Flow, error) {
	f, err := format.DecodeFlow(data)
	if err == nil && f.ID != id {
		err = fmt.Errorf("it holds the flow %s now, not %s", f.ID, id)
	}
	if err != nil {
		return flow.Flow{}, &store.UnreadableError{Path: file, Reason: err.Error()}
	}
	return f, nil
}

// readFile reads a file of the tree. One that is too large to be ours is unreadable.
func (sp *space) readFile(file string) ([]byte, error) {
	data, err := sp.tree.ReadFile(file, format.MaxFile)
	if errors.Is(err, filesys.ErrTooLarge) {
		return nil, &store.UnreadableError{Path: file, Reason: err.Error()}
	}
	return data, err
}
