package conformance

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Way is how a server misbehaves while it answers.
type Way string

// The ways. Where a server begins well, it has sent `糸`, `は` and `夜` before, one token each.
const (
	// CutOff closes the connection in the middle, as a server does that is killed.
	CutOff Way = "cut off"
	// ErrorInside sends an error instead of the next piece.
	ErrorInside Way = "error inside"
	// Garbage sends an event that is no JSON instead of the next piece.
	Garbage Way = "garbage"
	// Silent sends nothing more and keeps the connection.
	Silent Way = "silent"
	// HalfCharacters sends `リンゴ` in pieces of 3, 5 and 1 bytes (cases/wannabe.md 35), and ends well.
	HalfCharacters Way = "half characters"
	// HalfAtTheEnd sends `a` and `b` with the first two bytes of a character, and ends.
	HalfAtTheEnd Way = "half at the end"
	// Empty ends at once: the model says nothing.
	Empty Way = "empty"
	// SlowStart takes three times the limit between two pieces before it sends the first.
	SlowStart Way = "slow start"
	// Endless sends a piece and then works on until its client leaves.
	Endless Way = "endless"
)

// Reply is what the model says meanwhile, one token each; where it is slow, slow by the limits.
func (how Way) Reply(limits llm.Timeouts) func(prompt string) []string {
	reply := servertest.Runes("糸は夜の港へ")
	switch how {
	case HalfCharacters:
		reply = []string{"\xe3\x83\xaa", "\xe3\x83\xb3\xe3\x82", "\xb4"}
	case HalfAtTheEnd:
		reply = []string{"a", "b\xe3\x83"}
	case Empty:
		reply = nil
	}
	return func(string) []string {
		if how == SlowStart {
			time.Sleep(3 * limits.Idle) // the slow model that this is about
		}
		return reply
	}
}

// breaks are the ways that a stream of package servertest knows; it has sent BreakAfter pieces before.
var breaks = map[Way]servertest.Break{
	CutOff: servertest.BreakCut, ErrorInside: servertest.BreakError, Garbage: servertest.BreakGarbage, Silent: servertest.BreakSilent,
}

// BreakAfter is how many pieces come before a stream goes wrong.
const BreakAfter = 3

// Break is how the stream goes wrong; empty where it is something else that does.
func (how Way) Break() servertest.Break { return breaks[how] }

// Broken is a backend whose server misbehaves.
type Broken struct {
	Backend Backend
	// Stopped returns when the server has stopped to work on an answer whose client left; only asked with Endless.
	Stopped func(t *testing.T)
}

// Faults make backends for Faulty.
type Faults struct {
	// At gives a backend at an address, where the suite has a server of its own.
	At func(t *testing.T, address string, limits llm.Timeouts) Backend
	// With gives a backend whose server misbehaves, nil where a server of this kind cannot.
	With func(t *testing.T, how Way, limits llm.Timeouts) *Broken
	// Good starts a server without faults, for whose client At is told another address.
	Good func(t *testing.T) Good
}

// Faulty is what every kind must make of servers that misbehave.
func Faulty(t *testing.T, f Faults) {
	t.Helper()
	t.Run("Refusals", f.refusals)
	t.Run("RefusesText", f.refusesText)
	t.Run("Gone", f.gone)
	t.Run("HangsUp", f.hangsUp)
	t.Run("Once", f.once)
	t.Run("Quotes", f.quotes)
	t.Run("Hangs", f.hangs)
	t.Run("Breaks", f.breaks)
	t.Run("Characters", f.characters)
	t.Run("Empty", f.empty)
	t.Run("SlowStart", f.slowStart)
	t.Run("WorkStops", f.workStops)
}

// asked gives the error of everything that a backend can be asked. Counting here asks no server.
func asked(t *testing.T, b Backend) []error {
	t.Helper()
	_, window := b.Window(t.Context())
	stream, generated := b.Generate(t.Context(), Subject{}.request("夜", 9))
	if generated == nil {
		_ = stream.Close()
	}
	all := []error{window, generated}
	if local, ok := b.(llm.Local); !ok || !local.CountsHere() {
		_, counted := b.Count(t.Context(), "夜")
		all = append(all, counted)
	}
	return all
}

// refusals are what stands between a client and its server.
func (f Faults) refusals(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   llm.Fault
	}{
		"429":           {429, "slow down", llm.FaultBusy},
		"503":           {503, "<html>busy</html>", llm.FaultBusy},
		"502":           {502, "<html>", llm.FaultUnreachable},
		"401":           {401, "", llm.FaultRefused},
		"404":           {404, "not here", llm.FaultProtocol},
		"500":           {500, "boom", llm.FaultProtocol},
		"302":           {302, "", llm.FaultProtocol},
		"a web page":    {200, "<html>It works!</html>", llm.FaultProtocol},
		"other JSON":    {200, "[]", llm.FaultProtocol},
		"nothing":       {200, "", llm.FaultProtocol},
		"a zip archive": {200, "PK\x03\x04\x00\x00", llm.FaultProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			}))
			defer server.Close()
			for _, err := range asked(t, f.At(t, server.URL, llm.DefaultTimeouts())) {
				e := typed(t, err, test.want)
				if test.want == llm.FaultBusy && e.RetryAfter != 7*time.Second {
					t.Errorf("try again after %v, not 7 s", e.RetryAfter)
				}
			}
		})
	}
}

