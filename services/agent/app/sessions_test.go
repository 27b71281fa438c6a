package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// plays is the script of a model: it writes a file, or asks the tool sky of its caller, and is done when that was done or denied.
const plays = `
window: 32768
replies:
  - {contains: 'ゆっくり', wait: 1h, text: 'いつか'}
  - {contains: '"status":"EXECUTED"', text: '{"rationale":"済んだ","goal_consistency":"yes","constraint_check":"yes","step":"REVIEW","next_step":"continue","prompt_pattern":"base_main"}', times: 1}
  - {contains: '"status":"EXECUTED"', text: '{"rationale":"済んだ","goal_consistency":"yes","constraint_check":"yes","step":"REVIEW","next_step":"done","prompt_pattern":"base_main","reply":"書きました。"}'}
  - {contains: 'denied this call', text: '{"rationale":"だめ","goal_consistency":"yes","constraint_check":"yes","step":"PLANNING","next_step":"pending_user","prompt_pattern":"base_main","reply":"わかりました。","question":"どうしますか。"}', times: 1}
  - {contains: '技は', text: '{"rationale":"読む","goal_consistency":"yes","constraint_check":"yes","step":"EXECUTION","next_step":"continue","prompt_pattern":"base_main","actions":[{"name":"read","args":{"path":"/skills/SKILL.md"}}]}'}
  - {contains: '空は', text: '{"rationale":"見る","goal_consistency":"yes","constraint_check":"yes","step":"EXECUTION","next_step":"continue","prompt_pattern":"base_main","actions":[{"name":"sky","args":{}}]}'}
  - {text: '{"rationale":"書く","goal_consistency":"yes","constraint_check":"yes","step":"EXECUTION","next_step":"continue","prompt_pattern":"base_main_specialized","actions":[{"name":"write","args":{"path":"a.md","content":"夜明け\n"}}]}'}
`

// talks is a promptbuilder that makes prompts of sessions.
type talks struct {
	promptbuilder
	mu sync.Mutex
	// traces are those in which prompts were asked for.
	traces []string
}

func (p *talks) BuildAgent(ctx context.Context, _ *promptbuilderv1.BuildAgentRequest) (*promptbuilderv1.BuildAgentResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traces = append(p.traces, strings.Join(metadata.ValueFromIncomingContext(ctx, "traceparent"), " "))
	return &promptbuilderv1.BuildAgentResponse{System: &promptbuilderv1.BuildSystemResponse{Text: "you are an agent"}}, nil
}

func (*talks) CountTokens(_ context.Context, q *promptbuilderv1.CountTokensRequest) (*promptbuilderv1.CountTokensResponse, error) {
	return &promptbuilderv1.CountTokensResponse{Tokens: make([]int32, len(q.Texts))}, nil
}

// desk is an agent that carries sessions on in a folder.
type desk struct {
	*testing.T
	agent agentv1.AgentServiceClient
	// dir is the work folder, data that of the agent.
	dir, data string
	flows     *diary
	prompts   *talks
}

// diary is a flowstore that takes nodes, if it is not away.
type diary struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	mu    sync.Mutex
	err   error
	flows map[string]int
}

func (f *diary) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// nodes are those of a flow.
func (f *diary) nodes(flow string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flows[flow]
}

func (f *diary) CreateFlow(_ context.Context, q *flowstorev1.CreateFlowRequest) (*flowstorev1.Flow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := "flows/" + q.FlowId
	f.flows[name] = 0
	return &flowstorev1.Flow{Name: name}, f.err
}

func (f *diary) AddNode(_ context.Context, q *flowstorev1.AddNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.flows[q.Flow]; !ok && f.err == nil {
		return nil, notFound("FLOW_NOT_FOUND", "flow", q.Flow)
	}
	if f.err == nil {
		f.flows[q.Flow]++
	}
	return &flowstorev1.AddNodeResponse{}, f.err
}

// newDesk starts one over a work folder that has these empty files.
func newDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	return newDeskWith(t, func(*app.Config) {}, files...)
}

