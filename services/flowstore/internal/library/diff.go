package library

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/worddiff"
)

// MaxDiff is how many bytes the texts of two nodes may have together to be told apart: the answer holds them all.
const MaxDiff = 4 << 20

// DiffTooLargeError says that the texts of two nodes are too long to be told apart.
type DiffTooLargeError struct {
	Node, Other uuid.UUID
	Bytes       int
}

func (e *DiffTooLargeError) Error() string {
	return fmt.Sprintf("the texts of %s and %s have %d bytes together; up to %d are told apart", node.Name(e.Node), node.Name(e.Other), e.Bytes, MaxDiff)
}

// TextDiff tells apart the texts of one role that stand in the same place among those of their role.
type TextDiff struct {
	Role string
	// InNode and InOther say which of the nodes has such a text.
	InNode, InOther bool
	Parts           []worddiff.Part
	// Coarse is as in worddiff.Diff.
	Coarse bool
}

// DiffNodes tells the texts of two nodes apart: those of the first in their order, then those that only the other has.
// *NotFoundError, *UnreadableError, *TooLargeError for each; *DiffTooLargeError.
func (l *Library) DiffNodes(ctx context.Context, ns string, id, other uuid.UUID) ([]TextDiff, error) {
	a, errA := l.Node(ctx, ns, id)
	b, errB := l.Node(ctx, ns, other)
	if id == other {
		errB = nil
	}
	if err := together(errA, errB); err != nil {
		return nil, err
	}
	if size := textBytes(a) + textBytes(b); size > MaxDiff {
		return nil, &DiffTooLargeError{Node: id, Other: other, Bytes: size}
	}
	left := slices.Clone(b.Texts)
	var diffs []TextDiff
	for _, t := range a.Texts {
		d := TextDiff{Role: t.Role, InNode: true}
		var there string
		if at := slices.IndexFunc(left, func(o node.Text) bool { return o.Role == t.Role }); at >= 0 {
			d.InOther, there = true, left[at].Content
			left = slices.Delete(left, at, at+1)
		}
		d.Parts, d.Coarse = worddiff.Diff(t.Content, there)
		diffs = append(diffs, d)
	}
	for _, t := range left {
		d := TextDiff{Role: t.Role, InOther: true}
		d.Parts, d.Coarse = worddiff.Diff("", t.Content)
		diffs = append(diffs, d)
	}
	return diffs, nil
}

func textBytes(n node.Node) int {
	size := 0
	for _, t := range n.Texts {
		size += len(t.Content)
	}
	return size
}

// HeadsQuery asks for what two nodes of a flow have behind them.
type HeadsQuery struct{ Flow, Node, Other uuid.UUID }

// DiffHeads tells where the ways to two nodes of a flow part. *NotFoundError, *UnreadableError for the flow,
// *flow.NotMemberError.
func (l *Library) DiffHeads(ctx context.Context, ns string, q HeadsQuery) (flow.HeadsDiff, error) {
	ids := slices.Compact([]uuid.UUID{q.Node, q.Other})
	f, err := l.Flow(ctx, ns, q.Flow)
	if err != nil {
		for _, id := range ids {
			err = together(err, l.missing(ctx, ns, id))
		}
		return flow.HeadsDiff{}, err
	}
	strangers := &flow.NotMemberError{Flow: f.ID}
	var refused []error
	var indexes [2]int
	for i, id := range ids {
		index, held := f.IndexOf(id)
		if indexes[i] = index; held {
			continue
		}
		if missing := l.missing(ctx, ns, id); missing != nil {
			refused = append(refused, missing)
		} else {
			strangers.Nodes = append(strangers.Nodes, id)
		}
	}
	if len(strangers.Nodes) > 0 {
		refused = append(refused, strangers)
	}
	if err := together(refused...); err != nil {
		return flow.HeadsDiff{}, err
	}
	if len(ids) == 1 {
		indexes[1] = indexes[0]
	}
	return f.DiffHeads(indexes[0], indexes[1]), nil
}
