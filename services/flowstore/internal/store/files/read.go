package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

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

// Dropped implements overlay.Reader.
func (sp *space) Dropped(t store.Thing) time.Time {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.indexOf(t.Kind).trash[t.ID].at
}

// dropped gives a page of the trash.
func (sp *space) dropped(kind store.Kind, after store.Entry, n int) []store.Entry {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.indexOf(kind).trashed.Behind(store.NewestFirst, after, n)
}

// revisions lists what a node was, and what else has its id.
func (sp *space) revisions(ctx context.Context, id uuid.UUID) (list []store.Revision, err error) {
	sp.mu.RLock()
	holdings := sp.nodes.holdings(id)
	sp.mu.RUnlock()
	if len(holdings) == 0 {
		return nil, store.ErrNodeNotFound
	}
	for _, h := range holdings[1:] {
		list = append(list, store.Revision{Path: h.path, At: h.time})
	}
	var before []commitlog.Revision
	err = sp.ask(ctx, func() (err error) {
		before, err = sp.local.Revisions(id)
		return err
	})
	for _, r := range before {
		list = append(list, store.Revision{Number: r.Number, At: r.At})
	}
	return list, err
}

// revision reads one of them.
func (sp *space) revision(ctx context.Context, id uuid.UUID, want store.Revision) (node.Node, error) {
	if want.Path != "" {
		sp.mu.RLock()
		listed := slices.ContainsFunc(sp.nodes.holdings(id), func(h holding) bool { return h.path == want.Path })
		sp.mu.RUnlock()
		if !listed {
			return node.Node{}, store.ErrNodeNotFound
		}
		loaded, err := sp.loadNode(want.Path, id)
		return loaded.node, err
	}
	var r commitlog.Revision
	var there bool
	err := sp.ask(ctx, func() (err error) {
		r, there, err = sp.local.Revision(id, want.Number)
		return err
	})
	if err != nil || !there {
		return node.Node{}, cmp.Or(err, store.ErrNodeNotFound)
	}
	return sp.decodeNode("local.db", id, r.Body)
}

// list gives a page of what an index knows.
func (sp *space) list(x *index, order store.Order, after store.Entry, n int) []store.Entry {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return x.listed.Behind(order, after, n)
}

// Node gives a node, from memory while its file is not written.
func (sp *space) Node(id uuid.UUID) (node.Node, error) {
	l, err := sp.current(id)
	return l.node, err
}

// current gives a node with the hash of its file.
func (sp *space) current(id uuid.UUID) (loadedNode, error) {
	sp.mu.RLock()
	waiting := sp.pending.nodes[id]
	file, ok := sp.nodes.path(id)
	t, dropped := sp.nodes.trash[id]
	tomb, purged := sp.nodes.tombs[id]
	sp.mu.RUnlock()
	switch {
	case purged:
		return loadedNode{}, &store.PurgedError{Tombstone: tomb.Tombstone}
	case dropped:
		return loadedNode{}, &store.DroppedError{Thing: store.Thing{Kind: store.KindNode, ID: id}, At: t.at}
	case waiting != nil:
		n, err := sp.decodeNode(file, id, waiting.body)
		return loadedNode{node: n, hash: commitlog.HashOf(waiting.body), path: file}, err
	case !ok:
		return loadedNode{}, store.ErrNodeNotFound
	}
	return sp.loadNode(file, id)
}

// loadedNode is a node as its file has it.
type loadedNode struct {
	node node.Node
	hash commitlog.Hash
	path string
}

// loadNode reads the file of a node.
func (sp *space) loadNode(file string, id uuid.UUID) (loadedNode, error) {
	return find(sp, store.Thing{Kind: store.KindNode, ID: id}, file, func(place string) (loadedNode, error) {
		data, err := sp.readFile(place)
		if err != nil {
			return loadedNode{}, err
		}
		n, err := sp.decodeNode(place, id, data)
		return loadedNode{node: n, hash: commitlog.HashOf(data), path: file}, err
	})
}

// decodeNode reads a file that should hold the node id.
func (sp *space) decodeNode(file string, id uuid.UUID, data []byte) (node.Node, error) {
	n, err := sp.reader.DecodeNode(data)
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
	t, dropped := sp.flows.trash[id]
	tomb, purged := sp.flows.tombs[id]
	sp.mu.RUnlock()
	switch {
	case purged:
		return flow.Flow{}, &store.PurgedError{Tombstone: tomb.Tombstone}
	case dropped:
		return flow.Flow{}, &store.DroppedError{Thing: store.Thing{Kind: store.KindFlow, ID: id}, At: t.at}
	case waiting != nil:
		return waiting.flow, nil
	case !ok:
		return flow.Flow{}, store.ErrFlowNotFound
	}
	loaded, err := sp.loadFlow(file, id)
	return loaded.flow, err
}

// loadFlow reads the file of a flow, or takes it from the cache where the file is as it was. The file is described before
// it is read: if it changes between the two, it is read once more next time.
func (sp *space) loadFlow(file string, id uuid.UUID) (loadedFlow, error) {
	return find(sp, store.Thing{Kind: store.KindFlow, ID: id}, file, func(place string) (loadedFlow, error) {
		info, err := sp.tree.Stat(place)
		if err != nil {
			return loadedFlow{}, err
		}
		if l, ok := sp.cache.get(id); ok && l.is(file, info) {
			return l, nil
		}
		data, err := sp.readFile(place)
		if err != nil {
			return loadedFlow{}, err
		}
		f, err := sp.decodeFlow(place, id, data)
		if err != nil {
			return loadedFlow{}, err
		}
		l := loadedFlow{flow: f, hash: commitlog.HashOf(data), path: file, size: info.Size, modTime: info.ModTime}
		sp.cache.put(l)
		return l, nil
	})
}

// decodeFlow reads a file that should hold the flow id.
func (sp *space) decodeFlow(file string, id uuid.UUID, data []byte) (flow.Flow, error) {
	f, err := sp.reader.DecodeFlow(data)
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

// find reads a thing from its place in the tree, or in the trash while it is there or moves. It looks twice, since it may move
// between two looks. What stands in one of the places while the thing moves and is not the thing may be somebody else's: it counts
// only where the thing is in none.
func find[T any](sp *space, of store.Thing, file string, read func(place string) (T, error)) (none T, err error) {
	err = of.Kind.NotFound()
	for range 2 {
		for _, place := range []string{file, trashPath(file)} {
			found, wrong := read(place)
			switch {
			case wrong == nil:
				return found, nil
			case errors.Is(wrong, fs.ErrNotExist):
			case errors.As(wrong, new(*store.UnreadableError)) && sp.isAway(of):
				err = wrong
			default:
				return none, wrong
			}
		}
	}
	return none, err
}

// isAway says whether a thing is in the trash, or on its way there or back.
func (sp *space) isAway(of store.Thing) bool {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	_, dropped := sp.indexOf(of.Kind).trash[of.ID]
	return dropped || sp.pending.moves[of] != nil
}
