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
	// Head is the name of a head: the node continues the one where it stands, too, and the head moves to the node. Left out of the
	// digest of a request where it is empty, so that requests from before it was known are still the same.
	Head string `json:",omitempty"`
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
// added. *NotFoundError, *UnreadableError, *TakenError, *RequestReusedError, *flow.NotMemberError, *flow.HeadError,
// *flow.CycleError, *flow.FullError.
func (l *Library) AddNode(ctx context.Context, ns string, in Addition) (Placed, error) {
	added, cannot, err := l.readNamed(ctx, ns, in)
	if err != nil {
		return Placed{}, err
	}
	var f flow.Flow
	before, err := l.once(ctx, ns, asked{"AddNode", in.Request, in}, added.ID, func(tx store.Tx) error {
		refused := cannot[added.ID]
		if in.New != nil {
			added.Created = tx.Now()
			refused = named(store.KindNode, added.ID, tx.CreateNode(added))
		} else if refused == nil {
			refused = allStored(tx, []uuid.UUID{added.ID})
		}
		var err error
		f, err = connect(tx, added.ID, in, refused, cannot)
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

// unusable says why nodes that a request names cannot be used.
type unusable map[uuid.UUID]error

// note keeps what is wrong with a node itself. Any other error is given back.
func (u unusable) note(id uuid.UUID, err error) error {
	if _, _, one := problemOf(err); one {
		u[id] = err
		return nil
	}
	return err
}

// unusable says why nodes cannot be used.
func (l *Library) unusable(ctx context.Context, ns string, ids []uuid.UUID) (unusable, error) {
	cannot := unusable{}
	for _, id := range ids {
		_, err := l.store.Node(ctx, ns, id)
		if err := cannot.note(id, named(store.KindNode, id, err)); err != nil {
			return nil, err
		}
	}
	return cannot, nil
}

// readNamed gives the node that is to be added, and why nodes that the addition names cannot be used. All are read, before
// anything is written: no node is answered that cannot be shown, and nothing continues one that cannot be read.
func (l *Library) readNamed(ctx context.Context, ns string, in Addition) (node.Node, unusable, error) {
	cannot, err := l.unusable(ctx, ns, slices.Concat(in.Parents, in.Children))
	if err != nil {
		return node.Node{}, nil, err
	}
	if in.New != nil {
		return l.fresh(*in.New, in.Node), cannot, nil
	}
	n, err := l.Node(ctx, ns, in.Node)
	n.ID = in.Node
	return n, cannot, cannot.note(in.Node, err)
}

func (l *Library) addedBefore(ctx context.Context, ns string, nodeID, flowID uuid.UUID) (node.Node, flow.Flow, error) {
	n, err := l.Node(ctx, ns, nodeID)
	if err != nil {
		return n, flow.Flow{}, err
	}
	f, err := l.Flow(ctx, ns, flowID)
	return n, f, err
}

// connect puts a node that is in the store into the flow, if it is not there yet, and adds the edges. What was found wrong
// before is refused together with what is wrong here.
func connect(tx store.Tx, id uuid.UUID, in Addition, refused error, cannot unusable) (flow.Flow, error) {
	f, noFlow := tx.Flow(in.Flow)
	if noFlow == nil && in.Head != "" {
		var noHead error
		in.Parents, noHead = underHead(tx, f, in)
		refused = together(refused, noHead)
	}
	neighbours := slices.Concat(in.Parents, in.Children)
	if slices.Contains(neighbours, id) {
		own := &flow.CycleError{Flow: in.Flow, Path: []uuid.UUID{id, id}, Closing: [][2]uuid.UUID{{id, id}}}
		refused = together(refused, own)
		neighbours = slices.DeleteFunc(neighbours, func(n uuid.UUID) bool { return n == id })
	}
	indexes, wrong := memberIndexes(tx, f, neighbours, cannot)
	if err := together(named(store.KindFlow, in.Flow, noFlow), refused, wrong); err != nil {
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
	if in.Head != "" {
		c.Heads = []flow.Head{{Name: in.Head, Index: index}}
	}
	if in.SetCurrent {
		c.Current = &index
	}
	return change(tx, f, c)
}

// underHead gives the parents with the node at which the head stands.
func underHead(tx store.Tx, f flow.Flow, in Addition) (parents []uuid.UUID, err error) {
	at, err := f.Head(in.Head)
	if err != nil || slices.Contains(in.Parents, at.Node) {
		return in.Parents, err
	}
	if _, err := tx.Node(at.Node); err != nil {
		return in.Parents, named(store.KindNode, at.Node, err)
	}
	return append(slices.Clip(in.Parents), at.Node), nil
}

// placed says where in a flow a node stands.
func placed(f flow.Flow, n node.Node) (Placed, error) {
	index, held := f.IndexOf(n.ID)
	if !held {
		return Placed{}, &flow.NotMemberError{Flow: f.ID, Nodes: []uuid.UUID{n.ID}}
	}
	return Placed{Node: n, Index: index, Parents: flow.NodesOf(f.Parents(index))}, nil
}

// setOf answers quickly which ids are among some.
func setOf(ids []uuid.UUID) map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}
