package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const ns, id = "default", "s1"

var ann = audit.Actor{Name: "ann", Kind: audit.Person}

// says is a model that says what it is told to, and keeps what it was asked.
type says struct {
	mu    sync.Mutex
	lines []string
	// script is what it says by how often it spoke in the turn, if it is not nil: the same again where an answer was lost.
	script []string
	// until is closed when it may answer; nil: at once.
	until chan struct{}
	asked []llm.Request
}

func (m *says) Generator(string) (llm.Generator, error)      { return m, nil }
func (m *says) Tells() llm.Told                              { return llm.Told{Conversations: true, Schema: true} }
func (m *says) Window(context.Context) (llm.Identity, error) { return llm.Identity{Window: 4096}, nil }
func (m *says) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until != nil {
		select {
		case <-m.until:
		case <-ctx.Done():
		}
	}
	m.asked = append(m.asked, r)
	if err := r.CheckFor(m.Tells()); err != nil && len(r.Sampling.Stop) == 0 {
		return nil, &llm.Error{Fault: llm.FaultRefused, Message: err.Error()}
	}
	if m.script != nil {
		spoke := 0
		for _, one := range r.Messages {
			if one.Role == llm.RoleAssistant {
				spoke++
			}
		}
		return &spoken{m.script[min(spoke, len(m.script)-1)]}, nil
	}
	if len(m.lines) == 0 {
		return nil, &llm.Error{Fault: llm.FaultUnreachable, Message: "nothing more to say"}
	}
	line := m.lines[0]
	m.lines = m.lines[1:]
	return &spoken{line}, nil
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

// prompts keeps what prompts were made of.
type prompts struct {
	mu    sync.Mutex
	built []Prompt
	// answer is what is built; without a text a plain one.
	answer Built
}

func (p *prompts) Build(_ context.Context, _ string, q Prompt) (Built, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.built = append(p.built, q)
	if p.answer.Text != "" {
		return p.answer, nil
	}
	return Built{Text: "you are an agent"}, nil
}

type ids struct {
	mu sync.Mutex
	n  int
}

func (i *ids) ID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return fmt.Sprintf("id%04d", i.n)
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// rig is an engine over a store, a work folder and a model.
type rig struct {
	testing.TB
	*Engine
	model   *says
	prompts *prompts
	clock   *clock
	dir, db string
	store   *sqlite.Store
	rules   []policy.Rule
	// faulty stands before the store, if it is not nil.
	faulty *faulty
	// homeless: the work folder is not there. described is the description of the tool create, where it has another one.
	homeless bool
	// missing is what the configuration has no more, if it is not nil: with it goes the policy, and where the rig is homeless the work folder.
	missing   error
	described string
	// together takes the place of Limits.Together, if it is not 0.
	together time.Duration
	// lock is how long a call waits for the folder; 0: as long as it does.
	lock time.Duration
	// beginning is told of a call that is about to be judged for its INTENT, if it is not nil: once.
	beginning func(s ledger.Session, call string)
	// reading is called by whoever has read a session and looks for its tools next, if it is not nil: once.
	reading func()
	// book is an MCP server, if it is not nil.
	book *book
	// asks are the policy's ask_plan and ask_result.
	asks [2]bool
}

// faulty is a store of which one write fails: before it is done, or after, when nobody knows.
type faulty struct {
	store.Store
	mu    sync.Mutex
	at, n int
	after bool
}

var errFault = errors.New("the process was killed")

func (f *faulty) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	f.mu.Lock()
	f.n++
	now := f.n == f.at
	f.mu.Unlock()
	if now && !f.after {
		return errFault
	}
	err := f.Store.Update(ctx, ns, fn)
	if now && err == nil {
		return errFault
	}
	return err
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{TB: t, model: &says{}, prompts: &prompts{}, clock: &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}, dir: t.TempDir()}
	r.db = filepath.Join(t.TempDir(), "agent.db")
	r.start()
	if _, err := r.Ledger.Create(t.Context(), ns, ledger.Fresh{ID: id, Owner: "ann", Settings: ledger.Settings{Root: "work", Locale: "ja"}}, ann); err != nil {
		t.Fatal(err)
	}
	return r
}

