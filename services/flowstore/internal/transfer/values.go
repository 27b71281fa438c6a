package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// values takes a file apart into its JSON values: those of the array that the file is, or those that stand in it one behind
// another. A value that is too long is passed over, and one that is broken inside is given all the same: encoding/json,
// which would hold the whole of it first and stop at the first fault, reads each alone.
type values struct {
	in           *bufio.Reader
	at           int64
	began, array bool
	after        bool // a value of the array was read: a comma or the end comes
}

func newValues(r io.Reader) *values { return &values{in: bufio.NewReaderSize(r, 64<<10)} }

var errLong = fmt.Errorf("is longer than %d MiB", MaxConversation>>20)

// tear says where a file cannot be read on.
type tear struct {
	at   int64
	what string
}

func (e *tear) Error() string {
	return fmt.Sprintf("byte %d: %s; the rest of the file was not read", e.at, e.what)
}

// next gives the next value. io.EOF at the end; errLong for one that was passed over; *tear where nothing more can be read;
// any other error is the reader's.
func (v *values) next() ([]byte, error) {
	c, err := v.opener()
	if err != nil {
		return nil, err
	}
	raw, depth, quoted, long := []byte{c}, 1, false, false
	for depth > 0 {
		if c, err = v.byte(); err != nil {
			return nil, torn(err, v.at, "the file ends within a conversation")
		}
		keep := 1
		switch {
		case quoted && c == '\\':
			keep = 2
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		for {
			if long = long || len(raw) >= MaxConversation; !long {
				raw = append(raw, c)
			}
			if keep--; keep == 0 {
				break
			}
			if c, err = v.byte(); err != nil {
				return nil, torn(err, v.at, "the file ends within a conversation")
			}
		}
	}
	if v.after = true; long {
		return nil, errLong
	}
	return raw, nil
}

// opener reads up to the first byte of a value.
func (v *values) opener() (byte, error) {
	for {
		c, err := v.byte()
		switch {
		case errors.Is(err, io.EOF) && v.array:
			return 0, torn(err, v.at, "the file ends before its array does")
		case err != nil:
			return 0, err
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case !v.began && c == '[':
			v.began, v.array = true, true
		case v.array && c == ']':
			return 0, v.end()
		case v.array && c == ',' && v.after:
			v.after = false
		case c == '{' && (!v.array || !v.after):
			v.began = true
			return c, nil
		default:
			return 0, &tear{v.at, fmt.Sprintf("%q stands where a conversation, which begins with {, is expected", c)}
		}
	}
}

// end reads what is behind the array.
func (v *values) end() error {
	for {
		c, err := v.byte()
		switch {
		case err != nil:
			return err
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return &tear{v.at, fmt.Sprintf("%q stands behind the end of the array", c)}
		}
	}
}

func (v *values) byte() (byte, error) {
	c, err := v.in.ReadByte()
	if err == nil {
		v.at++
	}
	return c, err
}

// torn makes the end of a file within something an error that says so.
func torn(err error, at int64, what string) error {
	if errors.Is(err, io.EOF) {
		return &tear{at, what}
	}
	return err
}

// bounded is a reader that gives an error behind so many bytes.
type bounded struct {
	in   io.Reader
	left int64
	err  error
}

// Read reads.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.err
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
