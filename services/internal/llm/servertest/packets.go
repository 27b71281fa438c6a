package servertest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// longest is the longest event that Packets reads, in bytes: short, so that fuzzing meets longer ones.
const longest = 1000

// Packets checks what comes of a stream, whatever stands in it: reading ends, gives whole characters, and how the stream is
// cut into packets changes nothing. open makes the reader of events, as of wire.NewEvents, and answer what makes sense of them.
func Packets[E interface{ Next() (wire.Event, error) }](tb testing.TB, in string, open func(r io.Reader, most int) E, answer func(*wire.Server) wire.Answer) {
	tb.Helper()
	whole, end := drain(open(strings.NewReader(in), longest), answer)
	bits, same := drain(open(iotest.OneByteReader(strings.NewReader(in)), longest), answer)
	if whole != bits || end != same {
		tb.Errorf("%q, %s became %q, %s", whole, end, bits, same)
	}
	if !utf8.ValidString(whole) {
		tb.Errorf("the text is %q", whole)
	}
}

// drain gives the text of a stream and, in words, how it ended.
func drain(events interface{ Next() (wire.Event, error) }, answer func(*wire.Server) wire.Answer) (text, end string) {
	a := answer(wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}}))
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = errors.Join(io.ErrUnexpectedEOF, a.End())
		}
		if err == nil {
			var piece string
			piece, err = a.Take(e)
			text += piece
		}
		if err != nil {
			return text, err.Error()
		}
	}
}
