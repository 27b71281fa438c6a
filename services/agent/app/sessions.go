package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/auditkeys"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/mcpserver"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/telemetry"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/runner"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessiontool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

const (
	// database is the file of sessions in the data folder.
	database = "sessions.db"
	// pruneEvery is how often it is looked for what is kept no longer.
	pruneEvery = time.Hour
	// followAgain is how long after a failure it is tried again to close approvals about tools that have changed.
	followAgain = 10 * time.Second
)

// sessions is everything that carries sessions on.
type sessions struct {
	store    *sqlite.Store
	ledger   *ledger.Ledger
	keep     time.Duration
	folders  *folders
	servers  *mcpserver.Servers
	engine   *turn.Engine
	runner   *runner.Runner
	writer   *conversation.Writer
	observer *telemetry.Sessions
	service  *sessionservice.Service
}

// openSessions opens the store, the folders and the keys. What was opened is closed again where something cannot be.
func openSessions(cfg Config, deps Deps, contexts *nodecontext.Service, prompts *promptbuilder.Client) (*sessions, error) {
	s := &sessions{folders: &folders{}}
	if err := s.start(cfg, deps, contexts, prompts); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start opens what sessions are kept in and work with, and joins what carries them on.
func (s *sessions) start(cfg Config, deps Deps, contexts *nodecontext.Service, prompts *promptbuilder.Client) error {
	if cfg.Sessions.policies == nil { // settings that nobody loaded
		var p config.Problems
		if cfg.Sessions.Check(&p); p.Err() != nil {
			return p.Err()
		}
	}
	keys, err := s.open(cfg)
	if err != nil {
		return err
	}
	tools := cfg.Sessions.tools
	own := slices.Concat(cfg.Sessions.files(), tools.headerFiles(), deps.Own, deps.Backends.Files(), []string{cfg.Data})
	opened, err := tools.open(own)
	if s.folders = opened; err != nil {
		return err
	}
	if s.servers, err = mcpserver.Open(context.Background(), tools.Servers, own, deps.Log.Named("mcp")); err != nil {
		return err
	}
	if s.observer, err = telemetry.NewSessions(deps.Log, deps.Metrics); err != nil {
		return err
	}
	machine := cfg.Sessions.machine()
	kept := ledger.New(s.store, keys, machine, clock{})
	s.ledger, s.keep = kept, cfg.Sessions.KeepRecords
	flows := flowstore.NewConversations(deps.FlowStore)
	desk := clienttool.New(kept, clock{})
	box := &toolbox.Box{Work: opened.work, Read: opened.read, Programs: opened.programs, Policies: cfg.Sessions.policies, Servers: s.servers, Session: toolbox.Own{
		Desk: desk, Nodes: contexts, Flows: flows, Clock: clock{}, ToolCalls: cfg.Sessions.ToolCalls,
	}}
	s.engine = turn.New(turn.Deps{
		Ledger: kept, Machine: machine, Prompts: promptbuilder.Sessions{Client: prompts, Folders: cfg.Sessions.tools.prompts, Refs: sessiontool.References{Flows: flows, Nodes: contexts}}, Models: deps.Backends, Tools: box, IDs: textIDs{}, Clock: clock{},
		Limits: cfg.Sessions.limits(), Terms: gate.Terms{RequesterMayApprove: cfg.Sessions.RequesterMayApprove, ApproveUnshown: cfg.Sessions.ApproveUnshown},
	})
	s.runner = runner.New(runner.Deps{
		Engine: s.engine, Work: s.store, Clock: clock{}, Owner: uuid.NewString(), Observer: s.observer, Limits: cfg.Sessions.running(), Follow: telemetry.Follow,
	})
	s.writer = conversation.NewWriter(kept, flows, cfg.Generation.Store)
	s.service = sessionservice.New(sessionservice.Deps{
		Ledger: kept, Engine: s.engine, Runner: s.runner, Desk: desk, Flows: s.writer, Roots: box, Models: deps.Backends, Policies: cfg.Sessions.policies, IDs: textIDs{}, Clock: clock{},
	})
	return nil
}

// open opens the data folder.
func (s *sessions) open(cfg Config) (*audit.Keys, error) {
	dir, err := filesys.Open(cfg.Data) // makes it
	if err != nil {
		return nil, err
	}
	if err := dir.Close(); err != nil {
		return nil, err
	}
	var keys *audit.Keys
	if name := cfg.Sessions.AuditKeys; name != "" {
		keys, err = auditkeys.Load(name)
	} else {
		keys, err = auditkeys.LoadOrMake(cfg.Data)
	}
	if err != nil {
		return nil, err
	}
	s.store, err = sqlite.Open(filepath.Join(cfg.Data, database))
	return keys, err
}

// run carries sessions on until ctx ends.
func (s *sessions) run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { s.writer.Run(ctx, clock{}, s.observer) })
	beside.Go(func() { s.prune(ctx) })
	beside.Go(func() { s.follow(ctx) })
	beside.Go(func() { sweeper{engine: s.engine, work: s.folders.work, observer: s.observer}.run(ctx) })
	err := s.runner.Run(ctx)
	beside.Wait()
	return err
}

// follow closes approvals about tools of MCP servers that are no longer what was shown.
func (s *sessions) follow(ctx context.Context) {
	for {
		l, ok := s.servers.Listed(ctx)
		if !ok {
			return
		}
		for {
			err := s.engine.ToolsChanged(ctx, l.Namespace, l.Server, l.Tools)
			if err == nil || ctx.Err() != nil {
				break
			}
			s.observer.Unclosed(err)
			select {
			case <-time.After(followAgain):
			case <-ctx.Done():
			}
		}
	}
}

// prune takes away what is kept no longer, at the start and each hour.
func (s *sessions) prune(ctx context.Context) {
	again := time.NewTicker(pruneEvery)
	defer again.Stop()
	for {
		gone, err := s.ledger.Prune(ctx, s.keep)
		s.observer.Pruned(ctx, gone, err)
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// close closes what was opened. Nothing runs any more.
func (s *sessions) close() error {
	if s.servers != nil {
		s.servers.Close()
	}
	err := s.folders.close()
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// textIDs are ids as texts.
type textIDs struct{}

// ID implements turn.IDs: in the order of time, so that what is new stands together in an index.
func (textIDs) ID() string { return uuid.Must(uuid.NewV7()).String() }
