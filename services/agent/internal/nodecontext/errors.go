package nodecontext

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// UnknownError says which references do not exist.
type UnknownError struct {
	IDs []uuid.UUID
	// At are indexes in the request's ids, rising.
	At []int
}

func (e *UnknownError) Error() string {
	names := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		names[i] = "nodes/" + id.String()
	}
	return "no such nodes, or they are in the trash: " + strings.Join(names, ", ")
}

// UnreadableError says that a node of the conversation cannot be read. Without it the context would silently have a hole.
type UnreadableError struct {
	Node    uuid.UUID
	Problem string
	// File is what it is read from, seen from the folder of the namespace; empty where that is not known.
	File string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("nodes/%s is on the path and cannot be used: %s", e.Node, e.Problem)
}

// TooLargeError says that the parents, which are read in full, have more bytes of text than a context is made of.
type TooLargeError struct{ Bytes, Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the nodes that the prompt follows have %d bytes of text or more; a context is made of at most %d", e.Bytes, e.Limit)
}
