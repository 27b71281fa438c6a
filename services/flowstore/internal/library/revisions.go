package library

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// RevisionsQuery asks for a page of what a node is and was.
type RevisionsQuery struct {
	Node uuid.UUID
	// After is where the page before ended; the zero place for the first page.
	After RevisionPlace
	// MaxItems and MaxBytes end a page, as of ListQuery.
	MaxItems, MaxBytes int
	// Brief gives the beginnings of the texts, as node.Brief has them.
	Brief bool
}

// RevisionPlace is a place in the list of revisions: the node as it is now, and behind it Revision.
type RevisionPlace struct {
	// Began says that the node as it is now was given.
	Began bool
	// Revision is the last one that was given, zero for none.
	Revision store.Revision
}

// NodeRevision is a node as it is, or was, or as another file has it.
type NodeRevision struct {
	// Revision is zero for the node as it is now.
	store.Revision
	Listed[node.Brief]
}

// RevisionsPage is a part of the list.
type RevisionsPage struct {
	Items []NodeRevision
	// Next is where it ended; zero on the last page.
	Next RevisionPlace
}

// Revisions lists a node as it is now, then what store.Store.Revisions has: other files with its id, and what it was. *NotFoundError.
func (l *Library) Revisions(ctx context.Context, ns string, q RevisionsQuery) (RevisionsPage, error) {
	list, err := l.store.Revisions(ctx, ns, q.Node)
	if err != nil {
		return RevisionsPage{}, named(store.KindNode, q.Node, err)
	}
	if q.After.Began {
		list = list[behind(list, q.After.Revision):]
	} else {
		list = append([]store.Revision{{}}, list...)
	}
	var page RevisionsPage
	bytes, work := 0, 0
	for _, r := range list {
		if len(page.Items) >= max(q.MaxItems, 1) || work >= maxWork {
			page.Next = q.After
			break
		}
		item, err := readListed(ctx, ns, q.Node, l.revisionReader(r, q.Brief))
		if err != nil {
			return RevisionsPage{}, err
		}
		work += readWork + item.Item.Weight()>>10
		if bytes += item.Item.Size(); len(page.Items) > 0 && bytes > q.MaxBytes {
			page.Next = q.After
			break
		}
		page.Items = append(page.Items, NodeRevision{r, item})
		q.After = RevisionPlace{Began: true, Revision: r}
	}
	return page, nil
}

// behind is where the list goes on behind a place. One that is gone has its place by number and time: nothing is left out.
func behind(list []store.Revision, r store.Revision) int {
	same := func(o store.Revision) bool { return o.Number == r.Number && o.Path == r.Path }
	if i := slices.IndexFunc(list, same); i >= 0 || r == (store.Revision{}) {
		return i + 1
	}
	later := func(o store.Revision) bool {
		if r.Path != "" {
			return o.Path == "" || !o.At.After(r.At)
		}
		return o.Path == "" && o.Number < r.Number
	}
	if i := slices.IndexFunc(list, later); i >= 0 {
		return i
	}
	return len(list)
}

// revisionReader reads one revision, the node as it is now for the zero one.
func (l *Library) revisionReader(r store.Revision, brief bool) func(context.Context, string, uuid.UUID) (node.Brief, error) {
	if r == (store.Revision{}) {
		return l.reader(brief)
	}
	return func(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
		n, err := l.store.Revision(ctx, ns, id, r)
		switch {
		case err != nil:
			return node.Brief{}, named(store.KindNode, id, err)
		case brief:
			return n.Brief(), nil
		case n.Size() > node.MaxSize:
			return node.Brief{}, &TooLargeError{Node: id, Bytes: n.Size()}
		}
		return node.Brief{Node: n}, nil
	}
}

// Restoring asks for a node to become again what it was.
type Restoring struct {
	Node uuid.UUID
	// Revision is one of those that Revisions lists: its number, or its file.
	Number int64
	Path   string
	// Etag and Request are as in a NodeUpdate.
	Etag    string
	Request uuid.UUID
}

// RestoreRevision gives a node the content of a revision; what it was becomes one. Its time of creation stays. The errors of UpdateNode;
// *RevisionNotFoundError.
func (l *Library) RestoreRevision(ctx context.Context, ns string, in Restoring) (node.Node, error) {
	was, missing := l.store.Revision(ctx, ns, in.Node, store.Revision{Number: in.Number, Path: in.Path})
	if errors.Is(missing, store.ErrNodeNotFound) {
		missing = &RevisionNotFoundError{Node: in.Node, Number: in.Number, Path: in.Path}
	}
	return l.replace(ctx, ns, in.Node, in.Etag, asked{"RestoreNodeRevision", in.Request, in}, func(_ store.Tx, n node.Node) (node.Node, error) {
		was.Created = n.Created
		return was, named(store.KindNode, in.Node, missing)
	})
}

// RevisionNotFoundError says that a node has no such revision, or has it no longer.
type RevisionNotFoundError struct {
	Node   uuid.UUID
	Number int64
	Path   string
}

// Revision is how people call it: its number, or its file.
func (e *RevisionNotFoundError) Revision() string {
	if e.Path != "" {
		return e.Path
	}
	return fmt.Sprint(e.Number)
}

func (e *RevisionNotFoundError) Error() string {
	return fmt.Sprintf("%s has no revision %s; ListNodeRevisions tells those that it has", node.Name(e.Node), e.Revision())
}