// newDeskWith starts one with other settings.
func newDeskWith(t *testing.T, change func(*app.Config), files ...string) *desk {
	t.Helper()
	dir, data := t.TempDir(), t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	skills := t.TempDir()
	if err := os.WriteFile(filepath.Join(skills, "SKILL.md"), []byte("港\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := backends.Parse([]byte("default: play\nbackends:\n  play: {kind: scripted, script: '" + write("script.yaml", plays) + "'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := settings(t)
	change(&cfg)
	cfg.Sessions.Tools = write("tools.yaml", "roots:\n  - {name: work, path: '"+dir+"'}\nread_roots:\n  - {name: skills, path: '"+skills+"', mount: /skills}\n")
	if err := config.Load(&cfg, config.Source{}); err != nil {
		t.Fatal(err)
	}
	deps := app.Deps{Backends: set, Metrics: prometheus.NewRegistry()}
	prompts := &talks{}
	_, deps.PromptBuilder = testkit.ServeWith(t, serverOptions(), func(s grpc.ServiceRegistrar) {
		promptbuilderv1.RegisterPromptBuilderServiceServer(s, prompts)
	})
	flows := &diary{flows: map[string]int{}}
	_, deps.FlowStore = testkit.ServeWith(t, serverOptions(), func(s grpc.ServiceRegistrar) { flowstorev1.RegisterFlowStoreServiceServer(s, flows) })
	a, err := app.New(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, a.Close(context.Background()), set.Close()); err != nil {
			t.Error(err)
		}
	})
	_, conn := testkit.ServeWith(t, serverOptions(), a.Register)
	return &desk{t, agentv1.NewAgentServiceClient(conn), dir, cfg.Data, flows, prompts}
}

// as is a context of somebody's calls.
func (d *desk) as(name, ns string, roles ...token.Role) context.Context {
	return auth.With(d.Context(), auth.Caller{Name: name, Namespace: ns, Roles: roles})
}

func (d *desk) ann() context.Context { return d.as("ann", namespace.Default, token.User) }
func (d *desk) bob() context.Context {
	return d.as("bob", namespace.Default, token.User, token.Approver)
}

func (d *desk) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) create(s *agentv1.Session) *agentv1.Session {
	d.Helper()
	got, err := d.agent.CreateSession(d.ann(), &agentv1.CreateSessionRequest{Session: s})
	d.ok(err)
	return got
}

// all reads a stream to its end.
func (d *desk) all(s grpc.ServerStreamingClient[agentv1.SessionEvent], err error) (events []*agentv1.SessionEvent) {
	d.Helper()
	d.ok(err)
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return events
		}
		d.ok(err)
		events = append(events, e)
	}
}

func (d *desk) send(session, text string) []*agentv1.SessionEvent {
	d.Helper()
	return d.all(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: session, Text: text}))
}

// waits is the approval that waits, with what it shows.
func (d *desk) waits() *agentv1.Approval {
	d.Helper()
	list, err := d.agent.ListApprovals(d.bob(), &agentv1.ListApprovalsRequest{})
	d.ok(err)
	if len(list.Approvals) != 1 {
		d.Fatalf("%d approvals wait", len(list.Approvals))
	}
	a, err := d.agent.GetApproval(d.bob(), &agentv1.GetApprovalRequest{Name: list.Approvals[0].Name})
	d.ok(err)
	return a
}

func (d *desk) refused(err error, code codes.Code, reason string) {
	d.Helper()
	e, _ := apierr.FromStatus(err)
	if e == nil || e.Code != code || e.Reason != reason {
		d.Errorf("error %v, want %s %s", err, code, reason)
	}
}

// until waits until a session is as it should be.
func (d *desk) until(name string, is func(*agentv1.Session) bool) *agentv1.Session {
	d.Helper()
	for range 2000 {
		s, err := d.agent.GetSession(d.ann(), &agentv1.GetSessionRequest{Name: name})
		d.ok(err)
		if is(s) {
			return s
		}
		time.Sleep(5 * time.Millisecond) // The state is what is waited for.
	}
	d.Fatal("it never is")
	return nil
}

