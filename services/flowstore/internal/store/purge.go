package store

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxReason is how long the reason of a purge may be, in bytes. It is kept for ever, beside the tree.
const MaxReason = 1024

// Tombstone is what is left of a thing that was purged.
type Tombstone struct {
	Thing
	// At is when it was purged, Reason why.
	At     time.Time
	Reason string
}

// Purged is what is told of a thing that was purged.
type Purged struct {
	Tombstone
	// Nodes are those that were purged with a flow, in the same Update, by id.
	Nodes []uuid.UUID
	// Remains are sentences for a person on copies that the store cannot take away, such as in the history of git.
	Remains []string
}

// With gives the nodes, by id, whose tombstones tell that they were purged with the thing: no two Updates have the same time.
func (t Tombstone) With(nodes iter.Seq[Tombstone]) (with []uuid.UUID) {
	for other := range nodes {
		if t.Kind == KindFlow && other.Kind == KindNode && other.At.Equal(t.At) {
			with = append(with, other.ID)
		}
	}
	slices.SortFunc(with, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return with
}

// PurgedError says that a thing was purged: it does not come back, and its id is not given again. It is ErrNodeNotFound or
// ErrFlowNotFound, too.
type PurgedError struct{ Tombstone }

func (e *PurgedError) Error() string {
	return fmt.Sprintf("%s was purged at %s: %s", e.Kind.Name(e.ID), e.At.UTC().Format(time.RFC3339Nano), e.Reason)
}

// Unwrap says that it is not there.
func (e *PurgedError) Unwrap() error { return e.Kind.NotFound() }

// CheckReason says whether a text can be the reason of a purge; what is empty where it can.
func CheckReason(reason string) (what string) {
	switch {
	case strings.TrimSpace(reason) == "":
		return "is required: it is what the tombstone tells later"
	case len(reason) > MaxReason:
		return fmt.Sprintf("is %d bytes long; the limit is %d bytes", len(reason), MaxReason)
	case !utf8.ValidString(reason):
		return "must be UTF-8"
	}
	return ""
}

// Everything reads what a Tx reads, and what is in the trash. What was purged it answers with *PurgedError.
type Everything interface {
	Reader
	// HasNode says whether a node is stored or in the trash. Reads no file.
	HasNode(id uuid.UUID) (bool, error)
	FlowsOf(node uuid.UUID) ([]uuid.UUID, error)
}
