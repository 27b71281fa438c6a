package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const ns = "default"

var ann = audit.Actor{Name: "ann", Kind: audit.Person}

// realClock is package time.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

type realIDs struct{}

func (realIDs) ID() string { return uuid.Must(uuid.NewV7()).String() }

// scripted is a model that answers as a function says.
type scripted func(ctx context.Context, r llm.Request) (string, error)

func (s scripted) Generator(string) (llm.Generator, error) { return s, nil }
func (s scripted) Tells() llm.Told                         { return llm.Told{Conversations: true, Schema: true} }
func (s scripted) Window(context.Context) (llm.Identity, error) {
	return llm.Identity{Window: 4096}, nil
}
func (s scripted) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	text, err := s(ctx, r)
	return &spoken{text}, err
}

type spoken struct{ rest string }

func (s *spoken) Recv() (string, error) {
	if s.rest == "" {
		return "", io.EOF
	}
	piece := s.rest
	s.rest = ""
	return piece, nil
}
func (*spoken) Result() llm.Result { return llm.Result{Finish: llm.FinishStop} }
func (*spoken) Close() error       { return nil }

// answers gives the n-th answer of a turn.
func answers(lines ...string) scripted {
	return func(_ context.Context, r llm.Request) (string, error) {
		spoke := 0
		for _, m := range r.Messages {
			if m.Role == llm.RoleAssistant {
				spoke++
			}
		}
		return lines[min(spoke, len(lines)-1)], nil
	}
}

// say is an envelope.
func say(step, next string, more ...any) string {
	all := map[string]any{
		"rationale": "次の一手", "goal_consistency": "yes: 目標どおり", "constraint_check": "yes: 制約内", "step": step, "next_step": next,
		"prompt_pattern": "base_main_specialized",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	text, _ := json.Marshal(all) // plain values
	return string(text)
}

var done = say("PLANNING", "done", "reply", "はい。")

// prompts says nothing but keeps what it was asked for, or panics.
type prompts struct {
	mu    sync.Mutex
	built []turn.Prompt
	panic func(p turn.Prompt) bool
}

func (p *prompts) Build(_ context.Context, _ string, q turn.Prompt) (turn.Built, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panic != nil && p.panic(q) {
		panic("no prompt")
	}
	p.built = append(p.built, q)
	return turn.Built{Text: "you are an agent"}, nil
}

// heard is an observer.
type heard struct {
	mu     sync.Mutex
	failed []error
	lost   int
}

func (h *heard) Failed(_, _ string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, err)
}

func (h *heard) Lost(string, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost++
}

func (h *heard) Unread(err error) { h.Failed("", "", err) }

func (h *heard) told() (failed []error, lost int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]error{}, h.failed...), h.lost
}

// counted counts the transactions that wrote something, and calls after behind each.
type counted struct {
	store.Store
	mu    sync.Mutex
	n     int
	after func(n int)
	// alone is held while something is written, where nil is not: a process that stops itself then leaves no transaction open.
	alone *sync.Mutex
}

