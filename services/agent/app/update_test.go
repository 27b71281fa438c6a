package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// TestASessionThatReadASkillIsSentBack: what the agent itself has added to the references is taken from whoever sends the session back, whole or by a
// mask, and stays the agent's; a person may name it in a new session, too.
func TestASessionThatReadASkillIsSentBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const skill = "file:/skills/SKILL.md"
	s := d.create(&agentv1.Session{Goal: "港", Root: "work", ContextRefs: []string{"file:a.md"}})
	d.send(s.Name, "技は")
	read := d.until(s.Name, func(s *agentv1.Session) bool { return slices.Contains(s.ContextRefs, skill) })
	whole := proto.Clone(read).(*agentv1.Session)
	whole.Goal, whole.Etag = "海", ""
	back, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: whole})
	if d.ok(err); back.Goal != "海" || !slices.Equal(back.ContextRefs, []string{"file:a.md", skill}) {
		t.Errorf("%v", back)
	}
	rows, err := d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: s.Name, PageSize: 100})
	if d.ok(err); strings.Contains(fmt.Sprint(rows), "context_refs") {
		t.Errorf("nobody changed the references: %v", rows)
	}
	masked := &agentv1.UpdateSessionRequest{Session: whole, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"context_refs"}}}
	whole.ContextRefs = []string{skill}
	back, err = d.agent.UpdateSession(d.ann(), masked)
	if d.ok(err); !slices.Equal(back.ContextRefs, []string{skill}) {
		t.Errorf("%v", back)
	}
	d.create(&agentv1.Session{ContextRefs: []string{skill}})
	whole.ContextRefs = []string{skill, "file:/skills/../x"}
	_, err = d.agent.UpdateSession(d.ann(), masked)
	d.wrong(err, "session.context_refs[1]", "/MOUNT/ and a path inside a read root")
	if e, _ := apierr.FromStatus(err); !strings.HasPrefix(e.Message, "session.context_refs[1]: ") {
		t.Errorf("the message names another field: %s", e.Message)
	}
}

// TestUpdateOfWhatCannotBeChanged: each field that a session keeps as it was made is refused by name where another value is sent for it, all of them at
// once and with whatever else is wrong, and nothing is changed. A session that was read can be sent back whole.
func TestUpdateOfWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	sky := &agentv1.ClientTool{Name: "sky", Description: "says what the sky is like", InputSchema: `{"type":"object"}`}
	other := &agentv1.ClientTool{Name: "sea", Description: "says what the sea is like", InputSchema: `{"type":"object"}`}
	s := d.create(&agentv1.Session{Goal: "港", Root: "work", ClientTools: []*agentv1.ClientTool{sky}})
	mask := func(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }
	for what, c := range map[string]struct {
		session *agentv1.Session
		mask    *fieldmaskpb.FieldMask
		fields  []string
	}{
		"one":       {session: &agentv1.Session{Goal: "海", Root: "other"}, fields: []string{"session.root"}},
		"backend":   {session: &agentv1.Session{Goal: "海", Backend: "other"}, fields: []string{"session.backend"}},
		"owner":     {session: &agentv1.Session{Goal: "海", Owner: "eve"}, fields: []string{"session.owner"}},
		"locale":    {session: &agentv1.Session{Goal: "海", Locale: "en"}, fields: []string{"session.locale"}},
		"continues": {session: &agentv1.Session{Goal: "海", ContinueFrom: s.Name}, fields: []string{"session.continue_from"}},
		"tools":     {session: &agentv1.Session{Goal: "海", ClientTools: []*agentv1.ClientTool{other}}, fields: []string{"session.client_tools"}},
		"all": {
			session: &agentv1.Session{Goal: "海\n", Policy: "none", Owner: "eve", Root: "other", Backend: "other", Locale: "xx", ContinueFrom: "x", ClientTools: []*agentv1.ClientTool{{}}},
			fields: []string{
				"session.owner", "session.root", "session.backend", "session.locale", "session.continue_from", "session.client_tools", "session.policy", "session.goal",
			},
		},
		"nothing else": {session: &agentv1.Session{Root: "work", Owner: "eve"}, fields: []string{"session.owner", "session.root", "update_mask"}},
		"a mask": {
			session: &agentv1.Session{Goal: "海"}, mask: mask("goal", "root", "owner", "namespace", "id", "status", "*"),
			fields: []string{"update_mask", "update_mask", "update_mask", "update_mask", "update_mask", "update_mask"},
		},
	} {
		c.session.Name = s.Name
		_, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: c.session, UpdateMask: c.mask})
		d.refused(err, codes.InvalidArgument, "INVALID_FIELD")
		e, _ := apierr.FromStatus(err)
		var fields []string
		for _, v := range e.Violations {
			fields = append(fields, v.Field)
			if v.Field == "update_mask" && !strings.Contains(v.Description, "goal, why_now, constraints, plan_brief, open_questions, context_refs, policy") {
				t.Errorf("%s: what can be changed is not said: %s", what, v.Description)
			}
		}
		if !slices.Equal(fields, c.fields) {
			t.Errorf("%s: %v, want %v", what, fields, c.fields)
		}
		if now := d.until(s.Name, func(*agentv1.Session) bool { return true }); now.Etag != s.Etag {
			t.Fatalf("%s: it was changed: %v", what, now)
		}
	}
	whole := proto.Clone(s).(*agentv1.Session)
	whole.Goal = "海"
	changed, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: whole})
	d.ok(err)
	whole.Etag = "" // As it was declared, without what was filled in.
	whole.ClientTools, whole.Goal = []*agentv1.ClientTool{sky}, "空"
	again, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: whole})
	d.ok(err)
	if changed.Goal != "海" || again.Goal != "空" || again.Root != "work" || again.Owner != "ann" {
		t.Errorf("%v, %v", changed, again)
	}
	_, err = d.agent.CreateSession(d.ann(), &agentv1.CreateSessionRequest{Session: &agentv1.Session{Goal: "港", Owner: "eve"}})
	d.refused(err, codes.InvalidArgument, "INVALID_FIELD")
	if mine := d.create(&agentv1.Session{Goal: "港", Owner: "ann"}); mine.Owner != "ann" {
		t.Errorf("%v", mine)
	}
	// What a mask does not name is not looked at.
	masked, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: s.Name, WhyNow: "今", Root: "other"}, UpdateMask: mask("why_now")})
	if d.ok(err); masked.WhyNow != "今" || masked.Root != "work" {
		t.Errorf("%v", masked)
	}
}
