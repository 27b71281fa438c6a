// Package mcpserver makes the tools of MCP servers tools of the agent: programs that it starts and speaks to over their input and output,
// and addresses over streamable HTTP.
//
// Nothing of a server is believed but what it is called by. Which of its tools may be used stands in the settings; their definitions are
// pinned by their hash (field/review-agent.md S18), listed again when the server says that they have changed, at each new connection and
// before each INTENT, and a call of one that has changed does not start. That a server does something else behind the same definition
// cannot be seen. What it asks of us is refused, what it links to is never fetched (S19); its programs get no environment but what is
// named, cannot reach what is the agent's own (S11), and end with the agent, with all that they have started (S26). Whatever was sent and not
// answered may have happened (C50).
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

const (
	// MaxTools is how many tools of all servers together a session may have: what is left of tool.MaxTools is for those built in and of
	// the client. A server whose tools do not fit is left out as a whole.
	MaxTools = 384
	// firstWait is how long Wait waits.
	firstWait = 10 * time.Second
)

var (
	errClosed = errors.New("the agent is stopping")
	errFull   = errors.New("there are too many connections with MCP servers")
)

// Servers are the MCP servers of the settings. Its methods may be called at the same time.
type Servers struct {
	cfg []Config
	// hidden is what no program of theirs may reach, by absolute paths.
	hidden []string
	log    *zap.Logger
	// life ends with Close.
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	links  map[string]*link // by namespace and server
	work   sync.WaitGroup
	closed bool
	// lists are those that nobody has taken, told says that there are some.
	lists map[string]Listing
	told  chan struct{}
}

// Open takes the settings, which Settings.Check has found right, and calls the servers in the background: one that is away is in Ready,
// and is tried again when somebody wants it. own are files and folders of this program, which a server that is started may not reach, also
// where they come to be later (field/review-agent.md S11). The context gives values alone; Close ends everything.
func Open(ctx context.Context, servers []Config, own []string, log *zap.Logger) (*Servers, error) {
	var p config.Problems
	Settings{servers}.Check(&p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	s := &Servers{cfg: slices.Clone(servers), log: cmp.Or(log, zap.NewNop()), links: map[string]*link{}, lists: map[string]Listing{}, told: make(chan struct{}, 1)}
	for _, name := range own {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("where %s is cannot be told: %w", name, err)
		}
		s.hidden = append(s.hidden, path)
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, c := range s.cfg {
		if c.Unconfined {
			s.log.Warn("mcp server runs in no sandbox: "+whatUnconfined, zap.String("server", c.Name))
		}
		s.link(c, home(c)).warm()
	}
	return s, nil
}

// Wait waits until a server of a namespace has told its tools once, or could not, for 10 s at most; where server is empty it does so for every
// server: what a session asks before it pins its tools. Of those that are away it waits for none that has told them before. told is false where
// such a server has told nothing yet, and true of one that is not among the settings.
func (s *Servers) Wait(ctx context.Context, ns, server string) (told bool) {
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	asked := slices.DeleteFunc(s.of(ns), func(l *link) bool { return server != "" && l.cfg.Name != server })
	var first []<-chan struct{}
	for _, l := range asked {
		if _, never, _ := l.known(); never {
			first = append(first, l.warm())
		}
	}
	for _, come := range first {
		select {
		case <-come:
		case <-ctx.Done():
		}
	}
	return !slices.ContainsFunc(asked, (*link).unheard)
}

// Tools are the tools of a namespace as they are admitted now, in a stable order: those of a server that is away are the last that were
// known. It waits for nobody; servers without a connection are called in the background. A session keeps to those that it began with by
// tool.Pins.
func (s *Servers) Tools(ns string) []*tool.Tool {
	var all []*tool.Tool
	for _, l := range s.of(ns) {
		tools, never, again := l.known()
		if never || again {
			l.warm()
		}
		if len(all)+len(tools) > MaxTools {
			l.log.Warn("mcp server is left out: with its tools there would be too many", zap.Int("tools", len(tools)), zap.Int("most", MaxTools))
			continue
		}
		all = append(all, tools...)
	}
	return all
}

// Listing is what a server has told a namespace of its tools.
type Listing struct {
	// Server is tool.Origin.ServerID of its tools.
	Namespace, Server string
	Tools             []*tool.Tool
}

// Listed waits for the next list that is another one than the server gave before, or the first since the start: what waits for a person and
// is about a tool that is not in it is to be closed (field/review-agent.md S18). false: the context has ended. Of a server that tells several
// times before anybody asks, the last is given. It is for one caller.
func (s *Servers) Listed(ctx context.Context) (Listing, bool) {
	for {
		s.mu.Lock()
		for key, l := range s.lists {
			delete(s.lists, key)
			s.mu.Unlock()
			return l, true
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return Listing{}, false
		case <-s.told:
		}
	}
}

// tell keeps a list for Listed.
func (s *Servers) tell(l Listing) {
	s.mu.Lock()
	s.lists[l.Namespace+" "+l.Server] = l
	s.mu.Unlock()
	select {
	case s.told <- struct{}{}:
	default:
	}
}

// Effect carries out a tool for a namespace; nil where it is no tool of a server that the namespace may use.
func (s *Servers) Effect(ns string, d tool.Definition) router.Effect {
	if d.Origin.Kind != tool.MCP {
		return nil
	}
	for _, c := range s.cfg {
		if c.Name == d.Origin.Server && c.id() == d.Origin.ServerID && c.serves(ns) {
			return &effect{link: s.link(c, ns), tool: d}
		}
	}
	return nil
}

// Ready says of each server how it is. None is fatal: a call of one that is away waits.
func (s *Servers) Ready() []obs.Check {
	checks, links := make([]obs.Check, len(s.cfg)), s.all()
	for i, c := range s.cfg {
		var wrong []string
		for _, l := range links {
			if l.cfg.Name == c.Name {
				wrong = append(wrong, l.state()...)
			}
		}
		slices.Sort(wrong)
		checks[i] = obs.Check{Name: "mcp server " + c.Name, OK: len(wrong) == 0, Message: strings.Join(slices.Compact(wrong), "; ")}
	}
	return checks
}

// Close ends all connections and programs, and returns when they have ended. A call that is under way ends as unknown.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}

// of are the links of a namespace, in the order of the settings.
func (s *Servers) of(ns string) []*link {
	var out []*link
	for _, c := range s.cfg {
		if c.serves(ns) {
			out = append(out, s.link(c, ns))
		}
	}
	return out
}

// all are the links that there are.
func (s *Servers) all() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.links))
}

func (s *Servers) link(c Config, ns string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ns + " " + c.Name
	l := s.links[key]
	if l == nil {
		l = newLink(s, c, ns)
		s.links[key] = l
	}
	return l
}

// background runs something that Close waits for; false where it is too late.
func (s *Servers) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// connect makes a connection, unless there are too many.
func (s *Servers) connect(ctx context.Context, l *link, old bool) (*conn, error) {
	live := 0
	for _, other := range s.all() {
		if other.open() {
			live++
		}
	}
	if live >= maxLive {
		return nil, errFull
	}
	return connect(ctx, l.cfg, s.hidden, old, l.log)
}

// home is a namespace that a server is called for at the start.
func home(c Config) string {
	if len(c.Namespaces) > 0 {
		return c.Namespaces[0]
	}
	return namespace.Default
}
