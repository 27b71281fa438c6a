package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// readBody reads the body whole, within its limits of size and time. Only when it was read to its end does net/http
// notice that a client went away.
func (s *surface) readBody(w http.ResponseWriter, r *http.Request, route routes.Route) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > s.MaxBodyBytes {
		return nil, s.tooLarge(w, r)
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(s.BodyTimeout)) // not supported by the recorders of tests
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBodyBytes))
	_ = connection.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, s.tooLarge(w, r)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, apierr.New(codes.DeadlineExceeded, problem.BodyTimeout,
			fmt.Sprintf("the body did not arrive within %s", s.BodyTimeout), "limit", s.BodyTimeout.String())
	case err != nil:
		return nil, apierr.New(codes.Canceled, problem.Cancelled, "the body ended before its end")
	case route.Body == "" && len(raw) > 0:
		return nil, apierr.New(codes.InvalidArgument, problem.InvalidJSON,
			fmt.Sprintf("a %s request has no body here; its fields stand in the path and the query", r.Method))
	}
	return raw, nil
}

// What is still read of a body that is too large. A client that sends all of it before it looks for an answer would
// otherwise find its connection reset, and no answer. One that asked whether to send it has sent nothing.
const (
	restBytes = 64 << 20
	restTime  = 5 * time.Second
)

func (s *surface) tooLarge(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Connection", "close")
	if r.Header.Get("Expect") == "" {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // not supported by the recorders of tests
		_, _ = io.CopyN(io.Discard, r.Body, restBytes)                              // the answer is the same, whatever comes
	}
	return apierr.New(codes.ResourceExhausted, problem.BodyTooLarge,
		fmt.Sprintf("the body is larger than %d bytes, the gateway's setting `max_body`", s.MaxBodyBytes),
		"limit_bytes", strconv.FormatInt(s.MaxBodyBytes, 10))
}
