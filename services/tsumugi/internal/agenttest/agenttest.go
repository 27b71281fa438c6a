// Package agenttest is a running Tsumugi for tests of the commands that talk to sessions: every service in one process, a model that reads its
// answers from a script, and a work folder.
package agenttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// Work is the name of the work folder.
const Work = "work"

// script is a model that writes notes.txt under its approval, and calls sky where the task is about the sky. By its messages it waits, or asks.
const script = `
window: 32768
characters_per_token: 4
replies:
  - contains: "please ask"
    text: '{"rationale": "r", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "pending_user", "step": "PLANNING", "reply": "One thing first.", "question": "Which file?"}'
  - contains: "please wait"
    wait: 30s
    text: '{"rationale": "r", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "done", "step": "PLANNING", "reply": "I waited."}'
  - matches: '(?s)about the sky.*raindrops'
    text: '{"rationale": "r", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "done", "step": "EXECUTION", "reply": "It rains."}'
  - matches: '(?s)Current step: EXECUTION.*about the sky'
    text: '{"rationale": "I look.", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "continue", "step": "EXECUTION", "reply": "A moment.", "actions": [{"name": "sky", "args": {"place": "神戸"}}]}'
  - contains: "Current step: REVIEW"
    text: '{"rationale": "r", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "done", "step": "REVIEW", "reply": "Done.", "review_verdict": "approve"}'
  - matches: '(?s)Current step: EXECUTION.*EXECUTED'
    text: '{"rationale": "r", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "continue", "step": "REVIEW", "reply": "It is written."}'
  - contains: "Current step: EXECUTION"
    text: '{"rationale": "It was asked for.", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "continue", "step": "EXECUTION", "reply": "Here it is.", "actions": [{"name": "write", "args": {"path": "notes.txt", "content": "make build\n"}}]}'
  - contains: "Current step: PLANNING"
    text: '{"rationale": "One file.", "goal_consistency": "yes: g", "constraint_check": "yes: c", "next_step": "continue", "step": "EXECUTION", "reply": "I will write notes.txt."}'
  - text: 'Nearly done.'
`

// Desk is a running Tsumugi and what a person has beside it.
type Desk struct {
	*testing.T
	// Addr is the address of gRPC, Approver the secret of approvers.
	Addr, Approver string
	// Dir has the work folder, Work, and data/agent; tests may put files of theirs there.
	Dir string
	// Agent is asked without the secret.
	Agent agentv1.AgentServiceClient
}

// Start starts one over empty folders, which ends with the test.
func Start(t *testing.T) *Desk {
	t.Helper()
	d := &Desk{T: t, Dir: t.TempDir()}
	if err := os.Mkdir(d.Path(Work), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := allinone.DefaultConfig()
	if err := config.LoadProgram(&cfg, allinone.Sections, []string{
		"--listen.grpc", "127.0.0.1:0", "--listen.http", "127.0.0.1:0", "--listen.admin", "127.0.0.1:0", "--stop.delay", "0s",
		"--agent.data", d.Path("data/agent"), "--flowstore.data", d.Path("data/flows"),
		"--backends", d.File("backends.yaml", "backends: {m: {kind: scripted, script: '"+d.File("script.yaml", script)+"'}}"),
		"--agent.sessions.tools", d.File("tools.yaml", "roots: [{name: "+Work+", path: '"+d.Path(Work)+"'}]"),
	}, nil); err != nil {
		t.Fatal(err)
	}
	p, err := allinone.Open(t.Context(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, lifecycle.Options{Signals: make(chan os.Signal)}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the services ended with %v", err)
		}
	})
	conn, err := grpcclient.Dial(p.GRPC(), grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if d.Approver, err = token.ReadSecret(d.Path("data/agent/" + token.SecretName)); err != nil {
		t.Fatal(err)
	}
	d.Addr, d.Agent = p.GRPC(), agentv1.NewAgentServiceClient(conn)
	return d
}

// Path is a path in Dir.
func (d *Desk) Path(name string) string { return filepath.Join(d.Dir, filepath.FromSlash(name)) }

// File makes a file in Dir, and gives its path.
func (d *Desk) File(name, text string) string {
	d.Helper()
	if err := os.WriteFile(d.Path(name), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return d.Path(name)
}

// Session makes a session that works in the work folder, in English.
func (d *Desk) Session(goal string) string {
	d.Helper()
	s, err := d.Agent.CreateSession(d.Context(), &agentv1.CreateSessionRequest{Session: &agentv1.Session{Goal: goal, Root: Work, Locale: "en"}})
	if err != nil {
		d.Fatal(err)
	}
	return s.GetName()
}

// Asked has a session work until it asks for an approval, and gives the name of that.
func (d *Desk) Asked(session string) string {
	d.Helper()
	stream, err := d.Agent.SendMessage(d.Context(), &agentv1.SendMessageRequest{Session: session, Text: "Write it."})
	if err != nil {
		d.Fatal(err)
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			d.Fatalf("no approval was asked for: %v", err)
		}
		if waits := e.GetSession().GetWaitingOn(); len(waits) == 1 {
			return waits[0]
		}
	}
}

// Rests waits until nothing of a session runs, and gives it.
func (d *Desk) Rests(session string) *agentv1.Session {
	d.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := d.Agent.GetSession(d.Context(), &agentv1.GetSessionRequest{Name: session})
		if err != nil {
			d.Fatal(err)
		}
		if s.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_IN_PROGRESS {
			return s
		}
	}
	d.Fatal("the session still works after a minute")
	return nil
}

// Alter changes the store of sessions as another program does.
func (d *Desk) Alter(sql string) {
	d.Helper()
	other, err := durable.Open(d.Path("data/agent/sessions.db"), func(*durable.DB) error { return nil })
	if err != nil {
		d.Fatal(err)
	}
	if err := errors.Join(other.Transaction(func() error { return other.Exec(sql) }), other.Close()); err != nil {
		d.Fatal(err)
	}
}
