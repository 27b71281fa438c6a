package app_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

const (
	asks   = agentv1.RuleEffect_RULE_EFFECT_ASK
	denies = agentv1.RuleEffect_RULE_EFFECT_DENY
)

// TestAddedRules: what a caller adds to the policy of a session is heard, told, shown and kept; it is never taken away by whoever is no admin, and
// never by a program of the session (field/review-agent.md S9).
func TestAddedRules(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a.md")
	ask := &agentv1.AddedRule{Id: "session.look", Effect: asks, Tool: "read", Reason: "ask me first"}
	s := d.create(&agentv1.Session{Root: "work", Locale: "en", AddedRules: []*agentv1.AddedRule{ask}})
	if len(s.AddedRules) != 1 || !proto.Equal(s.AddedRules[0], ask) {
		t.Errorf("%v", s.AddedRules)
	}
	explain := func(tool, args string) *agentv1.PolicyExplanation {
		x, err := d.agent.ExplainPolicy(d.ann(), &agentv1.ExplainPolicyRequest{Session: s.Name, Tool: tool, Arguments: args})
		d.ok(err)
		return x
	}
	if x := explain("read", `{"path":"a.md"}`); x.Verdict != agentv1.Verdict_VERDICT_ASK || !strings.Contains(x.Reason, "session.look") || !strings.Contains(x.Reason, "ask me first") {
		t.Errorf("%v", x)
	}
	deny := &agentv1.AddedRule{Id: "session.frozen", Effect: denies, Path: "**", ReadOnly: proto.Bool(false), RiskAtLeast: agentv1.Risk_RISK_LOW}
	changed, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: s.Name, AddedRules: []*agentv1.AddedRule{ask, deny}}})
	d.ok(err)
	if len(changed.AddedRules) != 2 || !proto.Equal(changed.AddedRules[1], deny) {
		t.Errorf("%v", changed.AddedRules)
	}
	if x := explain("write", `{"path":"a.md","content":"x"}`); x.Verdict != agentv1.Verdict_VERDICT_DENY || x.StopCode != "POLICY_DENY" {
		t.Errorf("%v", x)
	}
	d.send(s.Name, "直して") // and the model hears it
	rows, err := d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: s.Name, PageSize: 100})
	d.ok(err)
	if !strings.Contains(fmt.Sprint(rows), "session.frozen") {
		t.Errorf("the model was not refused: %v", rows)
	}
	fewer := &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: s.Name, AddedRules: []*agentv1.AddedRule{deny}}}
	_, err = d.agent.UpdateSession(d.ann(), fewer)
	d.wrong(err, "session.added_rules", "may be taken away by an admin only")
	bound := auth.With(d.Context(), auth.Caller{Name: "tool", Namespace: namespace.Default, Session: s.Name, Roles: []token.Role{token.Admin}})
	_, err = d.agent.UpdateSession(bound, fewer)
	d.wrong(err, "session.policy", "only a person")
	left, err := d.agent.UpdateSession(d.as("root", namespace.Default, token.Admin), fewer)
	d.ok(err)
	if len(left.AddedRules) != 1 {
		t.Errorf("%v", left.AddedRules)
	}
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: s.Name, Replay: true})
	d.ok(err)
	if !v.Intact || !v.Replayed {
		t.Errorf("%v", v)
	}
}

// wrong looks for a violation of a field.
func (d *desk) wrong(err error, field, says string) {
	d.Helper()
	d.refused(err, codes.InvalidArgument, "INVALID_FIELD")
	e, _ := apierr.FromStatus(err)
	for _, v := range e.Violations {
		if v.Field == field && strings.Contains(v.Description, says) {
			return
		}
	}
	d.Errorf("nothing about %s, %q in %v", field, says, e.Violations)
}

// TestAddedRulesThatAreNone: each is told with its place, and nothing is made.
func TestAddedRulesThatAreNone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	many := make([]*agentv1.AddedRule, 33)
	for i := range many {
		many[i] = &agentv1.AddedRule{Id: fmt.Sprintf("session.%d", i), Effect: denies}
	}
	for _, tt := range []struct {
		rules       []*agentv1.AddedRule
		field, says string
	}{
		{[]*agentv1.AddedRule{{Id: "session.a", Effect: asks}, {Id: "mine", Effect: denies}}, "added_rules[1].id", "must be session. and a name of your own"},
		{[]*agentv1.AddedRule{{Id: "session.a", Effect: asks}, {Id: "session.a", Effect: denies}}, "added_rules[1]", "the id stands twice"},
		{[]*agentv1.AddedRule{{Id: "session.a", Effect: denies, Path: "../x"}}, "added_rules[0]", "path must be relative"},
		{[]*agentv1.AddedRule{{Id: "session.a"}}, "added_rules[0].effect", "must be ASK or DENY: a rule that is added allows nothing"},
		{[]*agentv1.AddedRule{{Id: "session.a", Effect: 7}}, "added_rules[0].effect", "has no value 7"},
		{[]*agentv1.AddedRule{{Id: "session.a", Effect: asks, RiskAtLeast: 9}}, "added_rules[0].risk_at_least", "has no value 9"},
		{many, "added_rules", "at most 32"},
	} {
		_, err := d.agent.CreateSession(d.ann(), &agentv1.CreateSessionRequest{Session: &agentv1.Session{AddedRules: tt.rules}})
		d.wrong(err, "session."+tt.field, tt.says)
	}
	if list, err := d.agent.ListSessions(d.ann(), &agentv1.ListSessionsRequest{}); err != nil || len(list.Sessions) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