// start is a process over what an earlier one left.
func (r *rig) start() {
	r.Helper()
	s, err := sqlite.Open(r.db)
	r.ok(err)
	r.Cleanup(func() { _ = s.Close() })
	keys, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	r.ok(err)
	machine := session.Machine{Limits: session.DefaultLimits()}
	r.store = s
	counter := &ids{}
	if r.Engine != nil {
		counter = r.IDs.(*ids)
	}
	kept := store.Store(s)
	if r.faulty != nil {
		r.faulty.Store, kept = s, r.faulty
	}
	r.Engine = New(Deps{
		Ledger: ledger.New(kept, keys, machine, r.clock), Machine: machine, Prompts: r.prompts, Models: r.model, Tools: r, IDs: counter, Clock: r.clock,
		Limits: DefaultLimits(), Terms: gate.DefaultTerms(),
	})
	if r.together > 0 {
		r.Limits.Together = r.together
	}
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// builtIns are the tools of all rigs: admitting them takes longer than a turn.
var builtIns = sync.OnceValues(func() (*tool.Registry, error) { return toolsWith("") })

// tools are those of the rig.
func (r *rig) tools() (*tool.Registry, error) {
	if r.described == "" {
		return builtIns()
	}
	return toolsWith(r.described)
}

// toolsWith are those that are built in; create has a description of its own where one is given.
func toolsWith(description string) (*tool.Registry, error) {
	var all []*tool.Tool
	for _, d := range tool.BuiltIns() {
		if d.Name == tool.Create && description != "" {
			d.Description = description
		}
		admitted, err := tool.Admit(d)
		if err != nil {
			return nil, err
		}
		all = append(all, admitted)
	}
	return tool.NewRegistry(all...)
}

// Await implements Tools: all are there, but for the server.
func (r *rig) Await(_ context.Context, _, server string) bool {
	return r.book == nil || r.book.await(server)
}

// Router implements Tools.
func (r *rig) Router(_ context.Context, _ string, s ledger.Session) (router.Router, error) {
	if do := r.beginning; do != nil {
		if todo := r.Machine.Next(s.State, r.clock.now); todo.Duty == session.BeginCall {
			r.beginning = nil
			do(s, todo.Call)
		}
	}
	if do := r.reading; do != nil {
		r.reading = nil
		do()
	}
	root, err := workfolder.Open(workfolder.Config{Name: "work", Path: r.dir}, nil)
	if err != nil {
		return router.Router{}, err
	}
	r.Cleanup(func() { _ = root.Close() })
	tools, err := r.tools()
	if err != nil {
		return router.Router{}, err
	}
	p := policy.Default()
	p.Rules, p.AskPlan, p.AskResult = append(p.Rules, r.rules...), r.asks[0], r.asks[1]
	set, err := policy.NewSet([]policy.Policy{p}, p.Name)
	if err != nil {
		return router.Router{}, err
	}
	engine, err := set.Engine(policy.Choice{Policy: p.Name})
	if r.missing != nil {
		engine, err = nil, r.missing
	}
	if r.homeless {
		return router.Router{Tools: tools, Engine: engine}, err
	}
	all := router.Router{Tools: tools, Engine: engine, Mounts: folder.Mounts{Work: root}, Lock: r.lock}
	if r.book != nil && err == nil {
		return r.book.in(all)
	}
	return all, err
}

// say is an envelope.
func say(step, next string, more ...any) string {
	all := map[string]any{
		"rationale": "次の一手", "goal_consistency": "yes: 目標どおり", "constraint_check": "yes: 制約内", "step": step, "next_step": next, "prompt_pattern": "base_main_specialized",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	text, _ := json.Marshal(all) // plain values
	return string(text)
}

func call(name string, args ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		all[args[i].(string)] = args[i+1]
	}
	return map[string]any{"name": name, "args": all}
}

// send sends a message and lets the engine work until it rests.
func (r *rig) send(text string, lines ...string) ledger.Session {
	r.Helper()
	r.model.lines = append(r.model.lines, lines...)
	_, err := r.Send(r.Context(), ns, id, r.message(approver("ann"), text))
	r.ok(err)
	return r.drive()
}

func (r *rig) message(who gate.Who, text string) Message {
	return Message{Sent: session.Sent{ID: r.IDs.ID(), Mode: session.Queue}, Text: text, Who: who}
}

func (r *rig) drive() ledger.Session {
	r.Helper()
	_, err := r.Drive(r.Context(), ns, id)
	r.ok(err)
	s, err := r.Ledger.Get(r.Context(), ns, id)
	r.ok(err)
	return s
}

// pending are the approvals that wait.
func (r *rig) pending() (all []gate.Approval) {
	r.Helper()
	r.ok(r.Ledger.Read(r.Context(), ns, func(v store.View) error {
		found, err := v.Approvals(store.ApprovalFilter{Session: id, State: string(gate.Pending)}, store.Place{}, 100)
		for _, f := range found {
			var a gate.Approval
			if err := json.Unmarshal(f.Body, &a); err != nil {
				return err
			}
			all = append([]gate.Approval{a}, all...)
		}
		return err
	}))
	return all
}

func (r *rig) decide(a gate.Approval, d session.Decision, reason string) error {
	who := gate.Who{Name: "bob", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
	_, err := r.Decide(r.Context(), ns, a.ID, gate.Request{Who: who, Decision: d, Digest: a.Digest, Reason: reason})
	return err
}

func (r *rig) file(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// sound: the rows verify, make the session and vouch for its texts and approvals, and no approval says anything else than it.
func (r *rig) sound() {
	r.Helper()
	_, err := r.Ledger.Verify(r.Context(), ns, id)
	r.ok(err)
	r.ok(r.Ledger.Contents(r.Context(), ns, id))
	_, err = r.Ledger.Replay(r.Context(), ns, id)
	r.ok(err)
	r.ok(r.Ledger.Agree(r.Context(), ns, id))
}

func writeFile(r *rig, name, text string) error {
	return os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644) //nolint:gosec // a test's own folder
}

func mkdir(r *rig, name string) error { return os.Mkdir(filepath.Join(r.dir, name), 0o755) } //nolint:gosec // a test's own folder
