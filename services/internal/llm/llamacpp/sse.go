package llamacpp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one event of a stream: its data, or what builds of 2025 put into a field named error.
type event struct {
	data   []byte
	failed bool
}

// events reads server-sent events (WHATWG HTML, 9.2.6). Comments, which keep the connection alive, and fields other than
// data and error are skipped.
type events struct {
	r    *bufio.Reader
	most int // the longest line, in bytes
}

func newEvents(r io.Reader, most int) *events {
	return &events{r: bufio.NewReaderSize(r, 32<<10), most: most}
}

// next gives the next event. io.EOF at the end of the stream; what stands there without the blank line that ends an event
// is dropped, as it may be half of one. errTooLarge for an event that is longer than most.
func (e *events) next() (event, error) {
	var found event
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if found.data != nil {
				return found, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" && string(name) != "error" {
			continue
		}
		if found.data != nil {
			found.data = append(found.data, '\n')
		}
		found.failed = found.failed || string(name) == "error"
		found.data = append(found.data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(found.data) > e.most {
			return event{}, errTooLarge
		}
	}
}

// line gives a line without its end. The slice is valid until the next call.
func (e *events) line() ([]byte, error) {
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
func (e *events) longLine(line []byte) ([]byte, error) {
	for len(line) <= e.most {
		more, err := e.r.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, errTooLarge
}