// TestATask: a task from its first message to its end, over the calls that a person makes: what is asked for is shown and denied, asked for
// again, changed, approved and done; every event is told once, whenever somebody begins to watch; and the audit verifies.
func TestATask(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.create(&agentv1.Session{Goal: "港の話を直す", Root: "work"})
	if s.Step != agentv1.Step_STEP_PLANNING || s.Locale != "ja" || s.Owner != "ann" || s.Seq != 1 {
		t.Errorf("%v", s)
	}
	events := d.send(s.Name, "直して")
	last := events[len(events)-1].GetSession()
	if events[0].GetAccepted().GetMessage() == "" || last.GetStep() != agentv1.Step_STEP_AWAITING_APPROVAL || !last.PendingGate {
		t.Fatalf("%v", events)
	}
	a := d.waits()
	if last.WaitingOn[0] != a.Name || a.Kind != agentv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL || !strings.Contains(a.Content.Text, "+夜明け") || a.Words == "" || len(a.Offers) == 0 {
		t.Errorf("%v", a)
	}
	decide := func(ctx context.Context, q *agentv1.DecideApprovalRequest) (*agentv1.Approval, error) {
		q.Name = a.Name
		return d.agent.DecideApproval(ctx, q)
	}
	_, err := decide(d.ann(), &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_APPROVE, Digest: a.Digest})
	d.refused(err, codes.PermissionDenied, "PERMISSION_DENIED")
	_, err = decide(d.bob(), &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_APPROVE, Digest: strings.Repeat("0", 64)})
	d.refused(err, codes.Aborted, "DIGEST_MISMATCH")
	denied, err := decide(d.bob(), &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_DENY, Digest: a.Digest, Reason: "題が先"})
	d.ok(err)
	if denied.State != agentv1.ApprovalState_APPROVAL_STATE_DENIED || denied.Decision.DecidedBy != "bob" {
		t.Errorf("%v", denied)
	}
	asked := d.until(s.Name, func(s *agentv1.Session) bool { return s.Question != nil })
	if asked.Question.Text != "どうしますか。" || asked.StopReason != "PENDING_USER" {
		t.Errorf("%v", asked)
	}
	_, err = first2(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: s.Name, Text: "題をつけて", Question: "another"}))
	d.refused(err, codes.FailedPrecondition, "QUESTION_CLOSED")
	_, err = first2(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{
		Session: s.Name, Text: "題をつけて", Question: asked.Question.Id, Mode: agentv1.MessageMode_MESSAGE_MODE_SIDE,
	}))
	d.refused(err, codes.InvalidArgument, "INVALID_FIELD")
	answer := &agentv1.SendMessageRequest{Session: s.Name, Text: "題をつけて", Question: asked.Question.Id, RequestId: uuid.NewString()}
	d.all(d.agent.SendMessage(d.ann(), answer))
	if again := d.all(d.agent.SendMessage(d.ann(), answer)); !again[0].GetAccepted().GetReplayed() { // though its question is closed
		t.Errorf("%v", again[0])
	}
	a = d.waits()
	edit := &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_EDIT, Digest: a.Digest, Arguments: `{"path":"a.md","content":"港\n夜明け\n"}`}
	edited, err := decide(d.bob(), edit)
	d.ok(err)
	if again, err := decide(d.bob(), edit); err != nil || again.Name != edited.Name || edited.EditedFrom != a.Name || edited.Editors[0] != "bob" {
		t.Errorf("%v, %v", again, err)
	}
	_, err = decide(d.bob(), &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_APPROVE, Digest: a.Digest})
	d.refused(err, codes.FailedPrecondition, "APPROVAL_CLOSED")
	a = edited
	longer, err := d.agent.ExtendApproval(d.bob(), &agentv1.ExtendApprovalRequest{Name: a.Name, ExpireTime: timestamppb.New(a.ExpireTime.AsTime().Add(time.Hour))})
	d.ok(err)
	if !longer.ExpireTime.AsTime().After(a.ExpireTime.AsTime()) {
		t.Errorf("%v", longer)
	}
	_, err = decide(d.bob(), &agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_APPROVE, Digest: a.Digest})
	d.ok(err)
	end := d.until(s.Name, func(s *agentv1.Session) bool { return s.Lifecycle == agentv1.Lifecycle_LIFECYCLE_DONE })
	if text, err := os.ReadFile(filepath.Join(d.dir, "a.md")); err != nil || string(text) != "港\n夜明け\n" || end.Memory.Operations != 1 || end.Memory.Files != 1 {
		t.Errorf("%q, %v, %v", text, err, end)
	}
	d.watched(s.Name, end.Seq)
	d.audited(s.Name, end.Seq)
}

