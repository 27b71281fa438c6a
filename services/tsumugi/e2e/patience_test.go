package e2e

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// outwaited: whoever waits shorter than an approval takes nothing away from it, and a decision in time counts; an approval of which the time is over
// is none, whatever is decided then, and was none at any moment (cases/agent.md c10).
func outwaited(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.settings.approval = 4 * time.Second
	o.start(t)
	for i, s := range o.approvers(t) {
		path := []string{"grpc.md", "rest.md"}[i]
		name, asked := o.parked(t, s, path)
		o.givesUp(t, s, name)
		if now := o.waiting(t, s, name); len(now) != 1 || now[0].GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING || !now[0].GetExpireTime().AsTime().Equal(asked.GetExpireTime().AsTime()) {
			t.Errorf("over %s: who waited has gone, and left %v", s.how, now)
		}
		time.Sleep(time.Until(asked.GetCreateTime().AsTime().Add(o.settings.approval / 2)))
		o.decide(t, s, asked, agentv1.Decision_DECISION_APPROVE, "")
		if o.until(t, s, name, "the turn ends", rests); o.file(t, path) != "一" {
			t.Errorf("over %s: approved in time, and not written", s.how)
		}
		o.expired(t, s, "late."+path)
	}
}

// givesUp watches a session for 200 ms, over each protocol.
func (o *office) givesUp(t *testing.T, s surface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, 200*time.Millisecond)
	defer cancel()
	stream, err := s.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: name})
	for err == nil {
		_, err = stream.Recv()
	}
	if ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded { // The server knows the deadline, too, and may be first.
		t.Errorf("over %s: the stream ended by itself: %v", s.how, err)
	}
}

// expired: nobody decides in time.
func (o *office) expired(t *testing.T, s surface, path string) {
	t.Helper()
	name, asked := o.parked(t, s, path)
	over := o.until(t, s, name, "the time is over", rests)
	if over.GetStep() != agentv1.Step_STEP_PLANNING || over.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_REQUIRES_USER_INPUT || over.GetStopReason() != "EXPIRED" || time.Now().Before(asked.GetExpireTime().AsTime()) {
		t.Errorf("over %s: %v", s.how, over)
	}
	state := func(want bool) {
		t.Helper()
		now, err := s.GetApproval(o.ctx, &agentv1.GetApprovalRequest{Name: asked.GetName()})
		if err != nil || now.GetState() != agentv1.ApprovalState_APPROVAL_STATE_EXPIRED || now.GetDecision() != nil || (now.GetLateDenial().GetDecidedBy() == "local") != want {
			t.Errorf("over %s: %v, %v", s.how, now, err)
		}
	}
	state(false)
	refusal{code: codes.FailedPrecondition, reason: "APPROVAL_EXPIRED"}.check(t, approve(o.ctx, s, asked))
	state(false)
	o.decide(t, s, asked, agentv1.Decision_DECISION_DENY, "遅すぎた")
	state(true)
	if e, ok := apierr.FromStatus(approve(o.ctx, s, asked)); !ok || e.Code != codes.FailedPrecondition {
		t.Errorf("over %s: approved after the denial: %v", s.how, e)
	}
	for _, e := range o.history(t, name) {
		if c := e.GetApproval(); c.GetChange() == "APPROVE" || c.GetApproval().GetState() == agentv1.ApprovalState_APPROVAL_STATE_APPROVED || e.GetToolCall().GetState() == "BEGUN" {
			t.Errorf("over %s: %v", s.how, e)
		}
	}
	kinds := map[string]int{} // that it expires soon is of the kind of an expiry, too
	for _, r := range o.rows(t, s, name) {
		kinds[r.GetKind()]++
	}
	if kinds["expiry"] != 2 || kinds["late_denial"] != 1 || kinds["approve"]+kinds["intent"]+kinds["execute"]+kinds["deny"] != 0 || o.file(t, path) != "" {
		t.Errorf("over %s: the audit has %v, the file %q", s.how, kinds, o.file(t, path))
	}
	o.forget()
	o.sound(t, s, name)
}
