package library

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// MaxRemoved is how many places of nodes in flows one deletion takes away at most.
const MaxRemoved = 10_000

// Deletion asks for a node to go to the trash.
type Deletion struct {
	Node uuid.UUID
	// Mode says what becomes of the flows that hold it, and of what continues it there: flow.Restrict refuses where any flow does.
	Mode flow.RemoveMode
	// Etag is the version that the caller read, by node.Node.Etag; empty: any.
	Etag string `json:",omitempty"`
	// Request is the id of the request; zero: none. The same one again within 24 hours deletes nothing.
	Request uuid.UUID
}

// Deleted is what a deletion took away; all of it is empty for one that was answered before.
type Deleted struct {
	// Nodes went to the trash: the one that was named, then others in the order in which they were found.
	Nodes []uuid.UUID
	// Flows are those that lost nodes, by id.
	Flows []Loss
}

// Loss is what left a flow, and what the flow is since.
type Loss struct {
	Flow  flow.Flow
	Nodes []uuid.UUID
}

// Delete puts a node into the trash and takes it out of every flow that can be read, as flow.Flow.Removal does for each. With
// flow.Subtree those that leave a flow with it go to the trash as well, where no flow holds them any more. Undoing it in one of
// the flows brings back all that it took from that one. *NotFoundError,
// *UnreadableError, *RequestReusedError, *etag.StaleError, *InUseError, *TooManyError, *flow.FullError and *flow.CycleError as of Remove.
func (l *Library) Delete(ctx context.Context, ns string, in Deletion) (Deleted, error) {
	var deleted Deleted
	_, err := l.once(ctx, ns, asked{"Delete", in.Request, in}, in.Node, func(tx store.Tx) error {
		deleted = Deleted{}
		n, err := tx.Node(in.Node)
		if err != nil {
			return named(store.KindNode, in.Node, err)
		}
		if err := etag.Check(node.Name(n.ID), in.Etag, n.Etag); err != nil {
			return err
		}
		holding, err := tx.FlowsOf(in.Node)
		if err != nil {
			return err
		}
		if in.Mode == flow.Restrict && len(holding) > 0 {
			return &InUseError{Node: in.Node, Flows: holding}
		}
		changes, err := removals(tx, in, holding)
		if err != nil {
			return err
		}
		if deleted.Nodes, err = unheld(tx, in, changes); err != nil {
			return err
		}
		if deleted.Flows, err = lose(tx, changes, deleted.Nodes); err != nil {
			return err
		}
		return drop(tx, deleted.Nodes)
	})
	return deleted, err
}

// leaving is what is to leave a flow.
type leaving struct {
	from   flow.Flow
	change flow.Change
}

// removals gives what is to leave each of the flows.
func removals(tx store.Tx, in Deletion, flows []uuid.UUID) (all []leaving, err error) {
	removed := 0
	for _, id := range flows {
		f, err := tx.Flow(id)
		if err != nil {
			return nil, named(store.KindFlow, id, err)
		}
		index, _ := f.IndexOf(in.Node)
		c, err := f.Removal(index, in.Mode)
		if err != nil {
			return nil, err
		}
		if removed += len(c.Remove); removed > MaxRemoved {
			return nil, &TooManyError{Node: in.Node}
		}
		c.At = tx.Now()
		all = append(all, leaving{f, c})
	}
	return all, nil
}

// unheld gives the node and those that leave flows with it, are stored, and are held by no flow when all has left. Asked before
// anything changes, when the store knows which flows to look at.
func unheld(tx store.Tx, in Deletion, changes []leaving) ([]uuid.UUID, error) {
	leaves := map[uuid.UUID]int{}
	for _, l := range changes {
		for _, m := range l.change.Remove {
			leaves[m.Node]++
		}
	}
	nodes := []uuid.UUID{in.Node}
	for _, l := range changes {
		for _, m := range l.change.Remove {
			flows, seen := leaves[m.Node], leaves[m.Node] == 0
			leaves[m.Node] = 0
			if seen || m.Node == in.Node {
				continue
			}
			there, err := tx.HasNode(m.Node)
			if err != nil {
				return nil, err
			}
			if !there { // It leaves the flow all the same.
				continue
			}
			holding, err := tx.FlowsOf(m.Node)
			if err != nil {
				return nil, err
			}
			if len(holding) == flows {
				nodes = append(nodes, m.Node)
			}
		}
	}
	return nodes, nil
}

// lose changes the flows, each of which remembers what of it goes to the trash.
func lose(tx store.Tx, changes []leaving, trashed []uuid.UUID) (losses []Loss, err error) {
	goes := setOf(trashed)
	for _, l := range changes {
		l.change.Trashed = slices.DeleteFunc(flow.NodesOf(l.change.Remove), func(id uuid.UUID) bool { return !goes[id] })
		f, err := change(tx, l.from, l.change)
		if err != nil {
			return nil, err
		}
		losses = append(losses, Loss{Flow: f, Nodes: flow.NodesOf(l.change.Remove)})
	}
	return losses, nil
}

// drop puts nodes into the trash; those that cannot be read are told, all of them.
func drop(tx store.Tx, nodes []uuid.UUID) error {
	var refused []error
	for _, id := range nodes {
		err := named(store.KindNode, id, tx.Drop(store.Thing{Kind: store.KindNode, ID: id}))
		if _, _, one := problemOf(err); err != nil && !one {
			return err
		}
		refused = append(refused, err)
	}
	return together(refused...)
}
