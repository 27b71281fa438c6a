package wire

import (
	"bytes"
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
type Events struct{ lines }

// NewEvents reads r, and events of at most most bytes.
func NewEvents(r io.Reader, most int) *Events { return &Events{newLines(r, most)} }

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
