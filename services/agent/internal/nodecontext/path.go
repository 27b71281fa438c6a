package nodecontext

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"
)

// path gives the nodes of the conversation, in the order of history: the latest that are no parents, and the parents. Where one
// flow was asked for and no parent, the flow must be there.
func (s *Service) path(ctx context.Context, ns string, r Request) (lines, parents []Node, err error) {
	steps := s.steps(ctx, ns, r)
	if len(r.Parents) == 0 {
		_, err := s.flows.Before(ctx, ns, r.Flow)
		return nil, nil, err
	}
	most := defaultAncestors
	if r.Ancestors != nil {
		most = *r.Ancestors
	}
	most += max(0, r.Last-len(r.Parents))
	var tail []Step // of those that are no parents
	for step, err := range steps {
		switch {
		case err != nil:
			return nil, nil, err
		case slices.Contains(r.Parents, step.Node.ID):
			if err := step.readable(); err != nil {
				return nil, nil, err
			}
			parents = append(parents, step.Node)
		default:
			tail = append(tail, step)
			tail = tail[max(0, len(tail)-most):]
		}
	}
	for _, step := range tail {
		if err := step.readable(); err != nil {
			return nil, nil, err
		}
		lines = append(lines, step.Node)
	}
	return lines, parents, nil
}

// apart takes the last nodes of a path out of it, and reads them whole. What is left before them are lines.
func (s *Service) apart(ctx context.Context, ns string, r Request, lines, parents []Node) (before, full, last []Node, err error) {
	if r.Last == 0 {
		return lines, parents, nil, nil
	}
	all := slices.Concat(lines, parents)
	size := 0
	from := max(0, len(all)-r.Last)
	for _, n := range all[from:] {
		whole, err := s.read(ctx, ns, n.ID, Everything)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, t := range whole.Texts {
			size += len(t.Content)
		}
		if size > maxParents {
			return nil, nil, nil, &TooLargeError{Bytes: size, Limit: maxParents}
		}
		last = append(last, whole)
	}
	return all[:from], nil, last, nil
}

// steps gives the way to one parent, or the ways to several in one: what stands on any of them, in the order of history.
func (s *Service) steps(ctx context.Context, ns string, r Request) iter.Seq2[Step, error] {
	if len(r.Parents) == 1 {
		return s.flows.Way(ctx, ns, r.Flow, r.Parents[0], "parent")
	}
	return func(yield func(Step, error) bool) {
		on := map[uuid.UUID]bool{}
		for i, parent := range r.Parents {
			field := "parent"
			if i > 0 {
				field = fmt.Sprintf("merge_parents[%d]", i-1)
			}
			for step, err := range s.flows.Way(ctx, ns, r.Flow, parent, field) {
				if err != nil {
					yield(Step{}, err)
					return
				}
				on[step.Node.ID] = true
			}
		}
		for step, err := range s.flows.History(ctx, ns, r.Flow) {
			if (err != nil || on[step.Node.ID]) && (!yield(step, err) || err != nil) {
				return
			}
		}
	}
}

func (s Step) readable() error {
	if s.Problem == "" {
		return nil
	}
	return &UnreadableError{Node: s.Node.ID, Problem: s.Problem, File: s.File}
}

// nearest gives at most n nodes before one, those to which the fewest steps lead first, and of one node's by their numbers.
func nearest(before map[uuid.UUID][]uuid.UUID, of uuid.UUID, n int) (found []uuid.UUID) {
	seen := map[uuid.UUID]bool{of: true}
	for queue := []uuid.UUID{of}; len(queue) > 0 && len(found) < n; queue = queue[1:] {
		for _, id := range before[queue[0]] {
			if !seen[id] {
				seen[id] = true
				queue, found = append(queue, id), append(found, id)
			}
		}
	}
	return found[:min(n, len(found))]
}

// most is how many references there may be.
func most(asked int) int { return cmp.Or(asked, defaultRefs) }
