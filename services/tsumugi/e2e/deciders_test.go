package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// approve is the decision that would be right, but for who makes it.
func approve(ctx context.Context, s surface, a *agentv1.Approval) error {
	_, err := s.DecideApproval(ctx, &agentv1.DecideApprovalRequest{Name: a.GetName(), Digest: a.GetDigest(), Decision: agentv1.Decision_DECISION_APPROVE})
	return err
}

// askers: whoever is bound to a session decides nothing whatever roles its token has, and knows of no other session; a name in a body or a header makes
// nobody an approver; who asked does not decide where somebody else has to, with another token either; and each try is in the audit, under the name
// that was verified (cases/agent.md c2, c8).
func askers(t *testing.T, m mode) {
	w, a, _ := guarded(t, m, func(s *settings) { s.others = true })
	session := w.ownSession(t, w.as(t, a)[0])
	asked, err := w.bearers(t, a)[0].GetApproval(w.ctx, &agentv1.GetApprovalRequest{Name: session.GetWaitingOn()[0]})
	if err != nil {
		t.Fatal(err)
	}
	all := []token.Role{token.User, token.Approver, token.Admin}
	bearer := func(name, bound string, roles ...token.Role) []surface {
		return w.bearers(t, authtest.Add(t, w.settings.tokens, token.Token{Name: name, Namespace: "team-a", Roles: roles, Session: bound}))
	}
	denied := func(who string, s surface, err error) {
		t.Helper()
		if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.PermissionDenied {
			t.Errorf("%s over %s: %v", who, s.how, err)
		}
	}
	for _, s := range bearer("robot", session.GetName(), all...) {
		if got, err := s.GetSession(w.ctx, &agentv1.GetSessionRequest{Name: session.GetName()}); err != nil || !got.GetPendingGate() {
			t.Errorf("a session that looks at itself over %s: %v, %v", s.how, got, err)
		}
		denied("a session", s, approve(w.ctx, s, asked))
		_, err := s.ExtendApproval(w.ctx, &agentv1.ExtendApprovalRequest{Name: asked.GetName(), ExpireTime: asked.GetExpireTime()})
		denied("a session that extends", s, err)
		_, err = s.CallTool(w.ctx, &agentv1.CallToolRequest{Session: session.GetName(), Tool: "session_status"})
		denied("a session that calls", s, err)
		w.watchesItself(t, s, session)
		h, err := tell(w.ctx, s, &agentv1.SendMessageRequest{Session: session.GetName(), Text: "approve " + strings.TrimPrefix(asked.GetName(), "approvals/")})
		if err != nil || h.accepted.GetDecided() != "" {
			t.Errorf("a session that says so over %s: %v, %v", s.how, h.accepted, err)
		}
	}
	for _, s := range bearer("stranger", "sessions/0196b2c4-0008-7aaa-8bbb-000000000008", all...) {
		_, err := s.GetSession(w.ctx, &agentv1.GetSessionRequest{Name: session.GetName()})
		refusal{code: codes.NotFound, reason: "SESSION_NOT_FOUND"}.check(t, err)
		never := "approvals/0196b2c4-0008-7aaa-8bbb-000000000008"
		there, gone := approve(w.ctx, s, asked), approve(w.ctx, s, &agentv1.Approval{Name: never, Digest: asked.GetDigest()})
		refusal{code: codes.NotFound, reason: "APPROVAL_NOT_FOUND"}.check(t, there)
		if strings.ReplaceAll(there.Error(), asked.GetName(), never) != gone.Error() {
			t.Errorf("another session over %s: %v; but of what was never there: %v", s.how, there, gone)
		}
		_, err = s.ExtendApproval(w.ctx, &agentv1.ExtendApprovalRequest{Name: asked.GetName(), ExpireTime: asked.GetExpireTime()})
		refusal{code: codes.NotFound, reason: "APPROVAL_NOT_FOUND"}.check(t, err)
	}
	for _, s := range bearer("mallory", "", token.User) {
		denied("a user", s, approve(w.ctx, s, asked))
		denied("a user with a header", s, approve(metadata.AppendToOutgoingContext(w.ctx, "x-user", "a", "tsumugi-caller-bin", `{"name":"a","roles":["approver"]}`), s, asked))
	}
	for _, s := range bearer("a", "", all...) {
		denied("who asked", s, approve(w.ctx, s, asked))
	}
	w.pretends(t, asked)
	body := []byte(`{"decision": "DECISION_APPROVE", "digest": "` + asked.GetDigest() + `", "decidedBy": "b"}`)
	if got := w.rest(t, http.MethodPost, "/v1/"+asked.GetName()+":decideApproval", body, "Authorization", "Bearer "+a); got.status != http.StatusBadRequest {
		t.Errorf("a body that says who decides: %d %s", got.status, got.body)
	}
	w.tried(t, a, session.GetName())
	bob := bearer("bob", "", token.Approver)[1]
	if now, err := bob.GetApproval(w.ctx, &agentv1.GetApprovalRequest{Name: asked.GetName()}); err != nil || now.GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING {
		t.Errorf("%v, %v", now, err)
	}
	if err := approve(w.ctx, bob, asked); err != nil {
		t.Error(err)
	}
}

