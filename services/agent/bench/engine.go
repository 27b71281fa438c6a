package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"text/template"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/runner"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const ns = "default"

// reply is what the model says at once.
const reply = `{"rationale":"次の一手","goal_consistency":"yes: 目標どおり","constraint_check":"yes: 制約内","step":"PLANNING","next_step":"done",` +
	`"prompt_pattern":"base_main_specialized","reply":"はい。"}`

// ready is a model that answers at once.
type ready struct{}

func (ready) Generator(string) (llm.Generator, error) { return ready{}, nil }
func (ready) Tells() llm.Told                         { return llm.Told{Conversations: true, Schema: true} }
func (ready) Window(context.Context) (llm.Identity, error) {
	return llm.Identity{Window: 8192}, nil
}
func (ready) Generate(context.Context, llm.Request) (llm.Stream, error) { return &said{}, nil }

type said struct{ told bool }

func (s *said) Recv() (string, error) {
	if s.told {
		return "", io.EOF
	}
	s.told = true
	return reply, nil
}
func (*said) Result() llm.Result { return llm.Result{Finish: llm.FinishStop} }
func (*said) Close() error       { return nil }

// page is a prompt of 2 KB, as a main prompt is.
var page = template.Must(template.New("main").Parse(strings.Repeat("You are an agent. ", 100) +
	"\nstep: {{.Session.State.Step}}\ngoal: {{.Session.Items.Goal}}\n{{range .Past}}{{.User}} -> {{.Reply}}\n{{end}}"))

// written makes prompts from it.
type written struct{}

func (written) Build(_ context.Context, _ string, p turn.Prompt) (turn.Built, error) {
	var b strings.Builder
	err := page.Execute(&b, p)
	return turn.Built{Text: b.String()}, err
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

type realIDs struct{}

func (realIDs) ID() string { return uuid.Must(uuid.NewV7()).String() }

// fixed are tools that are the same for all sessions.
type fixed struct{ made router.Router }

// Await implements turn.Tools: all are there.
func (fixed) Await(context.Context, string, string) bool { return true }

func (f fixed) Router(context.Context, string, ledger.Session) (router.Router, error) {
	return f.made, nil
}

// failed keeps the first thing that went wrong.
type failed struct{ err atomic.Value }

func (f *failed) Failed(_, _ string, err error) { f.err.CompareAndSwap(nil, err) }
func (f *failed) Lost(_, id string)             { f.Failed("", "", fmt.Errorf("session %s was lost", id)) }
func (f *failed) Unread(err error)              { f.Failed("", "", err) }

// ours is the engine and its runner over a store.
type ours struct {
	*runner.Runner
	failed failed
	stop   func() error
}

func start(ctx context.Context, s store.Store) (*ours, error) {
	var admitted []*tool.Tool
	for _, d := range tool.BuiltIns() {
		one, err := tool.Admit(d)
		if err != nil {
			return nil, err
		}
		admitted = append(admitted, one)
	}
	tools, errTools := tool.NewRegistry(admitted...)
	set, errSet := policy.NewSet([]policy.Policy{policy.Default()}, policy.Default().Name)
	keys, errKeys := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	if err := errors.Join(errTools, errSet, errKeys); err != nil {
		return nil, err
	}
	rules, err := set.Engine(policy.Choice{Policy: policy.Default().Name})
	if err != nil {
		return nil, err
	}
	machine := session.Machine{Limits: session.DefaultLimits()}
	limits := turn.DefaultLimits()
	limits.Together = time.Minute // The model answers at once; a machine with much to do is not to make two transactions of it.
	e := turn.New(turn.Deps{
		Ledger: ledger.New(s, keys, machine, realClock{}), Machine: machine, Prompts: written{}, Models: ready{},
		Tools: fixed{router.Router{Tools: tools, Engine: rules}}, IDs: realIDs{}, Clock: realClock{}, Limits: limits, Terms: gate.DefaultTerms(),
	})
	o := &ours{}
	o.Runner = runner.New(runner.Deps{
		Engine: e, Work: s, Clock: realClock{}, Owner: uuid.NewString(), Observer: &o.failed, Limits: runner.DefaultLimits(),
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
	o.stop = func() error {
		cancel()
		return errors.Join(<-ended, s.Close())
	}
	return o, nil
}

// create makes sessions.
func (o *ours) create(ctx context.Context, prefix string, n int) ([]string, error) {
	var all []string
	for i := range n {
		id := fmt.Sprintf("%s%03d", prefix, i)
		if _, err := o.Engine.Ledger.Create(ctx, ns, ledger.Fresh{ID: id, Owner: "ann"}, audit.Actor{Name: "ann", Kind: audit.Person}); err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}

// turn has a message answered, which is durable then.
func (o *ours) turn(ctx context.Context, id string) error {
	r, err := o.Send(ctx, ns, id, turn.Message{
		Sent: session.Sent{ID: realIDs{}.ID(), Mode: session.Queue}, Text: "書いて", Who: gate.Who{Name: "ann", Namespace: ns, Roles: []string{policy.RoleUser}},
	})
	if err != nil {
		return err
	}
	if wrong, ok := o.failed.err.Load().(error); ok {
		return wrong
	}
	if status := r.Session.State.Status; status != session.Success {
		return fmt.Errorf("session %s is %s after its turn: the message was stored without its answer", id, status)
	}
	return nil
}
