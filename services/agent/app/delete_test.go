package app_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// told is a session with a turn that ended while flowstore answered with an error.
func (d *desk) told(err error) *agentv1.Session {
	d.Helper()
	d.flows.fail(err)
	s := d.create(&agentv1.Session{Goal: "港", Root: "work"})
	d.send(s.Name, "直して")
	a := d.waits()
	_, err = d.agent.DecideApproval(d.bob(), &agentv1.DecideApprovalRequest{Name: a.Name, Digest: a.Digest, Decision: agentv1.Decision_DECISION_DENY})
	d.ok(err)
	return d.until(s.Name, func(s *agentv1.Session) bool { return s.Question != nil })
}

func (d *desk) remove(name string) (*agentv1.DeleteSessionResponse, error) {
	return d.agent.DeleteSession(d.ann(), &agentv1.DeleteSessionRequest{Name: name})
}

// TestDeleteKeepsTurns: a session goes when its turns are in its flow. While flowstore is away nothing is taken away; what can never be put there is
// counted.
func TestDeleteKeepsTurns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.told(apierr.New(codes.Unavailable, apierr.ReasonDraining, "away"))
	_, err := d.remove(s.Name)
	d.refused(err, codes.Unavailable, "SERVICE_UNAVAILABLE")
	if again, err := d.agent.GetSession(d.ann(), &agentv1.GetSessionRequest{Name: s.Name}); err != nil || again.Question == nil {
		t.Errorf("it is gone: %v, %v", again, err)
	}
	d.flows.fail(nil)
	if gone, err := d.remove(s.Name); err != nil || gone.LostTurns != 0 || d.flows.nodes(s.Flow) != 1 {
		t.Errorf("%v, %v, %d nodes", gone, err, d.flows.nodes(s.Flow))
	}
	d = newDesk(t)
	s = d.told(apierr.New(codes.Internal, apierr.ReasonInternal, "odd"))
	if gone, err := d.remove(s.Name); err != nil || gone.LostTurns != 1 {
		t.Errorf("%v, %v", gone, err)
	}
}

// TestWatchersOfADeletedSession are told that it is gone.
func TestWatchersOfADeletedSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.create(&agentv1.Session{Goal: "港"})
	w, err := d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: s.Name})
	d.ok(err)
	_, err = w.Recv()
	d.ok(err)
	_, err = d.remove(s.Name)
	d.ok(err)
	_, err = w.Recv()
	d.refused(err, codes.NotFound, "SESSION_NOT_FOUND")
}