// watched watches a session from each place: the session first, then each event behind that once, in order, and the end with the task
// (cases/agent.md c19, c20).
func (d *desk) watched(name string, last int64) {
	d.Helper()
	for from := range last + 1 {
		events := d.all(d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: name, FromSeq: proto.Int64(from)}))
		want := last - from + 2 // the session, what came behind, and the session at its end
		if from == last {
			want = 1
		}
		if events[0].GetSession() == nil || events[0].Seq != from || int64(len(events)) != want {
			d.Fatalf("from %d: %d events, the first %v", from, len(events), events[0])
		}
		if from == last {
			continue
		}
		for i, e := range events[1 : len(events)-1] {
			if e.Seq != from+int64(i)+1 {
				d.Fatalf("from %d: event %d is %v", from, i, e)
			}
		}
	}
	_, err := first2(d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: name, FromSeq: proto.Int64(last + 1)}))
	d.refused(err, codes.OutOfRange, "EVENT_OUT_OF_RANGE")
	_, err = first2(d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: "sessions/" + uuid.NewString()}))
	d.refused(err, codes.NotFound, "SESSION_NOT_FOUND")
}

func first2(s grpc.ServerStreamingClient[agentv1.SessionEvent], err error) (*agentv1.SessionEvent, error) {
	if err != nil {
		return nil, err
	}
	return s.Recv()
}

// audited reads the audit page by page, and has it verified.
func (d *desk) audited(name string, last int64) {
	d.Helper()
	var rows []*agentv1.AuditRecord
	q := &agentv1.ListAuditRecordsRequest{Session: name, PageSize: 7}
	for {
		page, err := d.agent.ListAuditRecords(d.ann(), q)
		d.ok(err)
		rows = append(rows, page.Records...)
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			break
		}
	}
	kinds := map[string]int{}
	for i, r := range rows {
		if r.Seq != int64(i)+1 || r.Session != name || r.Mac == "" {
			d.Errorf("%v", r)
		}
		kinds[r.Kind]++
	}
	if int64(len(rows)) != last || kinds["ask"] != 3 || kinds["deny"] != 1 || kinds["edit"] != 1 || kinds["approve"] != 1 || kinds["intent"] != 1 || kinds["execute"] != 1 || kinds["extend"] != 1 {
		d.Errorf("%d rows of %d: %v", len(rows), last, kinds)
	}
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: true})
	d.ok(err)
	if !v.Intact || !v.Replayed || int64(v.Records) != last {
		d.Errorf("%v", v)
	}
}

