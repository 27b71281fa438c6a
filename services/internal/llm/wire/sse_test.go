package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct {
		in   string
		want []string
		end  error
	}{
		"events":             {"data: a\n\ndata: b\n\n", []string{"a", "b"}, io.EOF},
		"no blank":           {"data:a\n\n", []string{"a"}, io.EOF},
		"two blanks":         {"data:  a\n\n", []string{" a"}, io.EOF},
		"CRLF":               {"data: a\r\n\r\n", []string{"a"}, io.EOF},
		"lines of one event": {"data: a\ndata: b\n\n", []string{"a\nb"}, io.EOF},
		"comments":           {":\n\n: ping\n\ndata: a\n\n:\n\n", []string{"a"}, io.EOF},
		"other fields":       {"event: x\nid: 3\nretry: 5\ndata: a\n\nevent: y\n\n", []string{"a"}, io.EOF},
		"an error field":     {"error: {}\n\n", []string{"error {}"}, io.EOF},
		"half an event":      {"data: a\n\ndata: b\n", []string{"a"}, io.EOF},
		"half a line":        {"data: a\n\nda", []string{"a"}, io.EOF},
		"over the buffer":    {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}, io.EOF},
		"over the limit":     {"data: " + long + long + "\n\n", nil, ErrTooLarge},
		"in many lines":      {strings.Repeat("data: "+long[:1000]+"\n", 200), nil, ErrTooLarge},
		"nothing":            {"", nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := drain(NewEvents(iotest.OneByteReader(strings.NewReader(test.in)), 150_000))
			if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.end) {
				t.Errorf("the end is %v; want -, got +:\n%s", err, diff)
			}
		})
	}
}

func drain(e interface{ Next() (Event, error) }) ([]string, error) {
	var got []string
	for {
		ev, err := e.Next()
		if err != nil {
			return got, err
		}
		s := string(ev.Data)
		if ev.Failed {
			s = "error " + s
		}
		got = append(got, s)
	}
}

// FuzzEvents: whatever arrives, reading it ends, and how it is cut into packets changes nothing.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "data: a\ndata: b\r\n\r\n: ping\n\nerror: {}\n\n", "data", "\n\n\n", "data: \xff\x00\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := drain(NewEvents(strings.NewReader(in), 1000))
		bits, err2 := drain(NewEvents(iotest.OneByteReader(strings.NewReader(in)), 1000))
		if diff := cmp.Diff(whole, bits); diff != "" || !errors.Is(err1, err2) {
			t.Errorf("%v, %v, %s", err1, err2, diff)
		}
	})
}
