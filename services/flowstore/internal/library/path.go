package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// PathQuery asks for a page of the way to a node: everything before it, and the node itself.
type PathQuery struct {
	Flow uuid.UUID
	// Node is the last one; zero: the flow's current node.
	Node uuid.UUID
	// After is where the page before ended; zero for the first page.
	After Place
	// MaxNodes and MaxBytes end a page: so many nodes, so many bytes by node.Size and for the names of parents. At least
	// one node is given.
	MaxNodes, MaxBytes int
	// Brief gives the beginnings of the texts, as node.Brief has them.
	Brief bool
	// Totals asks for the sums over the whole path, for which all of it is read.
	Totals bool
	// Drawing asks for the drawing of a history.
	Drawing bool
}

// Place is where a page ended: on the way to which member (0 for a history), behind which one. Both are indexes. The end is kept, so that
// the pages of one way belong together when somebody moves the flow's current node between them.
type Place struct{ End, Last int }

// Page is a part of a path.
type Page struct {
	Nodes []PathNode
	// Next is where it ended; zero on the last page.
	Next Place
	// Totals are those of the whole path, where they were asked for.
	Totals *node.Totals
	// Drawing is flow.Flow.Draw, where it was asked for, at most maxDrawing bytes.
	Drawing string
}

// maxDrawing is how many bytes of a drawing are given.
const maxDrawing = 1 << 20

// PathNode is a node on a path.
type PathNode struct {
	// Brief holds the node; only its id where it cannot be read.
	node.Brief
	// Index is its place in the flow, Parents are the nodes that it continues, by index.
	Index   int
	Parents []uuid.UUID
	// Problem says why the node cannot be read; empty when it can. The rest of the path goes on.
	Problem string
	// File is what it would be read from, seen from the folder of the namespace; empty where there is none, or it can.
	File string
	// Links are those that begin at the node.
	Links []LinkTo
}

// LinkTo is a link to a flow. Problem says why that cannot be read; empty when it can.
type LinkTo struct {
	Flow    uuid.UUID
	Problem string
}

// Path gives a page of a path, roots first, in the order of flow.Path. *NotFoundError, *UnreadableError for the flow,
// *flow.NotMemberError, *flow.NoCurrentError, *PlaceGoneError.
func (l *Library) Path(ctx context.Context, ns string, q PathQuery) (Page, error) {
	f, err := l.Flow(ctx, ns, q.Flow)
	if err != nil {
		return Page{}, together(err, l.missing(ctx, ns, q.Node))
	}
	end, err := l.endOf(ctx, ns, f, q)
	if err != nil {
		return Page{}, err
	}
	steps := f.Path(end)
	page, err := l.page(ctx, ns, f, steps, end, q)
	if err == nil && q.Totals {
		page.Totals, err = l.totals(ctx, ns, steps)
	}
	return page, err
}

// History gives a page of all nodes of a flow, in the order of flow.History; q.Node and q.Totals are not looked at. *NotFoundError,
// *UnreadableError for the flow, *PlaceGoneError.
func (l *Library) History(ctx context.Context, ns string, q PathQuery) (Page, error) {
	f, err := l.Flow(ctx, ns, q.Flow)
	if err != nil {
		return Page{}, err
	}
	page, err := l.page(ctx, ns, f, f.History(), 0, q)
	if err == nil && q.Drawing {
		page.Drawing = drawing(f.Draw())
	}
	return page, err
}

