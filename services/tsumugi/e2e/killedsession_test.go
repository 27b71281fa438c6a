package e2e

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// killedSessions: what waits for a decision waits after a kill as it was; what was approved and could not begin is approved still, and runs once when it
// can; and wherever between decision and write the kill comes, the write happens once (cases/agent.md c11).
func killedSessions(t *testing.T, m mode) {
	o := newOffice(t, m.killable(), "", "")
	o.settings.lease = time.Second
	o.start(t)
	s := o.approvers(t)[1]
	name, asked := o.parked(t, s, "a.md")
	kill := func() {
		t.Helper()
		if err := o.stop(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		o.start(t)
		s = o.approvers(t)[1]
	}
	kill()
	inbox, err := s.ListApprovals(o.ctx, &agentv1.ListApprovalsRequest{Session: name})
	if err != nil || len(inbox.GetApprovals()) != 1 {
		t.Fatalf("%v, %v", inbox, err)
	}
	if again := o.waiting(t, s, name)[0]; !proto.Equal(again, asked) || inbox.GetApprovals()[0].GetDigest() != asked.GetDigest() || !proto.Equal(inbox.GetApprovals()[0].GetExpireTime(), asked.GetExpireTime()) {
		t.Errorf("%v\nwas\n%v", again, asked)
	}
	release := o.occupy(t)
	o.decide(t, s, asked, agentv1.Decision_DECISION_APPROVE, "")
	o.until(t, s, name, "the call waits for the folder", func(now *agentv1.Session) bool {
		return now.GetTurn().GetState() == agentv1.TurnState_TURN_STATE_PARKED
	})
	kill()
	if now, err := s.GetApproval(o.ctx, &agentv1.GetApprovalRequest{Name: asked.GetName()}); err != nil || now.GetState() != agentv1.ApprovalState_APPROVAL_STATE_APPROVED || o.file(t, "a.md") != "" {
		t.Errorf("%v, %v, %q", now, err, o.file(t, "a.md"))
	}
	release()
	o.once(t, s, name, "a.md", "approve", "intent", "execute")
	o.toldOnce(t, name, asked)
	kills := 3
	if o.loud != nil {
		kills = 1 // a model is slow
	}
	for i := range kills {
		path := fmt.Sprintf("%d.md", i)
		name, asked := o.parked(t, s, path)
		o.decide(t, s, asked, agentv1.Decision_DECISION_APPROVE, "")
		time.Sleep(time.Duration(i) * 5 * time.Millisecond) // somewhere between decision and write, or behind
		kill()
		o.once(t, s, name, path, "approve", "execute")
	}
}

// toldOnce: whoever watches from the beginning is told of the decision, of the wait behind it, and of the one run, in this order.
func (o *office) toldOnce(t *testing.T, name string, asked *agentv1.Approval) {
	t.Helper()
	var got []string
	for _, e := range o.history(t, name) {
		switch a, c, turn := e.GetApproval(), e.GetToolCall(), e.GetTurnChange(); {
		case a.GetChange() == "APPROVE" && a.GetApproval().GetName() == asked.GetName():
			got = append(got, "approved")
		case turn.GetState() == agentv1.TurnState_TURN_STATE_PARKED:
			got = append(got, "parked")
		case c.GetState() == "BEGUN" || c.GetState() == "EXECUTED":
			got = append(got, c.GetState())
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, []string{"approved", "parked", "BEGUN", "EXECUTED"}) {
		t.Errorf("the events tell %q", got)
	}
}

// occupy holds the folder as another process does that works in it.
func (o *office) occupy(t *testing.T) (release func()) {
	t.Helper()
	f, err := os.Open(o.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() { f.Close() }
}

// once: the turn ends, the file is there as it was approved, and the audit has one row of each of these kinds.
func (o *office) once(t *testing.T, s surface, name, path string, kinds ...string) {
	t.Helper()
	o.until(t, s, name, "the turn ends after the kill", rests)
	if got := o.file(t, path); got != "一" {
		t.Errorf("%s has %q", path, got)
	}
	rows, err := s.ListAuditRecords(o.ctx, &agentv1.ListAuditRecordsRequest{Session: name, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range rows.GetRecords() {
		count[r.GetKind()]++
	}
	for _, kind := range kinds {
		if count[kind] != 1 {
			t.Errorf("%s: %d rows of the kind %s: %v", path, count[kind], kind, count)
		}
	}
	o.sound(t, s, name)
}
