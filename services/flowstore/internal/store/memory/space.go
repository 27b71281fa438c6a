package memory

import (
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// HasNode implements overlay.Reader. Readers hold the lock of the store or its turn.
func (sp *space) HasNode(id uuid.UUID) (bool, error) {
	_, ok := sp.nodes[id]
	return ok, nil
}

// HasFlow implements overlay.Reader.
func (sp *space) HasFlow(id uuid.UUID) (bool, error) {
	_, ok := sp.flows[id]
	return ok, nil
}

// Node implements overlay.Reader.
func (sp *space) Node(id uuid.UUID) (node.Node, error) {
	n, ok := sp.nodes[id]
	if !ok {
		return node.Node{}, store.ErrNodeNotFound
	}
	return n, nil
}

// Flow implements overlay.Reader.
func (sp *space) Flow(id uuid.UUID) (flow.Flow, error) {
	f, ok := sp.flows[id]
	if !ok {
		return flow.Flow{}, store.ErrFlowNotFound
	}
	return f, nil
}

// Request implements overlay.Reader.
func (sp *space) Request(id uuid.UUID) (store.Request, bool, error) {
	r, ok := sp.requests[id]
	if !ok || sp.now.Sub(r.at) >= store.RequestLifetime {
		return store.Request{}, false, nil
	}
	return r.Request, true, nil
}

// Room implements overlay.Reader: as much as there are slots in a tree of files.
func (sp *space) Room() (nodes, flows int) {
	return store.MaxFiles - len(sp.nodes), store.MaxFiles - len(sp.flows)
}
