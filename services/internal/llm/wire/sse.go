package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Event is one event of a stream.
type Event struct {
	Data []byte
	// Failed says that the data stood in a field named error, as builds of llama.cpp of 2025 send it.
	Failed bool
}

// Events reads server-sent events (WHATWG HTML, 9.2.6). Comments, which keep the connection alive, and fields other than
// data and error are skipped.
type Events struct {
	r    *bufio.Reader
	most int // the longest line, in bytes
}

// NewEvents reads r, and events of at most most bytes.
func NewEvents(r io.Reader, most int) *Events {
	return &Events{r: bufio.NewReaderSize(r, 32<<10), most: most}
}

// Next gives the next event. io.EOF at the end of the stream; what stands there without the blank line that ends an event
// is dropped, as it may be half of one. ErrTooLarge for an event that is longer than most.
func (e *Events) Next() (Event, error) {
	var found Event
	for {
		line, err := e.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if found.Data != nil {
				return found, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" && string(name) != "error" {
			continue
		}
		if found.Data != nil {
			found.Data = append(found.Data, '\n')
		}
		found.Failed = found.Failed || string(name) == "error"
		found.Data = append(found.Data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(found.Data) > e.most {
			return Event{}, ErrTooLarge
		}
	}
}

// line gives a line without its end. The slice is valid until the next call.
func (e *Events) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = e.longLine(bytes.Clone(line))
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// longLine reads the rest of a line that is longer than the buffer.
func (e *Events) longLine(line []byte) ([]byte, error) {
	for len(line) <= e.most {
		more, err := e.r.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, ErrTooLarge
}