// TestTheSameRequest: the same request makes one session and one message, and another one with its id is refused.
func TestTheSameRequest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	q := &agentv1.CreateSessionRequest{Session: &agentv1.Session{Goal: "港"}, RequestId: uuid.NewString()}
	s, err := d.agent.CreateSession(d.ann(), q)
	d.ok(err)
	if again, err := d.agent.CreateSession(d.ann(), q); err != nil || again.Name != s.Name {
		t.Errorf("%v, %v", again, err)
	}
	if other, err := d.agent.CreateSession(d.bob(), q); err != nil || other.Name == s.Name {
		t.Errorf("of another caller: %v, %v", other, err)
	}
	q.Session.Goal = "山"
	_, err = d.agent.CreateSession(d.ann(), q)
	d.refused(err, codes.AlreadyExists, "REQUEST_ID_REUSED")
	m := &agentv1.SendMessageRequest{Session: s.Name, Text: "やあ", RequestId: uuid.NewString()}
	one := d.all(d.agent.SendMessage(d.ann(), m))
	two := d.all(d.agent.SendMessage(d.ann(), m))
	if one[0].GetAccepted().Message != two[0].GetAccepted().Message || !two[0].GetAccepted().Replayed || one[0].GetAccepted().Replayed {
		t.Errorf("%v, %v", one[0], two[0])
	}
	m.Text = "さようなら"
	_, err = first2(d.agent.SendMessage(d.ann(), m))
	d.refused(err, codes.AlreadyExists, "REQUEST_ID_REUSED")
	m.Text, m.Mode = "やあ", agentv1.MessageMode_MESSAGE_MODE_SIDE
	_, err = first2(d.agent.SendMessage(d.ann(), m))
	d.refused(err, codes.AlreadyExists, "REQUEST_ID_REUSED")
}

// TestWhatIsWrongWithASession: all of it is told at once, under the names of the fields.
func TestWhatIsWrongWithASession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, err := d.agent.CreateSession(d.ann(), &agentv1.CreateSessionRequest{RequestId: "x", Session: &agentv1.Session{
		ContinueFrom: "sessions/x", AddedRules: []*agentv1.AddedRule{{Effect: 7}}, Budgets: &agentv1.Budgets{MessageSeconds: -1},
		Goal: strings.Repeat("港", 201) + "\n", Constraints: []string{"a", "b", "c"}, ContextRefs: []string{"web:x"}, Root: "nowhere", Backend: "nobody", Locale: "fr", Policy: "none",
		ClientTools: []*agentv1.ClientTool{{Name: "read", Description: "x", InputSchema: `{"type":"object"}`, TimeoutSeconds: 3601}},
	}})
	e, _ := apierr.FromStatus(err)
	if e == nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, v := range e.Violations {
		got[v.Field]++
	}
	if got["session.goal"] != 2 {
		t.Errorf("the goal has a line break and is too long: %v", e.Violations)
	}
	for _, field := range []string{
		"request_id", "session.continue_from", "session.added_rules[0].id", "session.added_rules[0].effect", "session.budgets.message_seconds", "session.goal",
		"session.constraints", "session.context_refs[0]", "session.root", "session.backend", "session.locale", "session.policy", "session.client_tools[0].name",
		"session.client_tools[0].timeout_seconds",
	} {
		if got[field] == 0 {
			t.Errorf("nothing about %s in %v", field, e.Violations)
		}
	}
}

// TestAModeThatLeavesSomethingWithoutEffect: what a message says beside its mode is used or refused; and who stops another turn than the one that is
// open is told which one is.
func TestAModeThatLeavesSomethingWithoutEffect(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s, seen := d.create(&agentv1.Session{}), []string{"approvals/6f9a2c1e-0b1d-4d55-9a0e-3f1f6f0e8a77"}
	for _, tt := range []struct {
		mode  agentv1.MessageMode
		wrong []string
	}{
		{agentv1.MessageMode_MESSAGE_MODE_UNSPECIFIED, []string{"approvals", "turn"}}, {agentv1.MessageMode_MESSAGE_MODE_QUEUE, []string{"approvals", "turn"}},
		{agentv1.MessageMode_MESSAGE_MODE_SIDE, []string{"approvals", "question", "turn"}}, {agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE, []string{"turn"}},
	} {
		_, err := first2(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: s.Name, Text: "やあ", Mode: tt.mode, Turn: "x", Approvals: seen, Question: "q"}))
		e, _ := apierr.FromStatus(err)
		if e == nil {
			t.Fatalf("%s: %v", tt.mode, err)
		}
		var got []string
		for _, v := range e.Violations {
			got = append(got, v.Field)
		}
		if !slices.Equal(got, tt.wrong) {
			t.Errorf("%s: %v", tt.mode, e.Violations)
		}
	}
	_, err := d.agent.CancelTurn(d.ann(), &agentv1.CancelTurnRequest{Session: s.Name, Turn: "x"})
	d.refused(err, codes.FailedPrecondition, "TURN_CHANGED")
	if !strings.Contains(err.Error(), "no other one is") {
		t.Error(err)
	}
}

