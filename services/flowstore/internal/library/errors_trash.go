package library

import "github.com/google/uuid"

// NotDeletedError says that something is to come back, or to be purged, that is not in the trash.
type NotDeletedError struct {
	Kind Kind
	ID   uuid.UUID
}

func (e *NotDeletedError) Error() string { return e.Kind.Name(e.ID) + " is not deleted" }
