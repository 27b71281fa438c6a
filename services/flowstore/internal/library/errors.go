package library

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// ManyError says that a request is refused for several reasons, in the order of its fields.
type ManyError struct{ Errs []error }

func (e *ManyError) Error() string {
	return fmt.Sprintf("%v (and %d more)", e.Errs[0], len(e.Errs)-1)
}

// Unwrap gives the reasons.
func (e *ManyError) Unwrap() []error { return e.Errs }

// together makes one error of those that are not nil; one alone stays as it is.
func together(errs ...error) error {
	var all []error
	for _, err := range errs {
		if many := (*ManyError)(nil); errors.As(err, &many) {
			all = append(all, many.Errs...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &ManyError{all}
}

// NotFoundError says that there is no such node or flow in this namespace.
type NotFoundError struct {
	Kind store.Kind
	ID   uuid.UUID
	// Deleted is when it went to the trash, from where it can come back; zero: it is not there either.
	Deleted time.Time
}

func (e *NotFoundError) Error() string {
	if e.Deleted.IsZero() {
		return e.Kind.Name(e.ID) + " does not exist"
	}
	return fmt.Sprintf("%s was deleted at %s; undelete it first", e.Kind.Name(e.ID), e.Deleted.Format(time.RFC3339))
}

// absent is the error for a node that is not stored.
func absent(tx store.Tx, id uuid.UUID) error {
	_, err := tx.Node(id)
	return named(store.KindNode, id, err)
}

// TakenError says that the id that was asked for belongs to another node or flow.
type TakenError struct {
	Kind store.Kind
	ID   uuid.UUID
	// Deleted is when that went to the trash; zero: it is not there.
	Deleted time.Time
}

func (e *TakenError) Error() string {
	if !e.Deleted.IsZero() {
		return fmt.Sprintf("%s is in the trash, where it was put at %s, and keeps its id; undelete it, choose another id, or none",
			e.Kind.Name(e.ID), e.Deleted.Format(time.RFC3339))
	}
	return e.Kind.Name(e.ID) + " exists already; choose another id, or none"
}

// UnreadableError says that the file of a node or flow is there but cannot be read. It is left as it is.
type UnreadableError struct {
	Kind store.Kind
	ID   uuid.UUID
	// Cause tells the file and the reason.
	Cause *store.UnreadableError
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s cannot be read: %s: %s; mend the file or put it away", e.Kind.Name(e.ID), e.Cause.Path, e.Cause.Reason)
}

// Unwrap gives the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// TooLargeError says that a node, made by hand, is larger than an answer can be.
type TooLargeError struct {
	Node  uuid.UUID
	Bytes int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is about %d bytes long; the largest that can be sent is %d bytes; ask for parts of its texts", node.Name(e.Node), e.Bytes, node.MaxSize)
}

// RequestReusedError says that the id of a request was used for another request.
type RequestReusedError struct{ Request uuid.UUID }

func (e *RequestReusedError) Error() string {
	return fmt.Sprintf("request id %s was used for another request within the last 24 hours; take a new one", e.Request)
}

// PlaceGoneError says that the place at which a page ended is no longer on the path.
type PlaceGoneError struct{ Flow uuid.UUID }

func (e *PlaceGoneError) Error() string {
	return fmt.Sprintf("%s was edited, and the place where the last page ended is no longer on the path; begin again without a token", flow.Name(e.Flow))
}

// named says of which node or flow an error of the store speaks.
func named(kind store.Kind, id uuid.UUID, err error) error {
	var unreadable *store.UnreadableError
	var purged *store.PurgedError
	var deleted time.Time
	if dropped := (*store.DroppedError)(nil); errors.As(err, &dropped) {
		deleted = dropped.At
	}
	switch {
	case errors.As(err, &purged):
		return purged
	case errors.Is(err, store.ErrTaken): // Of what is in the trash it says both.
		return &TakenError{Kind: kind, ID: id, Deleted: deleted}
	case errors.Is(err, store.ErrNodeNotFound), errors.Is(err, store.ErrFlowNotFound):
		return &NotFoundError{Kind: kind, ID: id, Deleted: deleted}
	case errors.As(err, &unreadable):
		return &UnreadableError{Kind: kind, ID: id, Cause: unreadable}
	}
	return err
}