// drawing puts lines together, as many as there is room for, and tells how many more there are.
func drawing(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if b.Len()+len(line)+1 > maxDrawing {
			fmt.Fprintf(&b, "… %d more lines\n", len(lines)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// page reads the steps of one page; end is where they lead.
func (l *Library) page(ctx context.Context, ns string, f flow.Flow, steps []flow.Step, end int, q PathQuery) (Page, error) {
	if q.After != (Place{}) {
		at := slices.IndexFunc(steps, func(s flow.Step) bool { return s.Index == q.After.Last })
		if at < 0 {
			return Page{}, &PlaceGoneError{Flow: q.Flow}
		}
		steps = steps[at+1:]
	}
	nodes, err := l.readSteps(ctx, ns, steps, q)
	if err == nil {
		err = l.addLinks(ctx, ns, f, nodes)
	}
	if err != nil {
		return Page{}, err
	}
	page := Page{Nodes: nodes}
	if n := len(nodes); n < len(steps) {
		page.Next = Place{End: end, Last: steps[n-1].Index}
	}
	return page, nil
}

// addLinks gives nodes of a flow the links that begin there.
func (l *Library) addLinks(ctx context.Context, ns string, f flow.Flow, nodes []PathNode) error {
	look := l.looker(ns)
	at := make(map[int]int, len(nodes))
	for i, n := range nodes {
		at[n.Index] = i
	}
	for _, link := range f.Links {
		i, here := at[link.From]
		if !here {
			continue
		}
		problem, _, err := look(ctx, link.Flow)
		if err != nil {
			return err
		}
		nodes[i].Links = append(nodes[i].Links, LinkTo{Flow: link.Flow, Problem: problem})
	}
	return nil
}

func (l *Library) totals(ctx context.Context, ns string, steps []flow.Step) (*node.Totals, error) {
	var t node.Totals
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := l.store.Node(ctx, ns, step.Node)
		if err == nil {
			t.Add(n)
			continue
		}
		if _, _, known := problemOf(named(store.KindNode, step.Node, err)); !known {
			return nil, err
		}
		t.Unreadable++
	}
	return &t, nil
}

// endOf gives the index of the last node of the path; 0 for an empty flow, whose path is empty.
func (l *Library) endOf(ctx context.Context, ns string, f flow.Flow, q PathQuery) (int, error) {
	switch {
	case q.After.End != 0:
		return q.After.End, nil
	case q.Node == (uuid.UUID{}):
		if _, there := f.NodeAt(f.Current); !there && len(f.Members) > 0 {
			return 0, &flow.NoCurrentError{Flow: f.ID}
		}
		return f.Current, nil
	}
	if index, held := f.IndexOf(q.Node); held {
		return index, nil
	}
	if err := l.missing(ctx, ns, q.Node); err != nil {
		return 0, err
	}
	return 0, &flow.NotMemberError{Flow: f.ID, Nodes: []uuid.UUID{q.Node}}
}

// missing is an error if a node is named that is not there: one that cannot be read is.
func (l *Library) missing(ctx context.Context, ns string, id uuid.UUID) error {
	if id == (uuid.UUID{}) {
		return nil
	}
	_, err := l.Node(ctx, ns, id)
	if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
		return missing
	}
	return nil
}

// nameBytes is what the name of a node takes in a message.
const nameBytes = 48

// readSteps reads nodes until the page is full.
func (l *Library) readSteps(ctx context.Context, ns string, steps []flow.Step, q PathQuery) ([]PathNode, error) {
	var nodes []PathNode
	bytes := 0
	for _, step := range steps {
		if len(nodes) > 0 && len(nodes) >= q.MaxNodes {
			break
		}
		read, err := l.readStep(ctx, ns, step, q.Brief)
		if err != nil {
			return nil, err
		}
		if bytes += read.Size() + nameBytes*len(read.Parents); len(nodes) > 0 && bytes > q.MaxBytes {
			break
		}
		nodes = append(nodes, read)
	}
	return nodes, nil
}

func (l *Library) readStep(ctx context.Context, ns string, step flow.Step, brief bool) (PathNode, error) {
	at := PathNode{Brief: node.Brief{Node: node.Node{ID: step.Node}}, Index: step.Index, Parents: flow.NodesOf(step.Parents)}
	n, err := readListed(ctx, ns, step.Node, l.reader(brief))
	if at.Problem, at.File = n.Problem, n.File; err == nil && n.Problem == "" {
		at.Brief = n.Item
	}
	return at, err
}
