package library

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ListQuery asks for a page of all nodes, or all flows, in the order of store.Store.Nodes.
type ListQuery struct {
	// After is where the page before ended; zero for the first page.
	After store.Entry
	// MaxItems and MaxBytes end a page: so many items, so many bytes by their Size. At least one item is given.
	MaxItems, MaxBytes int
}

// Listed is an item of a list.
type Listed[T any] struct {
	ID uuid.UUID
	// Item is zero where it cannot be read.
	Item T
	// Problem says why it cannot be read; empty when it can. The rest of the list goes on.
	Problem string
	// File is what it would be read from, seen from the folder of the namespace; empty where there is none, or it can.
	File string
}

// ListPage is a part of a list.
type ListPage[T any] struct {
	Items []Listed[T]
	// Next is where it ended; zero on the last page.
	Next store.Entry
}

// Nodes lists the nodes of a namespace; full gives them whole, else Characters is set.
func (l *Library) Nodes(ctx context.Context, ns string, q ListQuery, full bool) (ListPage[node.Brief], error) {
	return list(ctx, ns, q, l.store.Nodes, l.reader(!full), node.Brief.Size)
}

// reader reads nodes, brief or whole.
func (l *Library) reader(brief bool) func(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
	if brief {
		return l.Brief
	}
	return func(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
		n, err := l.Node(ctx, ns, id)
		return node.Brief{Node: n}, err
	}
}

// Brief gives the beginning of a node, also of one that is too large to be sent whole. Errors as of Node.
func (l *Library) Brief(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
	n, err := l.store.Node(ctx, ns, id)
	if err != nil {
		return node.Brief{}, named(KindNode, id, err)
	}
	b := n.Brief()
	if size := b.Size(); size > node.MaxSize {
		return node.Brief{}, &TooLargeError{Node: id, Bytes: size}
	}
	return b, nil
}

// Flows lists the flows of a namespace. Their members and edges do not count to the size of a page.
func (l *Library) Flows(ctx context.Context, ns string, q ListQuery) (ListPage[flow.Flow], error) {
	return list(ctx, ns, q, l.store.Flows, l.Flow, flow.Flow.WordsSize)
}

// list reads what a page of the store's list names, until the page is full.
func list[T any](ctx context.Context, ns string, q ListQuery,
	entries func(context.Context, string, store.Order, store.Entry, int) ([]store.Entry, error),
	read func(context.Context, string, uuid.UUID) (T, error), size func(T) int,
) (ListPage[T], error) {
	wanted := max(q.MaxItems, 1)
	found, err := entries(ctx, ns, store.NewestFirst, q.After, wanted+1)
	if err != nil {
		return ListPage[T]{}, err
	}
	var page ListPage[T]
	bytes := 0
	for i, e := range found {
		if i == wanted {
			page.Next = found[i-1]
			break
		}
		item, err := readListed(ctx, ns, e.ID, read)
		if err != nil {
			return ListPage[T]{}, err
		}
		if bytes += size(item.Item); i > 0 && bytes > q.MaxBytes {
			page.Next = found[i-1]
			break
		}
		page.Items = append(page.Items, item)
	}
	return page, nil
}

func readListed[T any](ctx context.Context, ns string, id uuid.UUID, read func(context.Context, string, uuid.UUID) (T, error)) (Listed[T], error) {
	item, err := read(ctx, ns, id)
	if err == nil {
		return Listed[T]{ID: id, Item: item}, nil
	}
	problem, file, known := problemOf(err)
	if !known {
		return Listed[T]{}, err
	}
	return Listed[T]{ID: id, Problem: problem, File: file}, nil
}

// problemOf tells why one of many cannot be read, and from which file; known is false for what is wrong with all of them.
func problemOf(err error) (problem, file string, known bool) {
	missing, unreadable, large := (*NotFoundError)(nil), (*UnreadableError)(nil), (*TooLargeError)(nil)
	switch {
	case errors.As(err, &missing):
		return "its file is missing", "", true
	case errors.As(err, &unreadable):
		return unreadable.Cause.Error(), unreadable.Cause.Path, true
	case errors.As(err, &large):
		return large.Error(), "", true
	}
	return "", "", false
}
