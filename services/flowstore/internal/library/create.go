package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// NewNode asks for a node. Of Node, what its maker says of it counts: its id, time and summary are made here.
type NewNode struct {
	Node node.Node
	// ID is the id that it shall have; zero: a new one.
	ID uuid.UUID
	// Request is the id of the request; zero: none. The same one again within 24 hours changes nothing and is answered
	// with the same node (AIP-155).
	Request uuid.UUID
}

// CreateNode stores a node that no flow holds yet. *TakenError; *RequestReusedError.
func (l *Library) CreateNode(ctx context.Context, ns string, in NewNode) (node.Node, error) {
	made := l.fresh(in.Node, in.ID)
	before, err := l.once(ctx, ns, asked{"CreateNode", in.Request, in}, made.ID, func(tx store.Tx) error {
		made.Created = tx.Now()
		return named(store.KindNode, made.ID, tx.CreateNode(made))
	})
	if err != nil {
		return node.Node{}, err
	}
	if before != nil {
		return l.Node(ctx, ns, *before)
	}
	return made, nil
}

// fresh is a node as its maker describes it, new, with figures as they are kept: it is answered as it will be read.
func (l *Library) fresh(n node.Node, id uuid.UUID) node.Node {
	n = n.Rounded()
	n.ID, n.Summary = l.orNew(id), node.Summary{Stale: true}
	return n
}

func (l *Library) orNew(id uuid.UUID) uuid.UUID {
	if id == (uuid.UUID{}) {
		return l.ids.NewID()
	}
	return id
}

// NewFlow asks for an empty flow. Of Flow, name, description and story count.
type NewFlow struct {
	Flow flow.Flow
	// ID and Request are as for a node.
	ID, Request uuid.UUID
}

// CreateFlow makes an empty flow. *TakenError; *RequestReusedError.
func (l *Library) CreateFlow(ctx context.Context, ns string, in NewFlow) (flow.Flow, error) {
	made := flow.Flow{ID: l.orNew(in.ID), Name: in.Flow.Name, Description: in.Flow.Description, Story: in.Flow.Story, Next: 1}
	before, err := l.once(ctx, ns, asked{"CreateFlow", in.Request, in}, made.ID, func(tx store.Tx) error {
		made.Created, made.Updated = tx.Now(), tx.Now()
		return named(store.KindFlow, made.ID, tx.CreateFlow(made))
	})
	if err != nil {
		return flow.Flow{}, err
	}
	if before != nil {
		return l.Flow(ctx, ns, *before)
	}
	return made, nil
}
