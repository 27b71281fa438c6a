package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// plain takes each event for text and the word `end` for the end.
type plain struct{}

func (*plain) Take(e Event) (string, error) {
	if string(e.Data) == "end" {
		return "", io.EOF
	}
	return string(e.Data), nil
}

func (*plain) End() error         { return nil }
func (*plain) Result() llm.Result { return llm.Result{} }

// busy is a server whose calls say that they have begun and end when they are let go.
func busy(t *testing.T, e Endpoint) (s *Server, begun, let chan struct{}) {
	t.Helper()
	begun, let = make(chan struct{}, 64), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/who" {
			w.Write([]byte("{}"))
			return
		}
		begun <- struct{}{}
		select {
		case <-let:
		case <-r.Context().Done():
			return
		}
		if r.URL.Path == "/count" {
			w.Write([]byte("{}"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte("data: a\n\ndata: end\n\n"))
	}))
	t.Cleanup(server.Close)
	e.Name, e.Address, e.Timeouts = "b", server.URL, llm.DefaultTimeouts()
	s = NewServer(Config{Endpoint: e, Kind: "test"})
	t.Cleanup(func() { _ = s.Close() })
	return s, begun, let
}

// Of answers and of counts only so many are under way at once; the next begins when one has ended.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, s *Server) error{
		"answers": func(ctx context.Context, s *Server) error {
			stream, err := s.Stream(ctx, "/answer", struct{}{}, 1000, &plain{})
			if err != nil {
				return err
			}
			for err == nil {
				_, err = stream.Recv()
			}
			return stream.Close()
		},
		"counts": func(ctx context.Context, s *Server) error {
			return s.Count(ctx, s.CountLimit(), "/count", "", struct{}{}, &struct{}{}, 1000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, begun, let := busy(t, Endpoint{Concurrency: 2})
			ended := make(chan error, 5)
			for range 5 {
				go func() { ended <- call(t.Context(), s) }()
			}
			<-begun
			<-begun
			// Two are under way: whoever comes with no time to wait is told so, and a question who the server is waits for nobody.
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			var e *llm.Error
			if err := call(gone, s); !errors.As(err, &e) || e.Fault != llm.FaultCancelled || !errors.Is(err, context.Canceled) || !strings.Contains(e.Message, "one of 2 calls at once (concurrency)") {
				t.Errorf("a caller that left gets %v", err)
			}
			if err := s.Ask(t.Context(), s.WindowLimit(), "/who", nil, &struct{}{}, 1000); err != nil {
				t.Error(err)
			}
			for i := range 5 {
				if len(begun) > 0 {
					t.Errorf("a third call is under way")
				}
				let <- struct{}{}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if i < 3 {
					<-begun
				}
			}
		})
	}
}

// An answer that is closed, cannot begin, or is refused makes room as one that ends.
func TestEveryEndMakesRoom(t *testing.T) {
	t.Parallel()
	s, begun, let := busy(t, Endpoint{Concurrency: 1})
	for range 3 {
		go func() { <-begun; let <- struct{}{} }()
		stream, err := s.Stream(t.Context(), "/answer", struct{}{}, 1000, &plain{})
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Close()
		_ = stream.Close()
		go func() { <-begun; let <- struct{}{} }()
		if _, err := s.Stream(t.Context(), "/count", struct{}{}, 1000, &plain{}); err == nil {
			t.Error("JSON is taken for a stream")
		}
	}
}

// A server that tells how many answers it makes at once gets no more of them, and more as soon as it tells more; what the
// backends file says is the most.
func TestAnswersAtOnceAreWhatTheServerTells(t *testing.T) {
	t.Parallel()
	s, begun, let := busy(t, Endpoint{Concurrency: 3})
	s.AnswersAtOnce(1)
	ended := make(chan error, 5)
	for range 5 {
		go func() {
			stream, err := s.Stream(t.Context(), "/answer", struct{}{}, 1000, &plain{})
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				err = stream.Close()
			}
			ended <- err
		}()
	}
	<-begun
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.take(gone, s.answering); err == nil || !strings.Contains(err.Error(), "one of 1 calls at once") {
		t.Errorf("a second answer: %v", err)
	}
	s.AnswersAtOnce(8)
	<-begun
	<-begun
	if err := s.take(gone, s.answering); err == nil || !strings.Contains(err.Error(), "one of 3 calls at once") {
		t.Errorf("a fourth answer: %v", err)
	}
	for i := range 5 {
		let <- struct{}{}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if i < 2 {
			<-begun
		}
	}
	s.AnswersAtOnce(0)
	if s.answering.most != 3 || s.answering.busy != 0 || len(s.answering.waiting) != 0 {
		t.Errorf("left: %d busy of %d, %d waiting", s.answering.busy, s.answering.most, len(s.answering.waiting))
	}
}
