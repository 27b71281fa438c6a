package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answer is what was seen on the wire of one request. The SDK decodes schemas and results into Go maps, which lose the order of keys and
// the digits of numbers; and it tells an answer of the server from one of its own only by its text. So both are looked for here.
type answer struct {
	mu sync.Mutex
	// sent: the server may have got it. Nothing else than false proves that it has not.
	sent bool
	// id is that of the request over HTTP, as JSON.
	id json.RawMessage
	// got is closed when the server has answered, with one of the two.
	got     chan struct{}
	result  json.RawMessage
	failure *fault
}

// fault is an error that a server has answered with.
type fault struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

func newAnswer() *answer { return &answer{got: make(chan struct{})} }

type answerKey struct{}

func (a *answer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// answerFor is the answer that a request of this context waits for; nil for those of the SDK itself.
func answerFor(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

func (a *answer) send(sent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = sent
}

func (a *answer) wasSent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

// take keeps the first answer.
func (a *answer) take(result json.RawMessage, failure *fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.got:
		return
	default:
	}
	a.result, a.failure = result, failure
	close(a.got)
}

// there says whether the server has answered.
func (a *answer) there() bool {
	select {
	case <-a.got:
		return true
	default:
		return false
	}
}

// kept remembers the connection that a transport makes, so that one whose handshake fails can be closed, and looks at what passes over it
// where that is done here (a connection over HTTP has methods of its own, which a wrapper would hide from the SDK).
type kept struct {
	mcp.Transport
	look bool
	conn mcp.Connection
}

// Connect makes the connection.
func (k *kept) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := k.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if k.conn = c; k.look {
		k.conn = &looked{Connection: c, open: map[jsonrpc.ID]*answer{}}
	}
	return k.conn, nil
}

func (k *kept) close() {
	if k.conn != nil {
		_ = k.conn.Close() // The handshake has failed, and says why.
	}
}

// looked is a connection with a program.
type looked struct {
	mcp.Connection
	mu   sync.Mutex
	open map[jsonrpc.ID]*answer
}

// Write sends a message.
func (l *looked) Write(ctx context.Context, m jsonrpc.Message) error {
	r, call := m.(*jsonrpc.Request)
	a := answerFor(ctx)
	if !call || a == nil || !r.IsCall() {
		return l.Connection.Write(ctx, m)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	l.open[r.ID] = a
	l.mu.Unlock()
	a.send(true)
	err := l.Connection.Write(ctx, m)
	if errors.As(err, new(*unsentError)) {
		a.send(false)
	}
	return err
}

// Read gives the next message.
func (l *looked) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
	r, ok := m.(*jsonrpc.Response)
	if err != nil || !ok {
		return m, err
	}
	l.mu.Lock()
	a := l.open[r.ID]
	delete(l.open, r.ID)
	l.mu.Unlock()
	if a == nil {
		return m, nil
	}
	var e *jsonrpc.Error
	switch {
	case r.Error == nil:
		a.take(r.Result, nil)
	case errors.As(r.Error, &e):
		a.take(nil, &fault{e.Code, e.Message})
	}
	return m, nil
}
