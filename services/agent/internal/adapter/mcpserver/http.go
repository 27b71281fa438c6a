package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of a connection over HTTP.
const (
	dialWait       = 10 * time.Second
	idleConnection = 90 * time.Second
	maxHeaders     = 64 << 10 // bytes of the headers of an answer
	reconnects     = 2        // how often the SDK takes up a broken stream again
)

// overHTTP makes a transport to an address. end closes the connections that are left.
func overHTTP(c Config) (t mcp.Transport, end func(), err error) {
	headers := http.Header{}
	for name, value := range c.Headers {
		headers.Set(name, value)
	}
	for name, file := range c.HeaderFiles {
		value, err := headerFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("the header %s: %w", name, err)
		}
		headers.Set(name, value)
	}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialWait}).DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialWait, IdleConnTimeout: idleConnection, MaxResponseHeaderBytes: maxHeaders,
	}
	client := &http.Client{Transport: &hop{base, headers}, CheckRedirect: stay}
	return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxRetries: reconnects, MaxEventSize: maxMessage}, base.CloseIdleConnections, nil
}

// stay refuses every redirect: what a person has allowed is one address, and headers may hold a secret (field/review-agent.md S19).
func stay(to *http.Request, _ []*http.Request) error {
	to.URL.RawQuery = "" // It may hold what is nobody's business.
	return fmt.Errorf("the server sends us on to %s, where we do not go; if that is right, make it the url", tool.PlainLine(to.URL.Redacted(), tool.MaxTitle))
}

// hop is one request: it adds the headers, bounds what comes back, and looks for the answer in it.
type hop struct {
	base    http.RoundTripper
	headers http.Header
}

// RoundTrip sends a request.
func (h *hop) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, a := r.Context(), answerFor(r.Context())
	if a != nil && r.Method == http.MethodPost && a.isOf(r) {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.send(true) }})
	}
	out := r.Clone(ctx)
	for name, values := range h.headers {
		out.Header[name] = values
	}
	resp, err := h.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // What has no kind is one message.
	stream := kind == "text/event-stream"
	if !stream {
		resp.Body = &bounded{resp.Body, maxMessage}
	}
	switch {
	case a == nil:
	case stream:
		resp.Body = &copied{resp.Body, &events{give: a.see}}
	default:
		resp.Body = &copied{resp.Body, &whole{give: a.see}}
	}
	return resp, nil
}

// isOf says whether a request is the one that the answer is for, and not a word about it, and remembers its id: a broken stream may be
// taken up again by a GET.
func (a *answer) isOf(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.NewDecoder(body).Decode(&m) != nil || m.ID == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id = m.ID
	return true
}

// see takes the answer from a message, if it is one.
func (a *answer) see(message []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *fault          `json:"error"`
	}
	if json.Unmarshal(message, &m) != nil || m.Result == nil && m.Error == nil {
		return
	}
	a.mu.Lock()
	ours := bytes.Equal(a.id, m.ID)
	a.mu.Unlock()
	if ours {
		a.take(m.Result, m.Error)
	}
}

// errTooLong ends an answer.
var errTooLong = errors.New("the answer of the server is too long")

// bounded is a body of at most so many bytes.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// copied is a body of which somebody gets a copy, and hears of its end.
type copied struct {
	io.ReadCloser
	to interface {
		add([]byte)
		end()
	}
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.to.add(p[:n])
	if err == io.EOF {
		c.to.end()
	}
	return n, err
}

// whole is a body that is one message.
type whole struct {
	text []byte
	give func([]byte)
}

func (w *whole) add(p []byte) { w.text = append(w.text, p...) }
func (w *whole) end()         { w.give(w.text) }

// events are the data of a stream of server-sent events, one by one. Of each no more is kept than a message may have.
type events struct {
	line, data []byte
	over       bool
	give       func([]byte)
}

func (e *events) add(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(e.line)+len(line) > maxMessage {
			e.over, line = true, nil
		}
		e.line = append(e.line, line...)
		if ended {
			e.full(strings.TrimSuffix(string(e.line), "\r"))
			e.line = e.line[:0]
		}
		p = rest
	}
}

func (e *events) full(line string) {
	if line == "" {
		e.end()
		return
	}
	text, data := strings.CutPrefix(line, "data:")
	if !data || len(e.data)+len(text) > maxMessage {
		e.over = e.over || data
		return
	}
	e.data = append(append(e.data, strings.TrimPrefix(text, " ")...), '\n')
}

func (e *events) end() {
	if len(e.data) > 0 && !e.over {
		e.give(e.data)
	}
	e.data, e.over = e.data[:0], false
}
