package auth

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// calls are all calls of the contract.
func calls() (all []string) {
	for _, file := range []protoreflect.FileDescriptor{
		agentv1.File_tsumugi_agent_v1_agent_proto, flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto, promptbuilderv1.File_tsumugi_promptbuilder_v1_promptbuilder_proto,
	} {
		s := file.Services().Get(0)
		for i := range s.Methods().Len() {
			all = append(all, "/"+string(s.FullName())+"/"+string(s.Methods().Get(i).Name()))
		}
	}
	return all
}

// A name in the table that no call has would open nothing, in silence: each is a call of the contract.
func TestOpeningsAreCallsOfTheContract(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, method := range calls() {
		known[method] = true
	}
	for method, o := range openings {
		switch {
		case !known[method]:
			t.Errorf("the contract has no %s", method)
		case !o.session && !o.approver:
			t.Errorf("%s: lets nobody in", method)
		case !strings.HasPrefix(method, agentService):
			t.Errorf("%s: sessions and approvals are the agent's", method)
		}
	}
}

// Who is bound to a session, or approves alone, reaches no call that the table does not open, whatever other roles are there; and those of the
// table not by the right of the other.
func TestMayCall(t *testing.T) {
	t.Parallel()
	const session = "sessions/0196b2c4-0001-7aaa-8bbb-000000000001"
	all := []token.Role{token.User, token.Approver, token.Admin}
	bound, approver := Caller{Name: "a", Roles: all, Session: session}, Caller{Name: "a", Roles: all[1:2]}
	boundApprover := Caller{Name: "a", Roles: all[1:2], Session: session}
	refused := func(c Caller, method, key, value string) {
		t.Helper()
		e, ok := c.MayCall(method).(*apierr.Error) //nolint:errorlint // that very type
		if !ok || e.Code != codes.PermissionDenied || e.Reason != apierr.ReasonPermissionDenied || e.Metadata[key] != value || e.Message == "" {
			t.Errorf("%+v may call %s: %+v", c, method, e)
		}
	}
	methods := append(calls(), "/nobody.v1.Knows/This", "")
	for method := range openings {
		methods = append(methods, method)
	}
	for _, method := range methods {
		o := openings[method]
		for _, role := range []token.Role{token.User, token.Admin, token.Service} {
			if err := (Caller{Name: "a", Roles: []token.Role{role}}).MayCall(method); err != nil {
				t.Errorf("%s may not call %s: %v", role, method, err)
			}
		}
		roles := "user,admin"
		if o.approver {
			roles += ",approver"
		}
		refused(Caller{}, method, "roles", roles)
		refused(Caller{Name: "a", Roles: []token.Role{"owner"}}, method, "roles", roles)
		if !o.session {
			refused(bound, method, "session", session)
		} else if err := bound.MayCall(method); err != nil {
			t.Errorf("a session may not call %s: %v", method, err)
		}
		if !o.approver {
			refused(approver, method, "roles", roles)
		} else if err := approver.MayCall(method); err != nil {
			t.Errorf("an approver may not call %s: %v", method, err)
		}
		if boundApprover.MayCall(method) == nil && (!o.session || !o.approver) {
			t.Errorf("a binding gives an approver %s", method)
		}
	}
	if bound.Reaches("sessions/0196b2c4-0002-7aaa-8bbb-000000000002") || !bound.Reaches(session) || bound.Reaches("") || !approver.Reaches(session) {
		t.Error("a session reaches another one, or not itself")
	}
}

// The caller and its namespace go with a context.
func TestTheCallerOfAContext(t *testing.T) {
	t.Parallel()
	ctx := With(t.Context(), Caller{Name: "a", Namespace: "team-a"})
	if From(ctx).Name != "a" || namespace.From(ctx) != "team-a" {
		t.Error("the caller or its namespace is lost")
	}
}