func (c *counted) Update(ctx context.Context, namespace string, fn func(store.Tx) error) error {
	if c.alone != nil {
		c.alone.Lock()
		defer c.alone.Unlock()
	}
	err := c.Store.Update(ctx, namespace, fn)
	c.mu.Lock()
	c.n++
	n, after := c.n, c.after
	c.mu.Unlock()
	if after != nil {
		after(n)
	}
	return err
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// process is a runner as one process has it.
type process struct {
	*Runner
	store   *counted
	prompts *prompts
	heard   *heard
	desk    *clienttool.Desk
	// kept and root are the files.
	kept *sqlite.Store
	root *workfolder.Root
}

// build makes a process over a database and a work folder.
func build(db, dir string, m scripted, l Limits) (*process, error) {
	kept, err := sqlite.Open(db)
	if err != nil {
		return nil, err
	}
	root, err := workfolder.Open(workfolder.Config{Name: "work", Path: dir}, nil)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	keys, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	if err != nil {
		return nil, err
	}
	p := &process{store: &counted{Store: kept}, prompts: &prompts{}, heard: &heard{}, kept: kept, root: root}
	machine := session.Machine{Limits: session.DefaultLimits()}
	records := ledger.New(p.store, keys, machine, realClock{})
	p.desk = clienttool.New(records, realClock{})
	calls, err := newTools(root, p.desk)
	if err != nil {
		return nil, err
	}
	e := turn.New(turn.Deps{
		Ledger: records, Machine: machine, Prompts: p.prompts, Models: m, Tools: calls, IDs: realIDs{},
		Clock: realClock{}, Limits: turn.DefaultLimits(), Terms: gate.DefaultTerms(),
	})
	p.Runner = New(Deps{Engine: e, Work: p.store, Clock: realClock{}, Owner: uuid.NewString(), Observer: p.heard, Limits: l})
	return p, nil
}

func (p *process) close() error { return errors.Join(p.root.Close(), p.kept.Close()) }

// tools are those of the product over a work folder, and those that a session's caller has declared.
type tools struct {
	made router.Router
	own  []*tool.Tool
	desk *clienttool.Desk
}

func (tools) Await(context.Context, string, string) bool { return true }

func (t tools) Router(_ context.Context, ns string, s ledger.Session) (router.Router, error) {
	if len(s.Tools) == 0 {
		return t.made, nil
	}
	all, err := clienttool.Tools(s.Tools)
	if err != nil {
		return router.Router{}, err
	}
	r := t.made
	r.Effects = t.desk.Effects(ns, s.ID)
	r.Tools, err = tool.NewRegistry(append(all, t.own...)...)
	return r, err
}

func newTools(root *workfolder.Root, desk *clienttool.Desk) (tools, error) {
	var all []*tool.Tool
	for _, d := range tool.BuiltIns() {
		admitted, err := tool.Admit(d)
		if err != nil {
			return tools{}, err
		}
		all = append(all, admitted)
	}
	registry, err := tool.NewRegistry(all...)
	if err != nil {
		return tools{}, err
	}
	p := policy.Default()
	p.Rules = append(p.Rules, policy.Rule{ID: "sky", Effect: policy.EffectAllow, Tool: weather.Name, Reason: "test"})
	set, err := policy.NewSet([]policy.Policy{p}, p.Name)
	if err != nil {
		return tools{}, err
	}
	engine, err := set.Engine(policy.Choice{Policy: p.Name})
	return tools{made: router.Router{
		Tools: registry, Engine: engine, Mounts: folder.Mounts{Work: root}, Lock: 50 * time.Millisecond, Proof: 200 * time.Millisecond,
	}, own: all, desk: desk}, err
}

// quick are limits of tests. Where a lease is to end, the test has one of its own: a machine with much to do renews late.
func quick() Limits {
	return Limits{Sessions: 8, Lease: 10 * time.Second, Sweep: 20 * time.Millisecond, Grace: 50 * time.Millisecond}
}

// rig is a process within a test.
type rig struct {
	testing.TB
	*process
	db, dir string
}

func newRig(t testing.TB, m scripted) *rig {
	t.Helper()
	r := &rig{TB: t, db: filepath.Join(t.TempDir(), "agent.db"), dir: t.TempDir()}
	r.process = r.another(m)
	return r
}

// another makes one more process over the same store.
func (r *rig) another(m scripted) *process {
	r.Helper()
	p, err := build(r.db, r.dir, m, quick())
	r.ok(err)
	r.Cleanup(func() { _ = p.close() })
	return p
}

// start runs a process until the test ends, or stop is called.
func (r *rig) start(p *process) (stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				r.Error(err)
			}
		})
	}
	r.Cleanup(stop)
	for p.running() == nil {
		time.Sleep(time.Millisecond)
	}
	return stop
}

func (r *Runner) running() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ctx
}

// atWork is how many sessions are driven.
func (r *Runner) atWork() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.driven)
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) create(id string) {
	r.Helper()
	_, err := r.Engine.Ledger.Create(r.Context(), ns, ledger.Fresh{ID: id, Owner: "ann", Settings: ledger.Settings{Root: "work"}}, ann)
	r.ok(err)
}

func text(text string) turn.Message {
	return turn.Message{Sent: session.Sent{ID: realIDs{}.ID(), Mode: session.Queue}, Text: text, Who: gate.Who{Name: ann.Name, Namespace: ns, Roles: []string{policy.RoleUser}}}
}

// Send gives the session as it is with a message.
func (p *process) Send(ctx context.Context, ns, id string, m turn.Message) (ledger.Session, error) {
	got, err := p.Runner.Send(ctx, ns, id, m)
	return got.Session, err
}

// queue stores a message as another process does.
func (r *rig) queue(id string) {
	r.Helper()
	m := text("書いて")
	_, err := r.Engine.Send(r.Context(), ns, id, m)
	r.ok(err)
}

func (r *rig) get(id string) ledger.Session {
	r.Helper()
	s, err := r.Engine.Ledger.Get(r.Context(), ns, id)
	r.ok(err)
	return s
}

func (r *rig) lease(id string) (l store.Lease) {
	r.Helper()
	r.ok(r.kept.Read(r.Context(), ns, func(v store.View) (err error) {
		l, err = v.Lease(id)
		return err
	}))
	return l
}

// until waits for something; the test's own time limit ends it.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			failed, lost := r.heard.told()
			r.Fatalf("never: %s; failed %v, lost %d", what, failed, lost)
		}
	}
}

// rests waits until nothing is to be done in a session and nobody has it.
func (r *rig) rests(id string) ledger.Session {
	r.Helper()
	r.until(id+" rests", func() bool {
		s := r.get(id)
		return s.State.Turn.Running != session.Working && s.State.Turn.Running != session.Stopping && len(s.State.Queue) == 0 && r.lease(id).Owner == ""
	})
	return r.get(id)
}

// sound: the rows verify, make the session and vouch for its texts and approvals.
func (r *rig) sound(id string) {
	r.Helper()
	_, err := r.Engine.Ledger.Verify(r.Context(), ns, id)
	r.ok(err)
	r.ok(r.Engine.Ledger.Contents(r.Context(), ns, id))
	_, err = r.Engine.Ledger.Replay(r.Context(), ns, id)
	r.ok(err)
}

// rows counts those of a session by kind and verdict.
func (r *rig) rows(id string) map[string]int {
	r.Helper()
	all := map[string]int{}
	for row, err := range r.Engine.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		all[fmt.Sprint(row.Kind, " ", row.Verdict)]++
	}
	return all
}
