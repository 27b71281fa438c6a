package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of a link.
const (
	// firstPause is how long a server is left alone after it has failed twice in a row, and twice as long after each time more, up to
	// maxPause.
	firstPause, maxPause = time.Second, time.Minute
	// steady is how long a connection must have held to count as a good one.
	steady = 30 * time.Second
	// idle is how long one that nobody uses is kept.
	idle = 15 * time.Minute
	// listPause is the least time between two lists that a server asks us to get.
	listPause = time.Second
	// maxLive is how many connections there are at once, over all servers and namespaces.
	maxLive = 128
)

// AwayError says that a server cannot be used now. It is tried again at the next use after Until.
type AwayError struct {
	Server string
	Until  time.Time
	Err    error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("the MCP server %s cannot be used now: %v", e.Server, e.Err)
}

// Unwrap gives why.
func (e *AwayError) Unwrap() error { return e.Err }

// link is a server as one namespace uses it: with a session, and a process, of its own, so that nothing of one tenant is in the memory
// of another's (field/review-agent.md S13).
type link struct {
	all *Servers
	cfg Config
	ns  string
	log *zap.Logger
	// one is held by who connects or lists.
	one chan struct{}

	mu   sync.Mutex
	conn *conn // nil while there is none
	last *conn // the one before
	// tools are those that were admitted when they were last listed. listed: they were.
	tools    []*tool.Tool
	listed   bool
	problems []string
	// err is why there is no connection, failures how often in a row it came to nothing, next when it is tried again.
	err      error
	failures int
	next     time.Time
	old      bool
	began    time.Time
	used     time.Time
	busy     int
	// warming is closed when a list in the background has come, or has not; nil where none is under way.
	warming chan struct{}
}

func newLink(all *Servers, c Config, ns string) *link {
	return &link{
		all: all, cfg: c, ns: ns, one: make(chan struct{}, 1),
		log: all.log.With(zap.String("server", c.Name), zap.String("namespace", ns)),
	}
}

// fresh lists the tools anew, over a new connection where there is none. The error is an *AwayError, or that of the context.
func (l *link) fresh(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.all.life, cancel)()
	select {
	case l.one <- struct{}{}:
		defer func() { <-l.one }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, done, err := l.connected(ctx)
	if err != nil || done {
		return err
	}
	err = l.list(ctx, c, listWait)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || c.occupied() { // A program that does a thing at a time tells nothing while it has a call to do.
		return l.away(err)
	}
	l.lost(c, err) // It may have ended just now, or does not answer: another connection may.
	_, _, err = l.connected(ctx)
	return err
}

func (l *link) away(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &AwayError{Server: l.cfg.Name, Until: l.next, Err: err}
}

// connected gives the connection, and makes it where there is none; fresh says that the tools were listed right now.
func (l *link) connected(ctx context.Context) (c *conn, fresh bool, err error) {
	if c := l.current(); c != nil {
		return c, false, nil
	}
	l.mu.Lock()
	wait, why, old := time.Until(l.next), l.err, l.old
	l.mu.Unlock()
	if wait > 0 {
		return nil, false, l.away(fmt.Errorf("it is left alone for %s: %w", wait.Round(time.Millisecond), why))
	}
	starting, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := l.ended(starting); err != nil {
		return nil, false, l.away(err)
	}
	if c, err = l.all.connect(starting, l, old); err == nil {
		if err = l.list(starting, c, startWait); err != nil {
			c.close()
		} else {
			err = l.begin(c)
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			l.failed(err)
		}
		return nil, false, l.away(err)
	}
	return c, true, nil
}

