package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Splitting asks for the first part of a node beside it.
type Splitting struct {
	Flow, Node uuid.UUID
	// Text is the last text that is kept, from 0, and Characters how many of its code points.
	Text, Characters int
	// ID is the id that the new node shall have; zero: a new one.
	ID uuid.UUID
	// Etag is the version of the node that the caller read: the place is one of its text. Empty: any.
	Etag string
	// SetCurrent moves the reader's place to the new node. Otherwise it stays: no write moves it unasked (field/flowstore.md 2).
	SetCurrent bool
	// Request is as for NewNode.
	Request uuid.UUID
}

// SplitNode makes a node of the first part of another one (node.Node.FirstPart), and puts it beside that: it continues the same nodes
// in the flow; the other one, its edges and their names, and heads stay as they are. *NotFoundError, *UnreadableError, *TakenError,
// *RequestReusedError, *etag.StaleError, *flow.NotMemberError, *flow.FullError, *node.OutsideError, *node.NothingCutError.
func (l *Library) SplitNode(ctx context.Context, ns string, in Splitting) (Placed, error) {
	id := l.orNew(in.ID)
	var made node.Node
	var f flow.Flow
	before, err := l.once(ctx, ns, asked{"SplitNode", in.Request, in}, id, func(tx store.Tx) (err error) {
		made, f, err = split(tx, id, in)
		return err
	})
	if err == nil && before != nil {
		made, f, err = l.addedBefore(ctx, ns, *before, in.Flow)
	}
	if err != nil {
		return Placed{}, err
	}
	return placed(f, made)
}

func split(tx store.Tx, id uuid.UUID, in Splitting) (made node.Node, f flow.Flow, err error) {
	f, err = tx.Flow(in.Flow)
	noFlow := named(store.KindFlow, in.Flow, err)
	whole, err := tx.Node(in.Node)
	refused := named(store.KindNode, in.Node, err)
	var index int
	if refused == nil {
		var at []int
		var stranger, outside error
		if at, stranger = memberIndexes(tx, f, []uuid.UUID{in.Node}, nil); stranger == nil {
			index = at[0]
		}
		made, outside = whole.FirstPart(in.Text, in.Characters)
		refused = together(stranger, outside, etag.Check(node.Name(in.Node), in.Etag, whole.Etag))
	}
	made.ID, made.Created = id, tx.Now()
	taken := named(store.KindNode, id, tx.CreateNode(made))
	if err := together(noFlow, refused, taken); err != nil {
		return made, f, err
	}
	c := flow.Change{At: tx.Now(), Add: []flow.Member{{Index: f.Next, Node: id}}}
	for _, parent := range f.Parents(index) {
		c.Connect = append(c.Connect, flow.Edge{From: parent.Index, To: f.Next})
	}
	if in.SetCurrent {
		c.Current = &c.Add[0].Index
	}
	f, err = change(tx, f, c)
	return made, f, err
}
