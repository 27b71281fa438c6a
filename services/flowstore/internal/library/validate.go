package library

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ValidateFlow gives what is wrong with a flow: in its file, in the order of the file, then with the flows that it links to, then
// with its nodes, by index. All of them are read. At most most problems are given; more says how many there are beside. *NotFoundError, *UnreadableError for
// the flow.
func (l *Library) ValidateFlow(ctx context.Context, ns string, id uuid.UUID, most int) (problems []flow.Problem, more int, err error) {
	f, err := l.Flow(ctx, ns, id)
	if err != nil {
		return nil, 0, err
	}
	dangling, err := l.danglingLinks(ctx, ns, f)
	if err != nil {
		return nil, 0, err
	}
	problems = append(f.Validate(), dangling...)
	for _, m := range f.Members {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		_, err := l.store.Node(ctx, ns, m.Node)
		if err == nil {
			continue
		}
		p, err := memberProblem(m, named(store.KindNode, m.Node, err))
		if err != nil {
			return nil, 0, err
		}
		problems = append(problems, p)
	}
	kept := problems[:min(len(problems), most)]
	return kept, len(problems) - len(kept), nil
}

// memberProblem tells why a member cannot be read; what is wrong with more than it is an error.
func memberProblem(m flow.Member, cause error) (flow.Problem, error) {
	text, file, known := problemOf(cause)
	if !known {
		return flow.Problem{}, cause
	}
	p := flow.Problem{Kind: flow.UnreadableNode, Index: m.Index, Node: m.Node, File: file}
	if missing := (*NotFoundError)(nil); errors.As(cause, &missing) {
		p.Kind = flow.MissingNode
	}
	p.Text = fmt.Sprintf("nodes: index %d, node %s: %s", m.Index, m.Node, text)
	return p, nil
}

// danglingLinks tells which links lead to flows that cannot be read.
func (l *Library) danglingLinks(ctx context.Context, ns string, f flow.Flow) (problems []flow.Problem, err error) {
	look := l.looker(ns)
	for _, link := range f.Links {
		text, file, err := look(ctx, link.Flow)
		if err != nil {
			return nil, err
		}
		if text != "" {
			begin, _ := f.NodeAt(link.From) // Where there is none, the file is told of already.
			text = fmt.Sprintf("links: %d -> %s: %s", link.From, flow.Name(link.Flow), text)
			problems = append(problems, flow.Problem{Kind: flow.DanglingLink, Text: text, Link: link, Node: begin, File: file})
		}
	}
	return problems, nil
}

// looker gives a function that says why a flow cannot be read; it reads each once.
func (l *Library) looker(ns string) func(ctx context.Context, id uuid.UUID) (problem, file string, err error) {
	seen := map[uuid.UUID]Listed[flow.Flow]{}
	return func(ctx context.Context, id uuid.UUID) (string, string, error) {
		item, known := seen[id]
		if !known {
			var err error
			if item, err = readListed(ctx, ns, id, l.Flow); err != nil {
				return "", "", err
			}
			item.Item = flow.Flow{}
			seen[id] = item
		}
		return item.Problem, item.File, ctx.Err()
	}
}