// ended waits until nothing of the connection before is left: a server may not bear to run twice. While calls run in it, which may take as long as they like,
// it does not: who calls this holds one, and each call that waited for that would wait anew.
func (l *link) ended(ctx context.Context) error {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last == nil {
		return nil
	}
	if last.occupied() {
		return errors.New("a call was given up, and it is started anew when the others that run in it have ended")
	}
	select {
	case <-last.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current is the connection, if it can be used.
func (l *link) current() *conn {
	l.mu.Lock()
	if l.conn != nil && l.conn.leaving() && l.conn.alive() {
		l.conn = nil // It ends with the last call that it has.
	}
	c := l.conn
	l.mu.Unlock()
	if c != nil && !c.alive() {
		l.lost(c, errors.New("the connection has ended"))
		return nil
	}
	return c
}

// begin takes a connection into use.
func (l *link) begin(c *conn) error {
	if !l.all.background(func() { l.attend(c) }) {
		c.close()
		return errClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.conn, l.last, l.err, l.began, l.used = c, c, nil, now, now
	l.log.Info("mcp server is used", zap.String("protocol", c.session.InitializeResult().ProtocolVersion), zap.Int("tools", len(l.tools)))
	return nil
}

// failed counts a connection that came to nothing. The other handshake is tried next.
func (l *link) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = !l.old
	l.pause(err)
}

// lost gives a connection up, because of an error.
func (l *link) lost(c *conn, err error) {
	l.mu.Lock()
	if l.conn == c {
		l.conn = nil
		if time.Since(l.began) > steady {
			l.failures = 0
		}
		l.pause(err)
	}
	l.mu.Unlock()
	c.end()
}

// pause puts off the next connection: after the first failure not at all, then longer and longer.
func (l *link) pause(err error) {
	l.err, l.next = err, time.Now()
	if l.failures++; l.failures > 1 {
		l.next = l.next.Add(min(firstPause<<min(l.failures-2, 16), maxPause))
	}
	l.log.Warn("mcp server is away", zap.Error(err), zap.Int("failures", l.failures), zap.Time("tried again from", l.next))
}

// list gets the tools and admits them. Who calls it holds one.
func (l *link) list(ctx context.Context, c *conn, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	list, err := c.list(ctx)
	if err != nil {
		return err
	}
	tools, problems := admit(l.cfg, list)
	if !l.take(tools, problems) {
		l.all.tell(Listing{Namespace: l.ns, Server: l.cfg.id(), Tools: tools})
	}
	return nil
}

// take has the tools be those of the server, and says whether they were before.
func (l *link) take(tools []*tool.Tool, problems []string) (same bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same = l.listed && slices.EqualFunc(l.tools, tools, func(a, b *tool.Tool) bool { return a.Hash == b.Hash })
	if l.listed && !same {
		l.log.Warn("mcp server has changed its tools: calls of those that changed are refused", zap.Strings("tools", changed(l.tools, tools)))
	}
	if !slices.Equal(l.problems, problems) && len(problems) > 0 {
		l.log.Warn("mcp server has tools that are not taken", zap.Strings("problems", problems))
	}
	l.tools, l.problems, l.listed = tools, problems, true
	return same
}

// changed are the names of tools that are no longer what they were.
func changed(before, after []*tool.Tool) (names []string) {
	for _, b := range before {
		if !slices.ContainsFunc(after, func(a *tool.Tool) bool { return a.Hash == b.Hash }) {
			names = append(names, b.Name)
		}
	}
	return names
}

// use gives the connection for a call, which ends with done.
func (l *link) use() (c *conn, done func()) {
	if c = l.current(); c == nil {
		return nil, nil
	}
	count := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy += n
		l.used = time.Now()
	}
	count(1)
	return c, func() { count(-1) }
}

// warm lists the tools in the background, once for all that want it at the same time, and gives what is closed then.
func (l *link) warm() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warming != nil {
		return l.warming
	}
	done := make(chan struct{})
	started := l.all.background(func() {
		_ = l.fresh(l.all.life) // What is wrong is in Ready.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.warming = nil
		close(done)
	})
	if !started {
		close(done)
		return done
	}
	l.warming = done
	return done
}

// open says whether there is a connection.
func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil
}

// find is a tool as it was last listed.
func (l *link) find(name string) *tool.Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.tools, func(t *tool.Tool) bool { return t.Name == name }); i >= 0 {
		return l.tools[i]
	}
	return nil
}

// known are the tools as they were last listed. first: they never were, and could be now; again: there is no connection, and one could be
// made.
func (l *link) known() (tools []*tool.Tool, first, again bool) {
	c := l.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	due := c == nil && time.Now().After(l.next)
	return slices.Clone(l.tools), due && !l.listed, due && l.listed
}

// unheard says that the server has told nothing of its tools yet.
func (l *link) unheard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.listed
}

// state says what is wrong; empty for nothing.
func (l *link) state() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.problems)
	if l.err != nil {
		out = append(out, l.err.Error())
	}
	return out
}