// TestASessionsOwnTokenStopsNothing: a tool that speaks for its session is heard, and takes nothing from a person who is about to decide.
func TestASessionsOwnTokenStopsNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.create(&agentv1.Session{Root: "work"})
	d.send(s.Name, "直して")
	a := d.waits()
	bound := auth.With(d.Context(), auth.Caller{Name: "tool", Namespace: namespace.Default, Session: s.Name, Roles: []token.Role{token.User, token.Approver, token.Admin}})
	for _, mode := range []agentv1.MessageMode{agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE, agentv1.MessageMode_MESSAGE_MODE_INTERRUPT} {
		_, err := first2(d.agent.SendMessage(bound, &agentv1.SendMessageRequest{Session: s.Name, Text: "やめて", Mode: mode, Approvals: []string{a.Name}}))
		d.refused(err, codes.PermissionDenied, "PERMISSION_DENIED")
	}
	if now := d.waits(); now.Name != a.Name || now.Digest != a.Digest {
		t.Errorf("%v", now)
	}
	stream, err := d.agent.SendMessage(bound, &agentv1.SendMessageRequest{Session: s.Name, Text: "知らせ"})
	d.ok(err)
	if first, err := stream.Recv(); err != nil || first.GetAccepted().GetPosition() != 1 {
		t.Errorf("%v, %v", first, err)
	}
}

// TestWhatIsNotThere: a call and a standing rule that a session does not have are not found.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.create(&agentv1.Session{})
	_, err := d.agent.SubmitToolResult(d.ann(), &agentv1.SubmitToolResultRequest{Session: s.Name, Call: "1", Output: "晴れ"})
	d.refused(err, codes.NotFound, "CALL_NOT_FOUND")
	_, err = d.agent.RevokeRule(d.ann(), &agentv1.RevokeRuleRequest{Session: s.Name, Rule: "1"})
	d.refused(err, codes.NotFound, "RULE_NOT_FOUND")
}

// TestSessionsAreListedAndChanged: by pages, newest first; what a person may change is changed over the version that they read.
func TestSessionsAreListedAndChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var names []string
	for i := range 5 {
		names = append([]string{d.create(&agentv1.Session{Goal: fmt.Sprint("目的", i)}).Name}, names...)
	}
	var got []string
	q := &agentv1.ListSessionsRequest{PageSize: 2}
	for {
		page, err := d.agent.ListSessions(d.ann(), q)
		d.ok(err)
		for _, s := range page.Sessions {
			got = append(got, s.Name)
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%q, want %q", got, names)
	}
	s := d.until(names[0], func(*agentv1.Session) bool { return true })
	s.PlanBrief, s.Goal = []string{"下書き"}, ""
	changed, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: s})
	d.ok(err)
	if changed.Goal != "目的4" || changed.PlanBrief[0] != "下書き" || changed.Etag == s.Etag {
		t.Errorf("%v", changed)
	}
	_, err = d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: s})
	d.refused(err, codes.Aborted, "ETAG_MISMATCH")
	_, err = d.agent.DeleteSession(d.ann(), &agentv1.DeleteSessionRequest{Name: names[0], Etag: changed.Etag})
	d.ok(err)
	_, err = d.agent.GetSession(d.ann(), &agentv1.GetSessionRequest{Name: names[0]})
	d.refused(err, codes.NotFound, "SESSION_NOT_FOUND")
	if v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: names[0]}); err != nil || !v.Intact || v.Records != 3 {
		t.Errorf("the audit of a deleted session: %v, %v", v, err)
	}
}

