package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestNDJSON(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct {
		in   string
		want []string
		end  error
	}{
		"lines":              {"{}\n[1]\n", []string{"{}", "[1]"}, io.EOF},
		"CRLF":               {"a\r\nb\r\n", []string{"a", "b"}, io.EOF},
		"blank lines":        {"\n \na\n\t\n", []string{"a"}, io.EOF},
		"blanks around":      {"  a b \n", []string{"a b"}, io.EOF},
		"no end at the last": {"a\nb", []string{"a"}, io.EOF},
		"over the buffer":    {long + "\nb\n", []string{long, "b"}, io.EOF},
		"over the limit":     {"a\n" + long + long + "\nb\n", []string{"a"}, ErrTooLarge},
		"blank without end":  {strings.Repeat(" ", 400_000), nil, ErrTooLarge},
		"nothing":            {"", nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := drain(NewNDJSON(iotest.OneByteReader(strings.NewReader(test.in)), 150_000))
			if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.end) {
				t.Errorf("the end is %v; want -, got +:\n%s", err, diff)
			}
		})
	}
}

// FuzzNDJSON: whatever arrives, reading it ends, how it is cut into packets changes nothing, and no event is empty or too long.
func FuzzNDJSON(f *testing.F) {
	for _, s := range []string{"{}\n", "{\"a\":1}\r\n\n {\"b\":2} \n", "{", "\n\r\n", "\xff\x00\n", strings.Repeat("9", 1001) + "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := drain(NewNDJSON(strings.NewReader(in), 1000))
		bits, err2 := drain(NewNDJSON(iotest.OneByteReader(strings.NewReader(in)), 1000))
		if diff := cmp.Diff(whole, bits); diff != "" || !errors.Is(err1, err2) {
			t.Errorf("%v, %v, %s", err1, err2, diff)
		}
		for _, event := range whole {
			if event == "" || len(event) > 1000 {
				t.Errorf("an event has %d bytes", len(event))
			}
		}
	})
}
