// Package format is how nodes, flows and their indexes look as text files (seed 004; docs/flowstore-files.md).
//
// Pure functions on bytes: what is read from where, and when, is the business of the file engine. Whatever is written
// here is read back byte for byte, by other programs as well; whatever a person wrote is read as far as it can be, or
// refused with the reason, and never a panic.
package format

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
)

// MaxFile is the largest node or flow file that is read, in bytes.
const MaxFile = 64 << 20

// Error says why a file is no node, flow or config.
type Error struct{ Reason string }

// Error gives the reason, to be read behind the file's name.
func (e *Error) Error() string { return e.Reason }

func unreadable(format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// Torn says that a file is nothing but NUL bytes, as a power cut leaves one that was not synced (cases/flowstore.md 31): nobody wrote
// that. An empty one is not.
func Torn(data []byte) bool { return len(data) > 0 && len(bytes.TrimLeft(data, "\x00")) == 0 }

var byteOrderMark = []byte("\ufeff")

// body gives a file's text without the byte order mark that some editors write (cases/flowstore.md 14).
func body(data []byte) ([]byte, error) {
	if len(data) > MaxFile {
		return nil, unreadable("is %d bytes long; the limit is %d", len(data), MaxFile)
	}
	return bytes.TrimPrefix(data, byteOrderMark), nil
}

// parseID reads a UUID in its usual form, of 36 characters; capital letters are read, too.
func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	switch {
	case err != nil || len(text) != 36:
		return uuid.UUID{}, unreadable("%q is not a UUID such as 0192f000-0000-7000-8000-000000000001", cut(text))
	case id == uuid.UUID{}:
		return uuid.UUID{}, unreadable("the id is all zeros")
	}
	return id, nil
}

// cut shortens what a file says for a message.
func cut(text string) string {
	const most = 60
	for i := range text {
		if i > most {
			return text[:i] + "..."
		}
	}
	return text
}
