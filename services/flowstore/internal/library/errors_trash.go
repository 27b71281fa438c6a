package library

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// InUseError says that a node cannot go, since flows hold it.
type InUseError struct {
	Node uuid.UUID
	// Flows are all that do, by id.
	Flows []uuid.UUID
}

func (e *InUseError) Error() string {
	const most = 8
	var names []string
	for _, id := range e.Flows[:min(len(e.Flows), most)] {
		names = append(names, flow.Name(id))
	}
	if more := len(e.Flows) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s cannot be deleted with the mode RESTRICT, since flows hold it: %s; SPLICE takes it out of them, and SUBTREE also what continues it there",
		node.Name(e.Node), strings.Join(names, ", "))
}

// TooManyError says that a deletion would take too much away.
type TooManyError struct{ Node uuid.UUID }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("deleting %s would take nodes from more than %d places in flows, the limit of one call; delete what continues it in parts first",
		node.Name(e.Node), MaxRemoved)
}

// NotDeletedError says that something is to come back, or to be purged, that is not in the trash.
type NotDeletedError struct {
	Kind store.Kind
	ID   uuid.UUID
	// Purge says that it is to be purged.
	Purge bool
}

func (e *NotDeletedError) Error() string { return e.Kind.Name(e.ID) + " is not deleted; " + e.Hint() }

// Hint says what can be done about it.
func (e *NotDeletedError) Hint() string {
	if e.Purge {
		return "delete it first: only what is in the trash can be purged"
	}
	return "there is nothing to bring back"
}