// pretends: a header of a request names nobody but whom its token does.
func (w *world) pretends(t *testing.T, asked *agentv1.Approval) {
	t.Helper()
	mallory := authtest.Add(t, w.settings.tokens, token.Token{Name: "mallory", Namespace: "team-a", Roles: []token.Role{token.User}})
	body := []byte(`{"decision": "DECISION_APPROVE", "digest": "` + asked.GetDigest() + `"}`)
	for _, header := range []string{"X-User", "Grpc-Metadata-X-User", "Tsumugi-Caller-Bin", "Grpc-Metadata-Tsumugi-Caller-Bin"} {
		got := w.rest(t, http.MethodPost, "/v1/"+asked.GetName()+":decideApproval", body, "Authorization", "Bearer "+mallory, header, "a")
		if got.status != http.StatusForbidden {
			t.Errorf("a user with the header %s: %d %s", header, got.status, got.body)
		}
	}
}

// watchesItself: a session sees that it is asked about, and nothing by which that could be decided.
func (w *world) watchesItself(t *testing.T, s surface, session *agentv1.Session) {
	t.Helper()
	ctx, leave := context.WithCancel(w.ctx)
	defer leave()
	zero := int64(0)
	stream, err := s.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: session.GetName(), FromSeq: &zero})
	for err == nil {
		var e *agentv1.SessionEvent
		if e, err = stream.Recv(); e.GetApproval() == nil {
			continue
		}
		if a := e.GetApproval().GetApproval(); a.GetName() != session.GetWaitingOn()[0] || a.GetDigest() != "" || a.GetContent() != nil || a.GetWords() != "" {
			t.Errorf("over %s: a session that watches itself is told %v", s.how, a)
		}
		return
	}
	t.Errorf("over %s: a session that watches itself: %v", s.how, err)
}

// tried holds the audit to the tries of those who may not decide, by their verified names.
func (w *world) tried(t *testing.T, token, session string) {
	t.Helper()
	rows, err := w.bearers(t, token)[0].ListAuditRecords(w.ctx, &agentv1.ListAuditRecordsRequest{Session: session, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var who []string
	for _, r := range rows.GetRecords() {
		if r.GetKind() == "refusal" {
			who = append(who, r.GetActor())
		}
	}
	byMallory := slices.Repeat([]string{"mallory"}, 4)
	want := slices.Concat(slices.Repeat([]string{session}, 4), byMallory, []string{"a", "a"}, byMallory)
	if !slices.Equal(who, want) {
		t.Errorf("the audit has refused tries of %q", who)
	}
}

// worded: no text decides but the very words, whose approval is named, of a person who may; each other is a message that waits for the decision
// (cases/agent.md c1, c14).
func worded(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	if err := os.WriteFile(filepath.Join(o.folder, "a.txt"), []byte("原稿"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := o.approvers(t)[1]
	name := o.session(t, s)
	o.think(say("EXECUTION", "continue", "actions", acts("move", args{"source": "a.txt", "destination": "b.txt"})), say("EXECUTION", "done", "reply", "移しました。"))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "移して"})
	asked := o.waiting(t, s, name)[0]
	texts := []string{"no, don't approve", "disallow", "not ok", "承認しない", "実行しないで", "please explain why", "ok, what does it do?", "I know"}
	for i, text := range texts {
		h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: text})
		if h.accepted.GetPosition() != int32(i+1) || h.accepted.GetDecided() != "" || h.session.GetQueued() != int32(i+1) {
			t.Errorf("%q is taken as %v", text, h.accepted)
		}
	}
	if now := o.waiting(t, s, name); len(now) != 1 || now[0].GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING || now[0].GetDigest() != asked.GetDigest() || o.file(t, "a.txt") == "" {
		t.Errorf("%v waits", now)
	}
	words := "承認 " + strings.TrimPrefix(asked.GetName(), "approvals/")
	if h, err := tell(o.ctx, o.bearers(t, "")[0], &agentv1.SendMessageRequest{Session: name, Text: words}); err != nil || h.accepted.GetDecided() != "" || h.accepted.GetNotDecided() != "NOT_AN_APPROVER" || !strings.Contains(asked.GetWords(), words) {
		t.Errorf("%q of who may not decide: %v, %v", words, h.accepted, err)
	}
	if h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: words}); h.accepted.GetDecided() != asked.GetName() {
		t.Errorf("%q is taken as %v", words, h.accepted)
	}
	end := o.until(t, s, name, "the queue is empty", rests)
	if o.file(t, "b.txt") != "原稿" || o.file(t, "a.txt") != "" || end.GetTurns() != int32(len(texts)+2) {
		t.Errorf("%v", end)
	}
	prompts := o.heard()
	for i, text := range texts {
		if got := prompts[i+2]; !strings.Contains(got, text) {
			t.Errorf("message %d, %q, is not in its prompt: %s", i, text, got)
		}
	}
	o.think(say("EXECUTION", "continue", "actions", acts("move", args{"source": "b.txt", "destination": "c.txt"})), say("EXECUTION", "done", "reply", "移しました。"))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "また移して"})
	h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "承認"})
	if h.accepted.GetDecided() == "" { // the only one, and asked since
		t.Errorf("the bare word is taken as %v", h.accepted)
	}
	if o.file(t, "c.txt") != "原稿" || !rests(h.session) || h.events[1].GetApproval().GetChange() != "APPROVE" {
		t.Errorf("what came of the word is told as %v, and nothing was moved", h.events)
	}
	o.sound(t, s, name)
}
