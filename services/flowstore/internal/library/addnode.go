package library

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Addition asks to put a node into a flow.
type Addition struct {
	Flow uuid.UUID
	// New is a node that is stored together with its edges; nil: the node with the id Node is stored already.
	New *node.Node
	// Node is the id of the stored node, or the one that the new node shall have; zero: a new one.
	Node uuid.UUID
	// Parents are the nodes of the flow that it continues, Children those that continue it.
	Parents, Children []uuid.UUID
	// SetCurrent moves the reader's place to it.
	SetCurrent bool
	// Request is as for NewNode.
	Request uuid.UUID
}

// Placed is a node and its place in a flow.
type Placed struct {
	Node  node.Node
	Index int
	// Parents are the nodes that it continues, by index.
	Parents []uuid.UUID
}

// AddNode puts a node into a flow, with its edges, in one transaction. If the flow holds the node already, only edges are
// added. *NotFoundError, *UnreadableError, *TakenError, *RequestReusedError, *flow.NotMemberError, *flow.CycleError,
// *flow.FullError.
func (l *Library) AddNode(ctx context.Context, ns string, in Addition) (Placed, error) {
	added, err := l.toAdd(ctx, ns, in)
	if err != nil {
		return Placed{}, err
	}
	var f flow.Flow
	before, err := l.once(ctx, ns, asked{"AddNode", in.Request, in}, added.ID, func(tx store.Tx) error {
		if in.New != nil {
			added.Created = tx.Now()
			if err := tx.CreateNode(added); err != nil {
				return named(KindNode, added.ID, err)
			}
		}
		var err error
		f, err = connect(tx, added.ID, in)
		return err
	})
	if err == nil && before != nil {
		added, f, err = l.addedBefore(ctx, ns, *before, in.Flow)
	}
	if err != nil {
		return Placed{}, err
	}
	return placed(f, added)
}

// toAdd gives the node that is to be added. A stored one is read before anything is written, so that no addition is
// answered with a node that cannot be shown.
func (l *Library) toAdd(ctx context.Context, ns string, in Addition) (node.Node, error) {
	if in.New == nil {
		return l.Node(ctx, ns, in.Node)
	}
	return l.fresh(*in.New, in.Node), nil
}

func (l *Library) addedBefore(ctx context.Context, ns string, nodeID, flowID uuid.UUID) (node.Node, flow.Flow, error) {
	n, err := l.Node(ctx, ns, nodeID)
	if err != nil {
		return n, flow.Flow{}, err
	}
	f, err := l.Flow(ctx, ns, flowID)
	return n, f, err
}

// connect puts a node that is in the store into the flow, if it is not there yet, and adds the edges.
func connect(tx store.Tx, id uuid.UUID, in Addition) (flow.Flow, error) {
	f, err := tx.Flow(in.Flow)
	if err != nil {
		return f, named(KindFlow, in.Flow, err)
	}
	neighbours := slices.Concat(in.Parents, in.Children)
	if slices.Contains(neighbours, id) {
		return f, &flow.CycleError{Flow: f.ID, Path: []uuid.UUID{id}}
	}
	indexes, err := memberIndexes(tx, f, neighbours)
	if err != nil {
		return f, err
	}
	c := flow.Change{At: tx.Now()}
	index, held := f.IndexOf(id)
	if !held {
		index = f.Next
		c.Add = []flow.Member{{Index: index, Node: id}}
	}
	for i, neighbour := range indexes {
		if i < len(in.Parents) {
			c.Connect = append(c.Connect, flow.Edge{From: neighbour, To: index})
		} else {
			c.Connect = append(c.Connect, flow.Edge{From: index, To: neighbour})
		}
	}
	if in.SetCurrent {
		c.Current = &index
	}
	return change(tx, f, c)
}

// placed says where in a flow a node stands.
func placed(f flow.Flow, n node.Node) (Placed, error) {
	index, held := f.IndexOf(n.ID)
	if !held {
		return Placed{}, &flow.NotMemberError{Flow: f.ID, Nodes: []uuid.UUID{n.ID}}
	}
	return Placed{Node: n, Index: index, Parents: nodesOf(f.Parents(index))}, nil
}

func nodesOf(members []flow.Member) []uuid.UUID {
	ids := make([]uuid.UUID, len(members))
	for i, m := range members {
		ids[i] = m.Node
	}
	return ids
}
