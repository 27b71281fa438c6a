package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// office is a world in which sessions work in a folder, with a model for which the test thinks.
type office struct {
	*world
	*mind
	// loud is the real model that says what the test thinks; nil where the mind does it.
	loud   *aloud
	folder string
}

// newOffice makes one that is not running. policies is the text of the policy file, more what stands in the tools file beside the folder; both may be
// empty.
func newOffice(t *testing.T, m mode, policies, more string) *office {
	t.Helper()
	o := &office{mind: newMind(t), folder: t.TempDir()}
	address := o.URL
	if m.model != "" {
		o.loud = o.aloud(t, testkit.ModelOf(t, m.model, "sessions"))
		address = o.loud.URL
	}
	o.world = prepare(t, m, address)
	if m.model != "" {
		o.settings.answerTokens = 512
	}
	o.furnished(t, policies, more)
	return o
}

// furnished writes the files of the sessions of a world.
func (o *office) furnished(t *testing.T, policies, more string) {
	t.Helper()
	dir := t.TempDir()
	o.settings.toolsFile = filepath.Join(dir, "tools.yaml")
	files := map[string]string{o.settings.toolsFile: fmt.Sprintf("roots:\n  - {name: work, path: %q}\n%s", o.folder, more)}
	if policies != "" {
		o.settings.policies = filepath.Join(dir, "policies.yaml")
		files[o.settings.policies] = policies
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// surface is a way to the agent.
type surface struct {
	how  string
	conn grpc.ClientConnInterface
	agentv1.AgentServiceClient
}

// approvers are a person who decides, over gRPC and over REST. Their connections end with the services.
func (o *office) approvers(t *testing.T) []surface {
	t.Helper()
	secret, err := token.ReadSecret(filepath.Join(o.settings.agent, token.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	return o.bearers(t, secret)
}

// bearers are whoever has a token, over gRPC and over REST.
func (w *world) bearers(t *testing.T, token string) (all []surface) {
	t.Helper()
	for _, a := range w.as(t, token) {
		conn := a.conns[agentv1.File_tsumugi_agent_v1_agent_proto.Services().Get(0).FullName()]
		all = append(all, surface{a.how, conn, agentv1.NewAgentServiceClient(conn)})
	}
	return all
}

// session makes a session in the folder.
func (o *office) session(t *testing.T, s surface) string {
	t.Helper()
	made, err := s.CreateSession(o.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{Root: "work", Goal: "港の話を書く"}})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetName()
}

func (o *office) get(t *testing.T, s surface, name string) *agentv1.Session {
	t.Helper()
	got, err := s.GetSession(o.ctx, &agentv1.GetSessionRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// account is what a stream about a session has told.
type account struct {
	events   []*agentv1.SessionEvent
	accepted *agentv1.MessageAccepted
	// session is the last one that it told.
	session *agentv1.Session
	// seqs are those of what happened, in their order.
	seqs []int64
}

// take adds an event.
func (h *account) take(e *agentv1.SessionEvent) {
	h.events = append(h.events, e)
	switch {
	case e.GetAccepted() != nil:
		h.accepted = e.GetAccepted()
	case e.GetSession() != nil:
		h.session = e.GetSession()
	case e.GetHeartbeat() == nil && e.GetAside() == nil:
		h.seqs = append(h.seqs, e.GetSeq())
	}
}

// send sends a message, and reads what comes of it to its end.
func (o *office) send(t *testing.T, s surface, q *agentv1.SendMessageRequest) account {
	t.Helper()
	h, err := tell(o.ctx, s, q)
	if err != nil {
		t.Fatalf("over %s: %v", s.how, err)
	}
	return h
}

// tell is send for messages that may be refused.
func tell(ctx context.Context, s agentv1.AgentServiceClient, q *agentv1.SendMessageRequest) (h account, err error) {
	stream, err := s.SendMessage(ctx, q)
	if err != nil {
		return h, err
	}
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h.take(e)
	}
}

// until reads a session until something is true of it, and gives it.
func (o *office) until(t *testing.T, s surface, name, what string, is func(*agentv1.Session) bool) (got *agentv1.Session) {
	t.Helper()
	came := false
	defer func() {
		if !came {
			t.Logf("the session is %v, and the model has been asked %q", got, o.heard())
		}
	}()
	o.eventually(t, what, func() bool {
		got = o.get(t, s, name)
		return is(got)
	})
	came = true
	return got
}

// waits says that a session waits for decisions.
func waits(s *agentv1.Session) bool { return s.GetPendingGate() }

// rests says that nothing of a session is at work.
func rests(s *agentv1.Session) bool { return s.GetTurn() == nil && s.GetQueued() == 0 }

// waiting reads the approvals that a session waits for.
func (o *office) waiting(t *testing.T, s surface, name string) (all []*agentv1.Approval) {
	t.Helper()
	for _, id := range o.until(t, s, name, "the session waits for a decision", waits).GetWaitingOn() {
		a, err := s.GetApproval(o.ctx, &agentv1.GetApprovalRequest{Name: id})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// decide decides as it was shown.
func (o *office) decide(t *testing.T, s surface, a *agentv1.Approval, d agentv1.Decision, reason string) *agentv1.Approval {
	t.Helper()
	got, err := s.DecideApproval(o.ctx, &agentv1.DecideApprovalRequest{Name: a.GetName(), Digest: a.GetDigest(), Decision: d, Reason: reason})
	if err != nil {
		t.Fatalf("over %s: %v", s.how, err)
	}
	return got
}

// file reads a file of the folder; empty where there is none.
func (o *office) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// sound: the rows of a session are as they were made, and make the session.
func (o *office) sound(t *testing.T, s surface, name string) {
	t.Helper()
	v, err := s.VerifyAudit(o.ctx, &agentv1.VerifyAuditRequest{Session: name, Replay: true})
	if err != nil || !v.GetIntact() || !v.GetReplayed() || v.GetRecords() == 0 {
		t.Errorf("over %s: %v, %v", s.how, v, err)
	}
}
