package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Update asks for other words of a flow.
type Update struct {
	Flow uuid.UUID
	// Etag is as in an Operation.
	Etag string
	// Words holds the new ones, Fields names the parts that count, as flow.Editable gives them.
	Words  flow.Flow
	Fields []string
	// Heads and Links are what stands in Words for those, by node: the whole lists.
	Heads []HeadAt
	Links []LinkAt
}

// HeadAt is a head at a node.
type HeadAt struct {
	Name string
	Node uuid.UUID
}

// LinkAt is a link to a flow from a node, or from the flow as a whole where Node is zero.
type LinkAt struct{ Node, Flow uuid.UUID }

// UpdateFlow changes a flow's name, description, story, heads or links. A new link leads to a flow that can be read.
// *NotFoundError, *UnreadableError, *etag.StaleError, *flow.NotMemberError, *flow.FullError.
func (l *Library) UpdateFlow(ctx context.Context, ns string, in Update) (flow.Flow, error) {
	refused, err := l.checkLinks(ctx, ns, in)
	if err != nil {
		return flow.Flow{}, err
	}
	var nodes []uuid.UUID
	for _, h := range in.Heads {
		nodes = append(nodes, h.Node)
	}
	for _, link := range in.Links {
		if link.Node != (uuid.UUID{}) {
			nodes = append(nodes, link.Node)
		}
	}
	op := Operation{Flow: in.Flow, Etag: in.Etag, refused: refused}
	return l.operate(ctx, ns, op, asked{}, nodes, nil, func(f flow.Flow, at []int) (flow.Change, error) {
		return f.Rewriting(f.Edited(in.at(at), in.Fields)), nil
	})
}

// at gives the words with heads and links at the indexes of their nodes.
func (in Update) at(indexes []int) flow.Flow {
	to := in.Words
	for i, h := range in.Heads {
		to.Heads = append(to.Heads, flow.Head{Name: h.Name, Index: indexes[i]})
	}
	indexes = indexes[len(in.Heads):]
	for _, link := range in.Links {
		from := 0
		if link.Node != (uuid.UUID{}) {
			from, indexes = indexes[0], indexes[1:]
		}
		to.Links = append(to.Links, flow.Link{From: from, Flow: link.Flow})
	}
	return to.Sorted()
}

// checkLinks refuses links to flows that cannot be read, but for those that the flow has: it may keep them.
func (l *Library) checkLinks(ctx context.Context, ns string, in Update) (refused, err error) {
	if len(in.Links) == 0 {
		return nil, nil
	}
	f, _ := l.store.Flow(ctx, ns, in.Flow) // that there is none is told by the transaction
	known := map[uuid.UUID]bool{}
	for _, link := range f.Links {
		known[link.Flow] = true
	}
	var all []error
	for _, link := range in.Links {
		if known[link.Flow] {
			continue
		}
		known[link.Flow] = true
		if _, err := l.Flow(ctx, ns, link.Flow); err != nil {
			if _, _, one := problemOf(err); !one {
				return nil, err
			}
			all = append(all, err)
		}
	}
	return together(all...), nil
}
