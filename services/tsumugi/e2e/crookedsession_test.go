package e2e

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// crookedSessions: whatever stands in a field of a request about sessions and approvals, the answer is no fault of ours: what cannot be taken is refused
// by the name of the field. Nothing of it decides what waits.
func crookedSessions(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	s := o.approvers(t)[0]
	name, asked := o.parked(t, s, "a.md")
	count := 0
	methods := agentv1.File_tsumugi_agent_v1_agent_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		method := methods.Get(i)
		if !ofSessions(method) {
			continue
		}
		leaves(method.Input(), nil, func(path []protoreflect.FieldDescriptor) {
			if dotted(path) == "session.client_tools[0].timeout_seconds" {
				return // of a tool without a name and a form nothing else is looked at
			}
			for _, v := range nonsense(path[len(path)-1]) {
				request := about(method, name, asked)
				put(request, path, v)
				err := o.call(s.conn, method, request)
				count++
				if complaint := complain(err, path, v); complaint != "" {
					t.Errorf("%s, %s = %.40v: %s: %v", method.Name(), dotted(path), v, complaint, err)
				}
			}
		})
	}
	if count < 150 {
		t.Errorf("only %d values were sent", count)
	}
	if now, err := s.GetApproval(o.ctx, &agentv1.GetApprovalRequest{Name: asked.GetName()}); err != nil || now.GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING {
		t.Errorf("%v, %v", now, err)
	}
	o.sound(t, s, name)
}

// ofSessions says that a call is about sessions or approvals. Those that end them are left out.
func ofSessions(m protoreflect.MethodDescriptor) bool {
	words := []string{"Session", "Approval", "Tool", "Audit", "Policy", "Rule", "Message"}
	return m.Name() != "DeleteSession" && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(string(m.Name()), w) })
}

// about makes a request about a session that waits for a decision. It has no decision that would be right.
func about(m protoreflect.MethodDescriptor, session string, asked *agentv1.Approval) *dynamicpb.Message {
	names := map[protoreflect.Name]string{
		"session": session, "name": session, "text": "文", "tool": "list", "call": "1", "rule": "1", "digest": asked.GetDigest(), "turn": asked.GetTurn(),
	}
	if strings.Contains(string(m.Name()), "Approval") {
		names["name"] = asked.GetName()
	}
	r := named(m, names)
	if f := m.Input().Fields().ByName("decision"); f != nil {
		r.Set(f, protoreflect.ValueOfEnum(agentv1.Decision_DECISION_HAPPENED.Number())) // no answer to a write
	}
	if f := m.Input().Fields().ByName("mode"); f != nil {
		r.Set(f, protoreflect.ValueOfEnum(agentv1.MessageMode_MESSAGE_MODE_QUEUE.Number()))
	}
	return r
}
