package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads lines of bounded length.
type lines struct {
	r    *bufio.Reader
	most int // the longest line, in bytes
}

func newLines(r io.Reader, most int) lines {
	return lines{r: bufio.NewReaderSize(r, 32<<10), most: most}
}

// line gives a line without its end. The slice is valid until the next call.
func (l *lines) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.longLine(bytes.Clone(line))
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// longLine reads the rest of a line that is longer than the buffer.
func (l *lines) longLine(line []byte) ([]byte, error) {
	for len(line) <= l.most {
		more, err := l.r.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, ErrTooLarge
}

// NDJSON reads lines of JSON, each of them an event. Blank lines are skipped.
type NDJSON struct{ lines }

// NewNDJSON reads r, and lines of at most most bytes.
func NewNDJSON(r io.Reader, most int) *NDJSON { return &NDJSON{newLines(r, most)} }

// Next gives the next line. io.EOF at the end of the stream; what stands there without a line end is dropped, as it may be
// half of one. ErrTooLarge for a line that is longer than most.
func (n *NDJSON) Next() (Event, error) {
	for {
		line, err := n.line()
		if err != nil {
			return Event{}, err
		}
		if line = bytes.TrimSpace(line); len(line) > n.most {
			return Event{}, ErrTooLarge
		}
		if len(line) > 0 {
			return Event{Data: bytes.Clone(line)}, nil
		}
	}
}
