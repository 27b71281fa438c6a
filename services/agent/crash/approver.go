package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// approve decides about what waits until stop is closed or the server is gone.
func (t *trial) approve(ctx context.Context, s *server, random *rand.Rand, stop <-chan struct{}) error {
	ctx = t.approver(ctx)
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		inbox, err := s.client.ListApprovals(ctx, &agentv1.ListApprovalsRequest{PageSize: 100})
		for _, i := range random.Perm(len(inbox.GetApprovals())) {
			if err = t.decide(ctx, s, random, inbox.GetApprovals()[i].GetName()); err != nil {
				break
			}
		}
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(inbox.GetApprovals()) == 0 {
			time.Sleep(pause)
		}
	}
}

// decide looks at an approval and decides about it.
func (t *trial) decide(ctx context.Context, s *server, random *rand.Rand, name string) error {
	a, err := s.client.GetApproval(ctx, &agentv1.GetApprovalRequest{Name: name})
	if err != nil {
		return err
	}
	t.ledger.saw(a)
	q := &agentv1.DecideApprovalRequest{Name: name, Digest: a.GetDigest(), Reason: requestID()}
	if a.GetKind() == agentv1.ApprovalKind_APPROVAL_KIND_OUTCOME {
		q.Decision = t.looked(a)
	} else {
		q.Decision, q.Arguments = drawDecision(random, a)
	}
	d := t.ledger.send(q)
	_, err = s.client.DecideApproval(ctx, q)
	return t.became(d, err)
}

// became notes what became of a decision. The error is the one of a server that is gone, or of one that fails.
func (t *trial) became(d *decision, err error) error {
	switch {
	case err == nil:
		t.ledger.decided(d)
		return nil
	case refused(err), d.request.GetArguments() != "" && status.Code(err) == codes.InvalidArgument: // The change is one that policy or paths refuse.
		return nil
	case gone(err):
		t.ledger.unsure(d)
		return err
	}
	return fmt.Errorf("DecideApproval %v: %w", d.request, err)
}

// drawDecision draws what is decided about a call.
func drawDecision(random *rand.Rand, a *agentv1.Approval) (agentv1.Decision, string) {
	switch draw := random.IntN(20); {
	case draw < 2:
		return agentv1.Decision_DECISION_DENY, ""
	case draw < 4 && len(a.GetEditors()) == 0:
		if args := changed(a.GetContent().GetArguments()); args != "" {
			return agentv1.Decision_DECISION_EDIT, args
		}
	}
	return agentv1.Decision_DECISION_APPROVE, ""
}

// changed are other arguments of a call: another text, or another place. Empty: there is nothing to change.
func changed(args string) string {
	a := parse(args)
	switch {
	case a["content"] != "":
		a["content"] = "changed " + a["content"]
	case a["destination"] != "":
		a["destination"] = strings.Replace(a["destination"], ".moved", ".elsewhere", 1)
	default:
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts always have a form
	}
	return string(text)
}

func parse(args string) (a arguments) {
	if json.Unmarshal([]byte(args), &a) != nil {
		return nil
	}
	return a
}

// looked says by the files whether a call has happened of which nobody knows.
func (t *trial) looked(a *agentv1.Approval) agentv1.Decision {
	args := t.ledger.argumentsOfCall(a.GetCall())
	there := func(path string) bool {
		_, err := os.Stat(filepath.Join(t.work(), filepath.FromSlash(path)))
		return err == nil
	}
	var happened bool
	switch {
	case args["destination"] != "":
		happened = there(args["destination"]) && !there(args["source"])
	case args["content"] != "":
		text, err := os.ReadFile(filepath.Join(t.work(), filepath.FromSlash(args["path"])))
		happened = err == nil && string(text) == args["content"]
	default:
		happened = !there(args["path"])
	}
	if happened {
		return agentv1.Decision_DECISION_HAPPENED
	}
	return agentv1.Decision_DECISION_NOT_HAPPENED
}
