package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// asked is a request as it came in.
type asked struct {
	call string
	id   uuid.UUID
	// in is all that it asks for.
	in any
}

// digest is a hash of all that was asked for.
func (a asked) digest() (string, error) {
	text, err := json.Marshal(a.in)
	if err != nil {
		return "", fmt.Errorf("describing a request: %w", err)
	}
	sum := sha256.Sum256(append([]byte(a.call+"\n"), text...))
	return hex.EncodeToString(sum[:]), nil
}

// once does something in a transaction and remembers that it came to result. If the same request was answered before, it
// does nothing and gives what it came to then. *RequestReusedError.
func (l *Library) once(ctx context.Context, ns string, a asked, result uuid.UUID, do func(store.Tx) error) (before *uuid.UUID, err error) {
	if a.id == (uuid.UUID{}) {
		return nil, l.store.Update(ctx, ns, do)
	}
	digest, err := a.digest()
	if err != nil {
		return nil, err
	}
	r := store.Request{ID: a.id, Digest: digest, Result: result}
	err = l.store.Update(ctx, ns, func(tx store.Tx) error {
		earlier, seen, err := tx.Request(r.ID)
		switch {
		case err != nil:
			return err
		case seen && earlier.Digest != r.Digest:
			return &RequestReusedError{Request: r.ID}
		case seen:
			before = &earlier.Result
			return nil
		}
		before = nil
		if err := do(tx); err != nil {
			return err
		}
		return tx.PutRequest(r)
	})
	return before, err
}
