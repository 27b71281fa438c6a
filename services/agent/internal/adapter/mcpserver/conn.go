package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of a connection.
const (
	// maxMessage is the length of one message of a server, in bytes. A longer one ends the connection.
	maxMessage = 16 << 20
	// maxPages and maxListed bound a list of tools: its pages, and all its definitions together, in bytes.
	maxPages, maxListed = 64, 8 << 20
	// startWait is how long a server may take to start and to tell its tools, listWait to tell them again.
	startWait, listWait = 30 * time.Second, 10 * time.Second
	// cutWait is how long a call that was stopped may take to say what has become of it. It is shorter than the router's grace.
	cutWait = time.Second
)

// oldProtocol is the last version of MCP that begins with a handshake.
const oldProtocol = "2025-11-25"

// conn is a session with a server, as it runs.
type conn struct {
	session *mcp.ClientSession
	child   *child // nil over HTTP
	// life ends when the connection is given up, and with it all that waits for an answer.
	life context.Context
	end  context.CancelFunc
	// free closes the network connections that are left.
	free func()
	// changed has a token where the server has said that its tools have changed. changes counts how often it did, listed is how often it
	// had when a list began that has come.
	changed         chan struct{}
	changes, listed atomic.Int64
	// over is closed when the session has ended, gone when nothing of it is left.
	over, gone chan struct{}

	mu sync.Mutex
	// open are the calls that are under way. spent: one was given up and may go on in the program, so that no other begins, and the program is killed
	// with the last that ends.
	open  int
	spent bool
}

// connect starts a server, which must not reach what is hidden, or calls it. old begins with the handshake of old versions at once: some servers stop at the question of the
// new ones.
func connect(ctx context.Context, c Config, hidden []string, old bool, log *zap.Logger) (*conn, error) {
	n := &conn{free: func() {}, changed: make(chan struct{}, 1), over: make(chan struct{}), gone: make(chan struct{})}
	k := &kept{}
	var err error
	if c.URL != "" {
		k.Transport, n.free, err = overHTTP(c)
	} else {
		k.look = true
		k.Transport, n.child, err = overProgram(ctx, c, hidden, log)
	}
	if err != nil {
		return nil, err
	}
	var o mcp.ClientSessionOptions
	if old {
		o.ProtocolVersion = oldProtocol
	}
	n.life, n.end = context.WithCancel(context.WithoutCancel(ctx))
	if n.session, err = n.client().Connect(ctx, k, &o); err != nil {
		n.end()
		k.close()
		n.stop()
		n.free()
		return nil, fmt.Errorf("no session begins: %w", plain(err))
	}
	go n.watch()
	return n, nil
}

// client is what the server sees of us: one that has no capabilities and takes no requests (field/review-agent.md S19).
func (n *conn) client() *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "tsumugi-agent", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		// A call that asks for something in between is not carried on: there is nobody to ask.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			n.changes.Add(1)
			select {
			case n.changed <- struct{}{}:
			default:
			}
		},
	})
	c.AddReceivingMiddleware(refuse)
	return c
}

// refuse answers every request of a server, for a sample, for words of the user, for its roots, with a no.
func refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, r)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client takes no requests"}
	}
}

// watch waits for the end of the session.
func (n *conn) watch() {
	_ = n.session.Wait() // Whoever has a call open is told.
	close(n.over)
}

// alive says whether it may be used.
func (n *conn) alive() bool {
	select {
	case <-n.over:
		return false
	case <-n.life.Done():
		return false
	default:
		return true
	}
}

// enter begins a call; false: the connection takes no more.
func (n *conn) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.spent {
		return false
	}
	n.open++
	return true
}

// leave ends a call. The program goes with the last one where a call was given up.
func (n *conn) leave() {
	n.mu.Lock()
	n.open--
	cut := n.spent && n.open == 0
	n.mu.Unlock()
	if cut {
		n.child.cut()
	}
}

// giveUp has the program killed when the last call ends that is under way: another one in it, of whichever session, is not to end with a call that is not
// its own. Until then it may go on with what was given up, of which it was told that it is cancelled.
func (n *conn) giveUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spent = true
}

// leaving says that the connection takes no more calls.
func (n *conn) leaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spent
}

// occupied says that calls are under way in a program, which may do one thing at a time and answer nothing else meanwhile. Over HTTP nothing does: what does
// not answer there is gone, and so are the calls that wait for it.
func (n *conn) occupied() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child != nil && n.open > 0 && n.alive()
}

