package wire

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxMessage is how much of a server's own words is passed on, in bytes, and maxSentence how much is said around them.
	maxMessage, maxSentence = 300, 100
	// maxWords is how much of them is looked at.
	maxWords = 4 << 10
)

// Words are what a server says of itself when it refuses or fails.
type Words struct {
	// Status is the HTTP status, or the number in an error inside a stream.
	Status  int
	Message string
	// Fault is what the words tell where the status does not: llm.FaultTooLong, llm.FaultLoading (only with 503) or
	// llm.FaultRefused. Empty: nothing.
	Fault llm.Fault
	// Key says that it does not accept the key, whatever the status.
	Key bool
	// Tokens and Window are what it says of a prompt that is too long.
	Tokens, Window int
	// RetryAfter is when it asks to be tried again; 0 where it does not.
	RetryAfter time.Duration
}

// maxRetryAfter is the longest wait that is passed on.
const maxRetryAfter = time.Hour

// Fault makes an error of this backend. It never wraps io.EOF, which is the good end of a stream.
func (s *Server) Fault(fault llm.Fault, cause error, format string, args ...any) *llm.Error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	return &llm.Error{
		Fault: fault, Backend: s.Name, Address: s.Address,
		Message: fmt.Sprintf(format, args...), Err: cause,
	}
}

// Ended is the error of a caller whose context ended; nil while it has not.
func (s *Server) Ended(ctx context.Context) error {
	if ended := llm.Ended(ctx); ended != nil {
		return s.Fault(ended.Fault, ended.Err, "%s", ended.Message)
	}
	return nil
}

// Sendable refuses a text that would arrive as another one.
func (s *Server) Sendable(text string) error {
	if !utf8.ValidString(text) {
		return s.Fault(llm.FaultRefused, llm.ErrNotUTF8, "%v", llm.ErrNotUTF8)
	}
	return nil
}

// broken says why there is no (more) answer. Whose time limit or will it was shows in ctx, the context of the call.
func (s *Server) broken(ctx context.Context, cause error, otherwise llm.Fault) *llm.Error {
	var own Limit
	if errors.As(context.Cause(ctx), &own) {
		return s.Fault(llm.FaultTimeout, own, "%v", own)
	}
	if ended := llm.Ended(ctx); ended != nil {
		return s.Fault(ended.Fault, ended.Err, "%s", ended.Message)
	}
	var request *url.Error
	if errors.As(cause, &request) {
		cause = request.Err // without the address, which the error tells already
	}
	var opened *net.OpError
	var stranger x509.UnknownAuthorityError
	switch {
	case errors.As(cause, &opened) && opened.Op == "proxyconnect":
		return s.Fault(otherwise, cause, "the proxy %s cannot be reached: %v", s.Proxy.Redacted(), opened.Err)
	case errors.As(cause, &stranger):
		return s.Fault(otherwise, cause, "the server's certificate is not to be trusted: %v; name the authority that signed it in `ca`", stranger)
	case errors.Is(cause, syscall.ECONNREFUSED):
		return s.Fault(otherwise, cause, "nobody answers there; start the model server or correct the address")
	case errors.Is(cause, io.EOF):
		return s.Fault(otherwise, cause, "the connection was closed without an answer")
	case otherwise == llm.FaultCut:
		return s.Fault(otherwise, cause, "the answer broke off: %v", cause)
	}
	return s.Fault(otherwise, cause, "the model server cannot be reached: %v", cause)
}

// Told translates what the server says of itself; otherwise is the fault of a server that failed without a known reason.
func (s *Server) Told(w Words, otherwise llm.Fault) *llm.Error {
	e := s.translate(w, otherwise)
	e.RetryAfter = min(w.RetryAfter, maxRetryAfter)
	return e
}

func (s *Server) translate(w Words, otherwise llm.Fault) *llm.Error {
	words := w.Message
	if s.APIKey != "" {
		words = strings.ReplaceAll(words, s.APIKey, "…")
	}
	words = clip(words, maxWords) // discreet shortens them, after it has looked for quotes
	switch {
	case w.Fault == llm.FaultTooLong:
		e := s.Fault(llm.FaultTooLong, nil, "the prompt does not fit the window: %s", words)
		e.Tokens, e.Window = w.Tokens, max(s.smaller(w.Window)-s.Margin, 0)
		return e
	case w.Key, w.Status == http.StatusUnauthorized, w.Status == http.StatusForbidden:
		return s.Fault(llm.FaultRefused, nil, "the server wants another %s (%s): %s", s.KeyName, cmp.Or(s.KeySetting, "api_key_env or api_key_file"), words)
	case w.Status == http.StatusServiceUnavailable && w.Fault == llm.FaultLoading:
		return s.Fault(llm.FaultLoading, nil, "the server is loading its model; try again in a moment")
	case w.Fault == llm.FaultRefused:
		return s.Fault(llm.FaultRefused, nil, "the server refuses the request: %s", words)
	case w.Status == http.StatusServiceUnavailable, w.Status == http.StatusTooManyRequests:
		return s.Fault(llm.FaultBusy, nil, "the server has too much to do: %s", words)
	case w.Status == http.StatusBadGateway, w.Status == http.StatusGatewayTimeout:
		return s.Fault(llm.FaultUnreachable, nil, "the proxy there does not reach the model server: %s", words)
	case w.Status == http.StatusNotFound, w.Status == http.StatusMethodNotAllowed, w.Status == http.StatusNotImplemented:
		return s.Fault(llm.FaultProtocol, nil, "an endpoint is missing, so this may be no %s server: %s", s.Kind, words)
	case w.Status >= 300 && w.Status < 400:
		return s.Fault(llm.FaultProtocol, nil, "the address leads elsewhere (%s); name the server itself", words)
	case w.Status >= 400 && w.Status < 500:
		return s.Fault(llm.FaultRefused, nil, "the server refuses the request: %s", words)
	}
	return s.Fault(otherwise, nil, "the server failed: %s", words)
}

// Clip shortens a server's words to one line of at most 300 bytes.
func Clip(words string) string { return clip(words, maxMessage) }

func clip(words string, most int) string {
	words = strings.Join(strings.Fields(strings.ToValidUTF8(words, "?")), " ")
	if len(words) <= most {
		return words
	}
	end := most
	for !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end] + "…"
}
