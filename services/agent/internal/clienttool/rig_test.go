package clienttool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
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

const ns, id = "default", "s1"

var ann = audit.Actor{Name: "ann", Kind: audit.Person}

// clock is the clock of the machine, which a test puts forward.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) add(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
}

// says is a model that says by how often it spoke in the turn what stands there, and keeps what it was asked.
type says struct {
	mu     sync.Mutex
	script []string
	asked  []llm.Request
}

func (m *says) Generator(string) (llm.Generator, error)      { return m, nil }
func (m *says) Tells() llm.Told                              { return llm.Told{Conversations: true, Schema: true} }
func (m *says) Window(context.Context) (llm.Identity, error) { return llm.Identity{Window: 4096}, nil }
func (m *says) Generate(_ context.Context, r llm.Request) (llm.Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	spoke := 0
	for _, one := range r.Messages {
		if one.Role == llm.RoleAssistant {
			spoke++
		}
	}
	return &spoken{m.script[min(spoke, len(m.script)-1)]}, nil
}

// told is the last message that it was sent.
func (m *says) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.asked[len(m.asked)-1].Messages
	return last[len(last)-1].Content
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

type prompts struct{}

func (prompts) Build(context.Context, string, turn.Prompt) (turn.Built, error) {
	return turn.Built{Text: "you are an agent"}, nil
}

type ids struct {
	mu sync.Mutex
	n  int64
}

// ID counts from the nanosecond on at which the process began: another one gives others.
func (i *ids) ID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.n++; i.n == 1 {
		i.n = time.Now().UnixNano()
	}
	return fmt.Sprintf("id%d", i.n)
}

// rig is an engine over a store, a model and a desk; it is the engine's Tools.
type rig struct {
	testing.TB
	*turn.Engine
	desk  *clienttool.Desk
	store *sqlite.Store
	model *says
	clock *clock
	db    string
	rules []policy.Rule
}

var weather = clienttool.Declared{
	Name: "weather", Description: "港の天気", Timeout: time.Minute,
	Input: `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer","default":1}},"required":["place"],"additionalProperties":false}`,
}

// unasked lets the client's tools be called without a person.
var unasked = policy.Rule{ID: "all", Effect: policy.EffectAllow, Tool: "*", Reason: "test"}

func newRig(t testing.TB, db string, rules ...policy.Rule) *rig {
	t.Helper()
	r := &rig{TB: t, db: db, clock: &clock{}, model: &says{}, rules: rules}
	if db == "" {
		r.db = filepath.Join(t.TempDir(), "agent.db")
	}
	r.start()
	if db == "" {
		r.create(weather)
	}
	return r
}

func (r *rig) create(declared ...clienttool.Declared) {
	r.Helper()
	tools, err := clienttool.Definitions(declared)
	r.ok(err)
	_, err = r.Ledger.Create(context.Background(), ns, ledger.Fresh{ID: id, Owner: "ann", Settings: ledger.Settings{Tools: tools}}, ann)
	r.ok(err)
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
	l := ledger.New(s, keys, machine, r.clock)
	r.store, r.desk = s, clienttool.New(l, r.clock)
	r.Engine = turn.New(turn.Deps{
		Ledger: l, Machine: machine, Prompts: prompts{}, Models: r.model, Tools: r, IDs: &ids{}, Clock: r.clock,
		Limits: turn.DefaultLimits(), Terms: gate.DefaultTerms(),
	})
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Await implements turn.Tools: all are there.
func (r *rig) Await(context.Context, string, string) bool { return true }

// Router implements turn.Tools.
func (r *rig) Router(_ context.Context, ns string, s ledger.Session) (router.Router, error) {
	all, err := clienttool.Tools(append(tool.BuiltIns(), s.Tools...))
	if err != nil {
		return router.Router{}, err
	}
	tools, err := tool.NewRegistry(all...)
	if err != nil {
		return router.Router{}, err
	}
	p := policy.Default()
	p.Rules = r.rules
	set, err := policy.NewSet([]policy.Policy{p}, p.Name)
	if err != nil {
		return router.Router{}, err
	}
	engine, err := set.Engine(policy.Choice{Policy: p.Name})
	return router.Router{Tools: tools, Engine: engine, Effects: r.desk.Effects(ns, s.ID)}, err
}

// say is an envelope.
func say(step, next string, more ...any) string {
	all := map[string]any{
		"rationale": "次の一手", "goal_consistency": "yes", "constraint_check": "yes", "step": step, "next_step": next, "prompt_pattern": "base_main",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	text, _ := json.Marshal(all) // plain values
	return string(text)
}

// asks is a model that calls the tool, and then is done.
func asks() []string {
	act := []any{map[string]any{"name": "weather", "args": map[string]any{"place": "港"}}}
	return []string{say("EXECUTION", "continue", "actions", act), say("EXECUTION", "done", "reply", "晴れです。")}
}

// send sends a message.
func (r *rig) send(text string) {
	r.Helper()
	_, err := r.Send(context.Background(), ns, id, turn.Message{
		Sent: session.Sent{ID: r.IDs.ID(), Mode: session.Queue}, Text: text, Who: gate.Who{Name: ann.Name, Namespace: ns, Roles: []string{policy.RoleUser}},
	})
	r.ok(err)
}

// drive drives the session until it rests or waits, and gives until when.
func (r *rig) drive() time.Time {
	r.Helper()
	until, err := r.Drive(context.Background(), ns, id)
	r.ok(err)
	return until
}

// called sends a message and drives the session until a call is open, which ends the drive: its id.
func (r *rig) called() (call string) {
	r.Helper()
	r.model.script = asks()
	r.send("天気は？")
	until := r.drive()
	open := r.open()
	if len(open) != 1 || !open[0].Until.Equal(until) {
		r.Fatalf("%+v until %s, %+v", open, until, r.session().State)
	}
	return open[0].Call
}

func (r *rig) session() ledger.Session {
	r.Helper()
	s, err := r.Ledger.Get(context.Background(), ns, id)
	r.ok(err)
	return s
}

func (r *rig) open() []clienttool.OpenCall {
	r.Helper()
	all, err := r.desk.Open(context.Background(), ns, r.session())
	r.ok(err)
	return all
}

func (r *rig) submit(call, text string) error {
	_, err := r.desk.Submit(context.Background(), ns, id, call, clienttool.Result{Text: text}, ann)
	return err
}

// pending is the approval that waits.
func (r *rig) pending() (a gate.Approval) {
	r.Helper()
	r.ok(r.Ledger.Read(context.Background(), ns, func(v store.View) error {
		found, err := v.Approvals(store.ApprovalFilter{Session: id, State: string(gate.Pending)}, store.Place{}, 1)
		if err == nil && len(found) > 0 {
			a, err = ledger.Approval(found[0])
		}
		return err
	}))
	return a
}

// sound: the rows verify and make the session. It gives how many of each kind there are.
func (r *rig) sound() map[audit.Kind]int {
	r.Helper()
	_, err := r.Ledger.Verify(context.Background(), ns, id)
	r.ok(err)
	_, err = r.Ledger.Replay(context.Background(), ns, id)
	r.ok(err)
	count := map[audit.Kind]int{}
	for row, err := range r.Ledger.Rows(context.Background(), ns, id, 1) {
		r.ok(err)
		count[row.Kind]++
	}
	return count
}
