package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// NodeUpdate asks for other content of a node.
type NodeUpdate struct {
	Node uuid.UUID
	// Etag is the version that the caller read, by node.Node.Etag; empty: any.
	Etag string
	// To holds the new content, Fields names the parts that count, as node.Editable gives them.
	To     node.Node
	Fields []string
	// Source is node.Node.Source of the texts that a new summary was made from; empty: those that the node has after the update.
	Source string
	// Request is the id of the request; zero: none. The same one again within 24 hours changes nothing and is answered with
	// the node as it is then.
	Request uuid.UUID
}

// UpdateNode gives a node other content by the rules of node.Node.Edited, and keeps what it was as a revision. An update of nothing
// is not written. *NotFoundError, *UnreadableError, *TooLargeError, *RequestReusedError, *etag.StaleError.
func (l *Library) UpdateNode(ctx context.Context, ns string, in NodeUpdate) (node.Node, error) {
	return l.replace(ctx, ns, in.Node, in.Etag, asked{"UpdateNode", in.Request, in}, func(tx store.Tx, n node.Node) (node.Node, error) {
		return n.Edited(in.To, in.Fields, in.Source, tx.Now()), nil
	})
}

// replace puts what edit makes of a node in its place, in one transaction. Errors as of UpdateNode.
func (l *Library) replace(
	ctx context.Context, ns string, id uuid.UUID, tag string, a asked, edit func(tx store.Tx, n node.Node) (node.Node, error),
) (node.Node, error) {
	var replaced node.Node
	before, err := l.once(ctx, ns, a, id, func(tx store.Tx) error {
		n, err := tx.Node(id)
		if err != nil {
			return named(store.KindNode, id, err)
		}
		was := n.Etag()
		stale := etag.Check(node.Name(id), tag, func() string { return was })
		var refused error
		replaced, refused = edit(tx, n)
		if err := together(refused, stale); err != nil {
			return err
		}
		if size := replaced.Size(); size > node.MaxSize {
			return &TooLargeError{Node: id, Bytes: size}
		}
		if replaced.Etag() == was {
			return nil
		}
		replaced.Warnings = nil // they are of the file that was
		return named(store.KindNode, id, tx.ReplaceNode(replaced))
	})
	if err == nil && before != nil {
		return l.Node(ctx, ns, *before)
	}
	return replaced, err
}
