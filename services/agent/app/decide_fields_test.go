package app_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// TestFieldsOfADecision: a decision that does not fit names the field that is wrong, and what would fit.
func TestFieldsOfADecision(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.send(d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name, "直して")
	a := d.waits()
	const path, yes = agentv1.DecisionScope_DECISION_SCOPE_SESSION_TOOL_PATH, agentv1.Decision_DECISION_APPROVE
	for name, c := range map[string]struct {
		q           *agentv1.DecideApprovalRequest
		field, told string
	}{
		"no path":              {&agentv1.DecideApprovalRequest{Decision: yes, Scope: path}, "path", `must be "a.md", as it was offered`},
		"a path without scope": {&agentv1.DecideApprovalRequest{Decision: yes, Path: "a.md"}, "path", "goes with DECISION_SCOPE_SESSION_TOOL_PATH"},
		"an edit of nothing":   {&agentv1.DecideApprovalRequest{Decision: agentv1.Decision_DECISION_EDIT}, "arguments", "is required with DECISION_EDIT"},
		"arguments approved":   {&agentv1.DecideApprovalRequest{Decision: yes, Arguments: "{}"}, "arguments", "goes with DECISION_EDIT, and with nothing else"},
	} {
		c.q.Name, c.q.Digest = a.Name, a.Digest
		_, err := d.agent.DecideApproval(d.bob(), c.q)
		d.refused(err, codes.InvalidArgument, apierr.ReasonInvalidField)
		e, _ := apierr.FromStatus(err)
		if e == nil || len(e.Violations) != 1 || e.Violations[0].Field != c.field || e.Violations[0].Description != c.told {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