func (f Faults) gone(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range asked(t, f.At(t, address, llm.DefaultTimeouts())) {
		wantFault(t, err, llm.FaultUnreachable)
	}
}

func (f Faults) hangs(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	defer server.Close()
	defer close(done)
	short := llm.DefaultTimeouts()
	short.Window, short.Count, short.FirstByte = time.Millisecond, time.Millisecond, time.Millisecond
	for _, err := range asked(t, f.At(t, server.URL, short)) {
		wantFault(t, err, llm.FaultTimeout)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v looks like the caller's own deadline", err)
		}
	}
}

// hangsUp is a server that closes each connection instead of an answer.
func (f Faults) hangsUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	for _, err := range asked(t, f.At(t, server.URL, llm.DefaultTimeouts())) {
		wantFault(t, err, llm.FaultUnreachable)
	}
}

// with gives a broken backend, or skips.
func (f Faults) with(t *testing.T, how Way, limits llm.Timeouts) *Broken {
	t.Helper()
	b := f.With(t, how, limits)
	if b == nil {
		t.Skipf("a server of this kind cannot: %s", how)
	}
	return b
}

// tell reads an answer to its end.
func tell(t *testing.T, b Backend) (text string, result llm.Result, end error) {
	t.Helper()
	stream := Subject{Backend: b}.start(t, t.Context(), Subject{}.request("夜", 9))
	for {
		piece, err := stream.Recv()
		if err != nil {
			return text, stream.Result(), err
		}
		text += piece
	}
}

// breaks are answers that go wrong after three pieces, which stand.
func (f Faults) breaks(t *testing.T) {
	short := llm.DefaultTimeouts()
	short.Idle = 200 * time.Millisecond
	for how, test := range map[Way]struct {
		limits llm.Timeouts
		want   llm.Fault
	}{
		CutOff:      {llm.DefaultTimeouts(), llm.FaultCut},
		ErrorInside: {llm.DefaultTimeouts(), llm.FaultCut},
		Garbage:     {llm.DefaultTimeouts(), llm.FaultProtocol},
		Silent:      {short, llm.FaultTimeout},
	} {
		t.Run(string(how), func(t *testing.T) {
			text, result, err := tell(t, f.with(t, how, test.limits).Backend)
			wantFault(t, err, test.want)
			if text != "糸は夜" || result.Finish != "" {
				t.Errorf("the answer is %q with %+v", text, result)
			}
		})
	}
}

func (f Faults) characters(t *testing.T) {
	t.Run(string(HalfCharacters), func(t *testing.T) {
		text, result, err := tell(t, f.with(t, HalfCharacters, llm.DefaultTimeouts()).Backend)
		if text != "リンゴ" || !errors.Is(err, io.EOF) || result.Finish != llm.FinishStop || result.StopString != "" {
			t.Errorf("the answer is %q, %v, with %+v", text, err, result)
		}
	})
	t.Run(string(HalfAtTheEnd), func(t *testing.T) {
		text, _, err := tell(t, f.with(t, HalfAtTheEnd, llm.DefaultTimeouts()).Backend)
		wantFault(t, err, llm.FaultProtocol)
		if text != "ab" {
			t.Errorf("the answer is %q", text)
		}
	})
}

func (f Faults) empty(t *testing.T) {
	text, result, err := tell(t, f.with(t, Empty, llm.DefaultTimeouts()).Backend)
	if text != "" || !errors.Is(err, io.EOF) || result.Finish != llm.FinishStop {
		t.Errorf("the answer is %q, %v, with %+v", text, err, result)
	}
}

// slowStart: the limit between two pieces does not hold before the first.
func (f Faults) slowStart(t *testing.T) {
	limits := llm.DefaultTimeouts()
	limits.Idle = 100 * time.Millisecond
	text, result, err := tell(t, f.with(t, SlowStart, limits).Backend)
	if text != "糸は夜の港へ" || !errors.Is(err, io.EOF) || result.Finish != llm.FinishStop {
		t.Errorf("the answer is %q, %v, with %+v", text, err, result)
	}
}

// patience is how long a server may take to notice.
const patience = 20 * time.Second

// workStops: whoever leaves stops the work of the server, not only the reading of it.
func (f Faults) workStops(t *testing.T) {
	for name, leave := range map[string]func(cancel func(), s llm.Stream){
		"cancelled": func(cancel func(), _ llm.Stream) { cancel() },
		"closed":    func(_ func(), s llm.Stream) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			b := f.with(t, Endless, llm.DefaultTimeouts())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream := Subject{Backend: b.Backend}.start(t, ctx, Subject{}.request("夜", 9))
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
			leave(cancel, stream)
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				b.Stopped(t)
			}()
			select {
			case <-stopped:
			case <-time.After(patience):
				t.Fatalf("the server still works %v after its client left", patience)
			}
			_, err := stream.Recv()
			wantFault(t, err, llm.FaultCancelled)
		})
	}
}
