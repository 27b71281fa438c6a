package library

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ListQuery asks for a page of nodes, or of flows.
type ListQuery struct {
	Order store.Order
	// Made is when they were made.
	Made Span
	// Deleted asks for what is in the trash, last deleted first; Order and Made are then zero.
	Deleted bool
	// After is where the page before ended; zero for the first page.
	After store.Entry
	// MaxItems and MaxBytes end a page: so many items, so many bytes by their Size. At least one item is given, unless the
	// page ends before by maxWork.
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
	// Deleted is when it went to the trash; zero: it is not there.
	Deleted time.Time
}

// ListPage is a part of a list.
type ListPage[T any] struct {
	Items []Listed[T]
	// Next is where it ended; zero on the last page. Where it is not zero there may be no items: pages go by place, so that
	// a filter that few satisfy reads no more for a page than any other.
	Next store.Entry
}

// Nodes lists nodes of a namespace; full gives them whole, else Characters is set. *NotFoundError and *UnreadableError for the
// filter's flow.
func (l *Library) Nodes(ctx context.Context, ns string, q ListQuery, f NodeFilter, full bool) (ListPage[node.Brief], error) {
	has, err := l.has(ctx, ns, f.Flow)
	if err != nil {
		return ListPage[node.Brief]{}, err
	}
	of := listing[node.Brief]{
		entries: l.store.Nodes, has: has, read: l.reader(!full), matches: f.matcher(), size: node.Brief.Size, weight: node.Brief.Weight,
	}
	if q.Deleted {
		of.entries, of.read = l.dropped(store.KindNode), l.droppedReader(!full)
	}
	return list(ctx, ns, q, of)
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
		return node.Brief{}, named(store.KindNode, id, err)
	}
	b := n.Brief()
	if size := b.Size(); size > node.MaxSize {
		return node.Brief{}, &TooLargeError{Node: id, Bytes: size}
	}
	return b, nil
}

// Part gives a part of a text, also of a node that is too large to be sent whole. Errors as of Node; *node.OutsideError.
func (l *Library) Part(ctx context.Context, ns string, id uuid.UUID, p node.Part) (node.Brief, error) {
	n, err := l.store.Node(ctx, ns, id)
	if err != nil {
		return node.Brief{}, named(store.KindNode, id, err)
	}
	return n.Part(p)
}

// Flows lists flows of a namespace. Their members and edges do not count to the size of a page.
func (l *Library) Flows(ctx context.Context, ns string, q ListQuery, f FlowFilter) (ListPage[flow.Flow], error) {
	of := listing[flow.Flow]{
		entries: l.store.Flows, has: everything[uuid.UUID], read: l.Flow, matches: f.matcher(), size: flow.Flow.WordsSize, weight: flowWeight,
	}
	if q.Deleted {
		of.entries, of.read = l.dropped(store.KindFlow), l.droppedFlow
	}
	return list(ctx, ns, q, of)
}

// flowWeight is about how many bytes were read for a flow.
func flowWeight(f flow.Flow) int { return 64*len(f.Members) + 32*len(f.Edges) }

// What is done for a page at most. An entry that is passed over counts 1, a file that is read readWork and 1 for each KiB:
// 2,000 small files or 100 MiB.
const (
	maxWork  = 100_000
	readWork = 50
)

// listing is how a list is read.
type listing[T any] struct {
	entries func(context.Context, string, store.Order, store.Entry, int) ([]store.Entry, error)
	// has judges before anything is read, matches afterwards.
	has     func(uuid.UUID) bool
	read    func(context.Context, string, uuid.UUID) (T, error)
	matches func(T) bool
	// size is what an item counts in a page, weight about how many bytes were read for it.
	size, weight func(T) int
}

// list reads what the store's list names, until the page is full or maxWork is done.
func list[T any](ctx context.Context, ns string, q ListQuery, l listing[T]) (ListPage[T], error) {
	const chunk = 1000
	p := pager[T]{ListQuery: q, listing: l, place: q.After}
	if q.After == (store.Entry{}) {
		p.place = q.Made.start(q.Order)
	}
	for {
		found, err := l.entries(ctx, ns, q.Order, p.place, chunk)
		if err != nil {
			return ListPage[T]{}, err
		}
		for _, e := range found {
			if q.Made.ended(q.Order, e) {
				return p.page, nil
			}
			full, err := p.take(ctx, ns, e)
			if err != nil {
				return ListPage[T]{}, err
			}
			if full {
				p.page.Next = p.place
				return p.page, nil
			}
		}
		if len(found) < chunk {
			return p.page, nil
		}
	}
}

// pager fills a page.
type pager[T any] struct {
	ListQuery
	listing[T]
	page ListPage[T]
	// place is the last entry that is behind us.
	place       store.Entry
	bytes, work int
}

// take puts an entry on the page where it belongs there; full says that it has to wait for the next page.
func (p *pager[T]) take(ctx context.Context, ns string, e store.Entry) (full bool, err error) {
	if len(p.page.Items) >= max(p.MaxItems, 1) || p.work >= maxWork {
		return true, nil
	}
	p.work++
	if p.Made.side(e.Created) == 0 && p.has(e.ID) {
		item, err := readListed(ctx, ns, e.ID, p.read)
		if errors.Is(err, store.ErrNotDropped) { // It came back just now.
			p.place = e
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if p.Deleted {
			item.Deleted = e.Created
		}
		p.work += readWork + p.weight(item.Item)>>10
		if item.Problem != "" || p.matches(item.Item) {
			if p.bytes += p.size(item.Item); len(p.page.Items) > 0 && p.bytes > p.MaxBytes {
				return true, nil
			}
			p.page.Items = append(p.page.Items, item)
		}
	}
	p.place = e
	return false, nil
}

func readListed[T any](ctx context.Context, ns string, id uuid.UUID, read func(context.Context, string, uuid.UUID) (T, error)) (Listed[T], error) {
	if err := ctx.Err(); err != nil {
		return Listed[T]{}, err
	}
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
	purged := (*store.PurgedError)(nil)
	switch {
	case errors.As(err, &purged):
		return purged.Error(), "", true
	case errors.As(err, &missing) && !missing.Deleted.IsZero():
		return missing.Error(), "", true
	case errors.As(err, &missing):
		return "its file is missing", "", true
	case errors.As(err, &unreadable):
		return unreadable.Cause.Error(), unreadable.Cause.Path, true
	case errors.As(err, &large):
		return large.Error(), "", true
	}
	return "", "", false
}
