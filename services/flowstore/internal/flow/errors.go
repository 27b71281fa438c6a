package flow

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// CycleError says that an edge would close a cycle.
type CycleError struct {
	Flow uuid.UUID
	// Path is the way that leads back already: it begins at the node to which the edge would lead, follows existing and
	// new edges in order, and ends at the node from which the edge would come. One node for an edge to itself.
	Path []uuid.UUID
}

func (e *CycleError) Error() string {
	if len(e.Path) == 1 {
		return fmt.Sprintf("a node cannot continue itself: %s", e.Path[0])
	}
	return fmt.Sprintf("the edge would close a cycle: there is a way back already, %s", joined(e.Path, " -> "))
}

// NotMemberError says that nodes are not in the flow.
type NotMemberError struct {
	Flow  uuid.UUID
	Nodes []uuid.UUID
}

func (e *NotMemberError) Error() string {
	return fmt.Sprintf("not in flow %s: node %s; add it first", e.Flow, joined(e.Nodes, ", "))
}

func joined(ids []uuid.UUID, between string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return strings.Join(names, between)
}

// MemberError says that a node is in the flow already.
type MemberError struct{ Flow, Node uuid.UUID }

func (e *MemberError) Error() string {
	return fmt.Sprintf("node %s is in flow %s already", e.Node, e.Flow)
}

// UnknownIndexError says that no member has the index.
type UnknownIndexError struct {
	Flow  uuid.UUID
	Index int
}

func (e *UnknownIndexError) Error() string {
	return fmt.Sprintf("no node of flow %s has index %d", e.Flow, e.Index)
}

// NextIndexError says that a new member was given another index than the next one.
type NextIndexError struct {
	Flow        uuid.UUID
	Index, Next int
}

func (e *NextIndexError) Error() string {
	return fmt.Sprintf("a new node of flow %s gets index %d, not %d", e.Flow, e.Next, e.Index)
}

// FullError says that a flow takes no more.
type FullError struct {
	Flow uuid.UUID
	// What is `nodes`, `edges` or `indexes`, Limit the most that a flow takes of it.
	What  string
	Limit int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("flow %s is full: it takes at most %d %s; continue in another flow", e.Flow, e.Limit, e.What)
}
