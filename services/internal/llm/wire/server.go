// Package wire is what the kinds of model servers share: requests over HTTP with limits on time and size, refusals as
// typed errors, streams of server-sent events, and text that is never cut inside a character. What the words of a server
// mean is the business of its own package.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxErrorBytes is how much of a refusal is read.
	maxErrorBytes = 64 << 10
	// MaxDescription bounds what a server says of itself, in bytes: a chat template or a list of models takes tens of KiB.
	MaxDescription = 4 << 20
)

// ErrTooLarge says that an answer is longer than anything a server of its kind says.
var ErrTooLarge = errors.New("the answer is too long")

// Config is one model server, and what its kind is.
type Config struct {
	Endpoint
	// Kind is what the program at the address is called, for sentences such as `this may be no llama.cpp server`.
	Kind string
	// KeyName is what this kind of server calls the key, and KeyHeader the header that carries it; empty: Authorization,
	// as bearer token.
	KeyName, KeyHeader string
	// Idle is how long an unused connection is kept: shorter than the server keeps it, so that no request meets a
	// connection that is just being closed.
	Idle time.Duration
	// Lines: answers come as lines of JSON (application/x-ndjson), not as server-sent events.
	Lines bool
	// OneCount: the server must not be asked for two counts at once.
	OneCount bool
	// Words reads the body of a refusal. What it leaves empty is told by the status. nil: every refusal is.
	Words func(body []byte) Words
}

// Server sends requests to one model server. Safe for concurrent use.
type Server struct {
	Config
	// http keeps connections; once opens one for each request. A kept one may be closed by the server just when it is used
	// again: then a question is asked again, but a prompt must neither be sent twice nor fail for that.
	http, once *http.Client
	// told is the window that the server told last, 0 where it told none.
	told atomic.Int64
	// answering and counting are the calls under way.
	answering, counting *slots
}

// maxIdleConnections are kept open.
const maxIdleConnections = 2

// NewServer makes a Server. It connects when it is first asked something. Prompts go to the address of the config, through
// its proxy where it has one, and nowhere else: neither redirects nor the proxies of the environment are followed.
func NewServer(config Config) *Server {
	dialer := &net.Dialer{Timeout: config.Timeouts.Connect}
	transport := &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: config.Timeouts.Connect,
		TLSClientConfig:     &tls.Config{RootCAs: config.CA, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: maxIdleConnections,
		IdleConnTimeout:     config.Idle,
	}
	if config.Proxy != nil {
		transport.Proxy = http.ProxyURL(config.Proxy)
	}
	single := transport.Clone()
	single.DisableKeepAlives = true
	at := cmp.Or(config.Concurrency, DefaultConcurrency)
	s := &Server{Config: config, answering: &slots{most: at}, counting: &slots{most: at}, http: straight(transport), once: straight(single)}
	if config.OneCount {
		s.counting = &slots{most: 1}
	}
	s.told.Store(unasked)
	return s
}

// straight is a client that follows no redirects.
func straight(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Close closes the connections that are not in use. The server can still be asked.
func (s *Server) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// Ask sends body as JSON (nil: GET) within the time limit l, and reads the JSON answer, of at most most bytes, into answer.
// It is for what may be asked twice: where a kept connection breaks, it is.
func (s *Server) Ask(ctx context.Context, l Limit, path string, body, answer any, most int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.after, l)
	defer cancel()
	response, failed := s.send(ctx, s.http, path, body)
	if failed != nil {
		return failed
	}
	defer response.Body.Close()
	data, err := readAll(response.Body, most)
	switch {
	case errors.Is(err, ErrTooLarge):
		return s.Fault(llm.FaultProtocol, err, "the answer to %s is longer than %d bytes", path, most)
	case err != nil:
		return s.broken(ctx, err, llm.FaultUnreachable)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return s.Fault(llm.FaultProtocol, err, "the answer to %s is not the JSON of a %s server", path, s.Kind)
	}
	return nil
}

// Count is Ask for a count of text, which stands in body. Only so many are under way at once; the time limit runs from when
// it is asked.
func (s *Server) Count(ctx context.Context, l Limit, path, text string, body, answer any, most int64) error {
	if err := s.take(ctx, s.counting); err != nil {
		return err
	}
	defer s.counting.give()
	if ctx.Err() == nil { // else nothing is sent
		llm.Counted(ctx, text)
	}
	return s.Ask(ctx, l, path, body, answer, most)
}

// send makes a request and gives the answer if its status is 200. The caller closes its body.
func (s *Server) send(ctx context.Context, client *http.Client, path string, body any) (*http.Response, error) {
	request, err := s.request(ctx, path, body)
	if err != nil {
		return nil, s.Fault(llm.FaultRefused, err, "the request cannot be written down: %v", err)
	}
	if client == s.http && body != nil {
		// What allows net/http to send it again, as a GET; an empty key is not sent.
		request.Header["Idempotency-Key"] = []string{}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, discreet(s.broken(ctx, err, llm.FaultUnreachable), body)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil {
		return nil, s.broken(ctx, err, llm.FaultUnreachable)
	}
	return nil, s.refusal(response, data, body)
}

func (s *Server) request(ctx context.Context, path string, body any) (*http.Request, error) {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		var buffer bytes.Buffer
		encoder := json.NewEncoder(&buffer)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(body); err != nil {
			return nil, err
		}
		method, content = http.MethodPost, &buffer
	}
	request, err := http.NewRequestWithContext(ctx, method, s.Address+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case s.APIKey == "":
	case s.KeyHeader != "":
		request.Header.Set(s.KeyHeader, s.APIKey)
	default:
		request.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	return request, nil
}

// refusal is the error of an answer that is not 200, to a request with the body sent.
func (s *Server) refusal(response *http.Response, body []byte, sent any) *llm.Error {
	var w Words
	if s.Words != nil {
		w = s.Words(body)
	}
	if w.Message == "" {
		w.Message = "status " + response.Status
	}
	w.Status = response.StatusCode
	w.RetryAfter = max(w.RetryAfter, retryAfter(response.Header.Get("Retry-After"), time.Now()))
	return discreet(s.Told(w, llm.FaultProtocol), sent)
}

// retryAfter reads the header of that name: seconds, or a date (RFC 9110, 10.2.3); 0 for anything else.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(date.Sub(now), 0)
}

// readAll reads to the end, or fails with ErrTooLarge.
func readAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = ErrTooLarge
	}
	return data, err
}

// Limit is a time limit of ours, by its key in the backends file. It is the cause of a context that ran into it.
type Limit struct {
	key   string
	after time.Duration
}

// Error names the limit.
func (l Limit) Error() string {
	return fmt.Sprintf("no answer within %v (timeouts.%s)", l.after, l.key)
}

// WindowLimit is the time limit for saying who the server is.
func (s *Server) WindowLimit() Limit { return Limit{"window", s.Timeouts.Window} }

// CountLimit is the time limit for counting one text.
func (s *Server) CountLimit() Limit { return Limit{"count", s.Timeouts.Count} }