// TestToolsWithoutAModel: what a session has is listed, explained and called by a person, through the same rules.
func TestToolsWithoutAModel(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.create(&agentv1.Session{Root: "work", Locale: "en"})
	tools, err := d.agent.ListTools(d.ann(), &agentv1.ListToolsRequest{Session: s.Name})
	d.ok(err)
	if len(tools.Tools) < 10 || tools.Tools[0].Origin != "built_in" {
		t.Errorf("%v", tools)
	}
	call := &agentv1.CallToolRequest{Session: s.Name, Tool: "write", Arguments: `{"path":"b.md","content":"x\n"}`, DryRun: true}
	x, err := d.agent.ExplainPolicy(d.ann(), &agentv1.ExplainPolicyRequest{Session: s.Name, Tool: "write", Arguments: call.Arguments})
	d.ok(err)
	if x.Verdict != agentv1.Verdict_VERDICT_ASK || x.Risk != agentv1.Risk_RISK_MEDIUM || len(x.Looks) == 0 || x.Reason == "" {
		t.Errorf("%v", x)
	}
	dry, err := d.agent.CallTool(d.bob(), call)
	d.ok(err)
	if _, err := os.Stat(filepath.Join(d.dir, "b.md")); err == nil || dry.Digest == "" || !strings.Contains(dry.Diff, "+x") || dry.Status != "" {
		t.Errorf("%v, %v", dry, err)
	}
	call.DryRun, call.Digest = false, dry.Digest
	done, err := d.agent.CallTool(d.bob(), call)
	d.ok(err)
	if text, err := os.ReadFile(filepath.Join(d.dir, "b.md")); err != nil || string(text) != "x\n" || done.Status != "EXECUTED" {
		t.Errorf("%q, %v, %v", text, err, done)
	}
	read, err := d.agent.CallTool(d.ann(), &agentv1.CallToolRequest{Session: s.Name, Tool: "read", Arguments: `{"path":"b.md"}`})
	d.ok(err)
	if read.Status != "EXECUTED" || !strings.Contains(read.Output, "x") {
		t.Errorf("%v", read)
	}
	out, err := d.agent.ExplainPolicy(d.ann(), &agentv1.ExplainPolicyRequest{Session: s.Name, Tool: "write", Arguments: `{"path":"../b.md","content":""}`})
	d.ok(err)
	if out.Verdict != agentv1.Verdict_VERDICT_DENY || out.StoppedAt != "PATH" {
		t.Errorf("%v", out)
	}
}

// TestAFolderThatHoldsOurOwn: a work folder that holds a file of the program, or lies in its data, is refused at the start
// (field/review-agent.md S12).
func TestAFolderThatHoldsOurOwn(t *testing.T) {
	t.Parallel()
	dir, keys, headers, own := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	cfg := settings(t)
	cfg.Sessions.Tools = filepath.Join(own, "tools.yaml")
	for name, text := range map[string]string{
		cfg.Sessions.Tools: "roots:\n  - {name: work, path: '" + dir + "'}\n  - {name: data, path: '" + cfg.Data + "'}\n  - {name: keys, path: '" + keys + "'}\n" +
			"  - {name: headers, path: '" + headers + "'}\n" +
			"servers:\n  - {name: s, url: 'http://127.0.0.1:1', tools: ['*'], header_files: {authorization: '" + filepath.Join(headers, "header.txt") + "'}}\n",
		filepath.Join(own, "backends.yaml"):  "backends: {a: {kind: llamacpp, address: 'http://127.0.0.1:1', api_key_file: '" + filepath.Join(keys, "key.txt") + "'}}\n",
		filepath.Join(keys, "key.txt"):       "hush\n",
		filepath.Join(headers, "header.txt"): "hush\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := backends.Load(filepath.Join(own, "backends.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := config.Load(&cfg, config.Source{}); err != nil {
		t.Fatal(err)
	}
	_, err = app.New(t.Context(), cfg, app.Deps{Backends: set, Own: []string{filepath.Join(dir, "tokens.yaml")}})
	for _, want := range []string{`root "work"`, "tokens.yaml", `root "data"`, `root "keys"`, "key.txt", `root "headers"`, "header.txt"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
}
