package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// CycleError says that new edges would close a cycle.
type CycleError struct {
	Flow uuid.UUID
	// Path is one such cycle, by existing and new edges; the node where it begins ends it, too. Twice the same node for an
	// edge from a node to itself.
	Path []uuid.UUID
	// Closing are all new edges that would close one, each from a node and to a node.
	Closing [][2]uuid.UUID
}

func (e *CycleError) Error() string {
	if len(e.Path) == 2 {
		return fmt.Sprintf("a node cannot continue itself: %s", node.Name(e.Path[0]))
	}
	return "the edge would close a cycle: " + strings.Join(shown(e.Path), " -> ")
}

// most is how many names a message shows of a long list.
const most = 8

// shown names nodes. Of a long list it gives the first and the last: a message is cut somewhere, and the end of a cycle
// is what shows that it is one.
func shown(ids []uuid.UUID) []string {
	all := names(ids)
	if left := len(all) - most; left > 0 {
		return slices.Concat(all[:most/2], []string{fmt.Sprintf("(%d more)", left)}, all[len(all)-most/2:])
	}
	return all
}

func names(ids []uuid.UUID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = node.Name(id)
	}
	return out
}

// NotMemberError says that nodes are stored, but not in the flow.
type NotMemberError struct {
	Flow  uuid.UUID
	Nodes []uuid.UUID
}

func (e *NotMemberError) Error() string {
	if len(e.Nodes) == 1 {
		return fmt.Sprintf("%s is not in %s; add it first", node.Name(e.Nodes[0]), Name(e.Flow))
	}
	return fmt.Sprintf("%s are not in %s; add them first", strings.Join(shown(e.Nodes), ", "), Name(e.Flow))
}

// NoCurrentError says that a flow with nodes has no current one.
type NoCurrentError struct{ Flow uuid.UUID }

func (e *NoCurrentError) Error() string {
	return fmt.Sprintf("%s has no current node; name the node, or set a current one first", Name(e.Flow))
}

// MemberError says that a node is in the flow already.
type MemberError struct{ Flow, Node uuid.UUID }

func (e *MemberError) Error() string {
	return fmt.Sprintf("%s is in %s already", node.Name(e.Node), Name(e.Flow))
}

// UnknownIndexError says that no member has the index.
type UnknownIndexError struct {
	Flow  uuid.UUID
	Index int
}

func (e *UnknownIndexError) Error() string {
	return fmt.Sprintf("no node of %s has index %d", Name(e.Flow), e.Index)
}

// NextIndexError says that a new member was given another index than the next one.
type NextIndexError struct {
	Flow        uuid.UUID
	Index, Next int
}

func (e *NextIndexError) Error() string {
	return fmt.Sprintf("a new node of %s gets index %d, not %d", Name(e.Flow), e.Next, e.Index)
}

// OldIndexError says that a member cannot come back with an index: it is taken, or was never given.
type OldIndexError struct {
	Flow  uuid.UUID
	Index int
}

func (e *OldIndexError) Error() string {
	return fmt.Sprintf("no node can come back to %s with index %d: it is taken, or was never given", Name(e.Flow), e.Index)
}

// FullError says that a flow takes no more.
type FullError struct {
	Flow uuid.UUID
	// What is `nodes`, `edges`, `indexes`, `bytes of names of edges`, `heads` or `links`, Limit the most that a flow takes of it.
	What  string
	Limit int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%s is full: it takes at most %d %s; continue in another flow", Name(e.Flow), e.Limit, e.What)
}

// NotConnectedError says that no edge leads from one node of a flow to another.
type NotConnectedError struct{ Flow, From, To uuid.UUID }

func (e *NotConnectedError) Error() string {
	return fmt.Sprintf("%s does not continue %s in %s: there is no edge to take away", node.Name(e.To), node.Name(e.From), Name(e.Flow))
}

// HasChildrenError says that a node cannot leave a flow, since others continue it.
type HasChildrenError struct {
	Flow, Node uuid.UUID
	Children   []uuid.UUID
}

func (e *HasChildrenError) Error() string {
	return fmt.Sprintf("%s cannot leave %s with the mode RESTRICT, since others continue it: %s; SPLICE has them continue what it continues, and SUBTREE removes them, too",
		node.Name(e.Node), Name(e.Flow), strings.Join(shown(e.Children), ", "))
}