// close ends the session, and the program. It returns when nothing of it is left, and is called once.
func (n *conn) close() {
	n.end()
	n.stop() // First: the SDK says goodbye, and would wait for a program that does not listen.
	_ = n.session.Close()
	n.free()
	<-n.over
	close(n.gone)
}

// stop ends the program, if there is one.
func (n *conn) stop() {
	if n.child != nil {
		n.child.stop()
	}
}

// ask runs one request of the SDK and gives what the server has answered. The error is one of the connection, or of the time.
func (n *conn) ask(ctx context.Context, a *answer, request func(context.Context) error) error {
	ctx, cancel := context.WithCancel(a.in(ctx))
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	err := request(ctx)
	switch {
	case a.there():
		return nil
	case err == nil:
		return errors.New("its answer cannot be read")
	case n.life.Err() != nil:
		return errors.New("the connection was closed")
	}
	return plain(err)
}

// list gives the definitions of all tools as the server tells them now, each as JSON.
func (n *conn) list(ctx context.Context) ([]json.RawMessage, error) {
	var all []json.RawMessage
	cursor, bytes := "", 0
	changes := n.changes.Load()
	for range maxPages {
		var page struct {
			Tools  []json.RawMessage `json:"tools"`
			Cursor string            `json:"nextCursor"`
		}
		a := newAnswer()
		err := n.ask(ctx, a, func(ctx context.Context) error {
			r, err := n.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if err == nil {
				r.TTLMs = 0 // The SDK would give the same list again, as long as the server likes (S18).
			}
			return err
		})
		switch {
		case err != nil:
			return nil, fmt.Errorf("it does not tell its tools: %w", err)
		case a.failure != nil:
			return nil, fmt.Errorf("it does not tell its tools: %s", sentence(a.failure))
		}
		if err := json.Unmarshal(a.result, &page); err != nil {
			return nil, fmt.Errorf("its list of tools cannot be read: %w", plain(err))
		}
		all, bytes = append(all, page.Tools...), bytes+len(a.result)
		if bytes > maxListed || len(all) > tool.MaxTools {
			return nil, fmt.Errorf("its list of tools is too long: at most %d tools and %d bytes are read", tool.MaxTools, maxListed)
		}
		if cursor = page.Cursor; cursor == "" {
			n.listed.Store(changes)
			return all, nil
		}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// stale says that the tools have changed since they were listed.
func (n *conn) stale() bool { return n.changes.Load() != n.listed.Load() }

// call calls a tool. An error means that nobody knows what has happened, but a *router.NotStartedError.
func (n *conn) call(ctx context.Context, name string, args []byte, limit int) (router.Output, error) {
	if !n.enter() {
		return router.Output{}, notStarted(errors.New("the server is started anew, since a call was given up"))
	}
	defer n.leave()
	a := newAnswer()
	err := n.ask(ctx, a, func(ctx context.Context) error {
		_, err := n.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		return err
	})
	if err != nil && !a.wasSent() {
		return router.Output{}, &router.NotStartedError{Err: err}
	}
	if err != nil && !n.late(ctx, a) {
		return router.Output{}, fmt.Errorf("the server was asked and has not answered: %w", err)
	}
	return a.output(limit)
}

// output is an answer that has come: an error of the server is its word that it has failed.
func (a *answer) output(limit int) (router.Output, error) {
	if a.failure != nil {
		return router.Output{Text: []byte("The server answered with an error: " + sentence(a.failure)), Failed: true}, nil
	}
	return output(a.result, limit)
}

// late waits a little for the answer of a program to a call that was stopped: what has become of it is worth knowing. One that does not
// give it is killed, so that it does not go on unseen (S26), as soon as nothing else runs in it. Over HTTP nobody listens any more.
func (n *conn) late(ctx context.Context, a *answer) bool {
	if ctx.Err() == nil || n.child == nil {
		return false
	}
	t := time.NewTimer(cutWait)
	defer t.Stop()
	select {
	case <-a.got:
		return true
	case <-n.over:
	case <-t.C:
	}
	n.giveUp()
	return false
}

// sentence is a fault as a person or a model reads it.
func sentence(e *fault) string {
	return fmt.Sprintf("%s (code %d)", tool.PlainLine(e.Message, tool.MaxReason), e.Code)
}

// plain is an error whose text may hold words of a server: bounded, and visible.
func plain(err error) error { return &plainError{err} }

type plainError struct{ err error }

func (e *plainError) Error() string { return tool.PlainLine(e.err.Error(), tool.MaxReason) }
func (e *plainError) Unwrap() error { return e.err }
