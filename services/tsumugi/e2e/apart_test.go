package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// Ids of what a has. Those of one kind are of one length, so that they can stand for each other in an answer.
const (
	theFlow, theLost  = "flows/0196b2c4-0001-7aaa-8bbb-000000000001", "flows/0196b2c4-0002-7aaa-8bbb-000000000002"
	theRoot, theLeft  = "nodes/0196b2c4-0003-7aaa-8bbb-000000000003", "nodes/0196b2c4-0004-7aaa-8bbb-000000000004"
	theRight, theGone = "nodes/0196b2c4-0005-7aaa-8bbb-000000000005", "nodes/0196b2c4-0006-7aaa-8bbb-000000000006"
	// theRequest is the id of the request that makes the session of a.
	theRequest = "0196b2c4-0009-7aaa-8bbb-000000000009"
)

// foreign are requests for what a has, of which b is told that it is not there. Those of one method stand in the order in which a may make them.
var foreign = []struct{ method, request string }{
	{"GetNode", `{"name": "ROOT"}`},
	{"UpdateNode", `{"node": {"name": "ROOT", "note": "盗み"}, "updateMask": "note"}`},
	{"ListNodeRevisions", `{"name": "ROOT"}`},
	{"RestoreNodeRevision", `{"name": "ROOT", "revision": "1"}`},
	{"GetFlow", `{"name": "FLOW"}`},
	{"UpdateFlow", `{"flow": {"name": "FLOW", "displayName": "盗み"}, "updateMask": "displayName"}`},
	{"AddNode", `{"flow": "FLOW", "newNode": {"texts": [{"role": "user", "content": "盗み"}]}, "parents": ["ROOT"]}`},
	{"SplitNode", `{"flow": "FLOW", "node": "ROOT", "textIndex": 0, "offset": 1}`},
	{"SetCurrentNode", `{"flow": "FLOW", "node": "LEFT"}`},
	{"ListPathNodes", `{"flow": "FLOW", "node": "LEFT"}`},
	{"ListHistoryNodes", `{"flow": "FLOW"}`},
	{"DiffNodes", `{"node": "LEFT", "other": "RIGHT"}`},
	{"DiffHeads", `{"flow": "FLOW", "node": "LEFT", "other": "RIGHT"}`},
	{"ValidateFlow", `{"flow": "FLOW"}`},
	{"ConnectNodes", `{"flow": "FLOW", "parent": "LEFT", "child": "RIGHT"}`},
	{"ReconnectNodes", `{"flow": "FLOW", "child": "RIGHT", "oldParent": "LEFT", "newParent": "ROOT"}`},
	{"DisconnectNodes", `{"flow": "FLOW", "parent": "ROOT", "child": "RIGHT"}`},
	{"BranchFlow", `{"flow": "FLOW", "node": "LEFT", "displayName": "盗み"}`},
	{"ForkFlow", `{"flow": "FLOW", "way": "FORK_WAY_WHOLE"}`},
	{"RebuildFlow", `{"flow": "FLOW", "nodes": ["ROOT", "LEFT", "RIGHT"], "etag": "ETAG"}`},
	{"UndoFlow", `{"flow": "FLOW"}`},
	{"RedoFlow", `{"flow": "FLOW"}`},
	{"ExportFlows", `{"flows": ["FLOW"]}`},
	{"GenerateNode", `{"flow": "FLOW", "parent": "LEFT", "text": "続けて"}`},
	{"GenerateNode", `{"flow": "FLOW", "parent": "LEFT", "dryRun": true}`},
	{"GetGeneration", `{"name": "GENERATION"}`},
	{"WatchGeneration", `{"name": "GENERATION"}`},
	{"CancelGeneration", `{"name": "GENERATION"}`},
	{"BuildNodeContext", `{"flow": "FLOW", "parent": "LEFT"}`},
	{"BuildSummaries", `{"flow": "FLOW"}`},
	{"RemoveNode", `{"flow": "FLOW", "node": "RIGHT"}`},
	{"UndeleteNode", `{"name": "GONE"}`},
	{"UndeleteFlow", `{"name": "LOST"}`},
	{"DeleteNode", `{"name": "RIGHT"}`},
	{"DeleteFlow", `{"name": "FLOW"}`},
	{"GetSession", `{"name": "SESSION"}`},
	{"CreateSession", `{"session": {"continueFrom": "SESSION"}}`},
	{"UpdateSession", `{"session": {"name": "SESSION", "goal": "盗み"}, "updateMask": "goal"}`},
	{"ListTools", `{"session": "SESSION"}`},
	{"ExplainPolicy", `{"session": "SESSION", "tool": "session_status"}`},
	{"CallTool", `{"session": "SESSION", "tool": "session_status", "dryRun": true}`},
	{"ListAuditRecords", `{"session": "SESSION"}`},
	{"VerifyAudit", `{"session": "SESSION", "replay": true}`},
	{"WatchSession", `{"name": "SESSION"}`},
	{"WatchSession", `{"name": "SESSION", "fromSeq": 1}`},
	{"GetApproval", `{"name": "APPROVAL"}`},
	{"ExtendApproval", `{"name": "APPROVAL", "expireTime": "2100-01-01T00:00:00Z"}`},
	{"DecideApproval", `{"name": "APPROVAL", "decision": "DECISION_APPROVE", "digest": "DIGEST"}`},
	{"DecideApproval", `{"name": "APPROVAL", "decision": "DECISION_EDIT", "digest": "DIGEST", "arguments": "{}"}`},
	{"SendMessage", `{"session": "SESSION", "text": "盗み", "mode": "MESSAGE_MODE_SIDE"}`},
	{"SendMessage", `{"session": "SESSION", "text": "盗み"}`},
	{"SendMessage", `{"session": "SESSION", "text": "approve APPROVAL"}`},
	{"SendMessage", `{"session": "SESSION", "text": "盗み", "mode": "MESSAGE_MODE_SUPERSEDE", "approvals": ["APPROVAL"]}`},
	{"SendMessage", `{"session": "SESSION", "text": "盗み", "mode": "MESSAGE_MODE_INTERRUPT", "turn": "TURN"}`},
	{"SubmitToolResult", `{"session": "SESSION", "call": "1", "output": "盗み"}`},
	{"RevokeRule", `{"session": "SESSION", "rule": "1"}`},
	{"CancelTurn", `{"session": "SESSION", "turn": "TURN"}`},
	{"DeleteSession", `{"name": "SESSION"}`},
	{"PurgeNode", `{"name": "GONE", "reason": "盗み"}`},
	{"PurgeFlow", `{"name": "LOST", "reason": "盗み"}`},
}

// own are requests that are answered, in the caller's own namespace: nothing of a is in an answer to b. Ids are those of a,
// which b may have, too, for something else.
var own = []struct{ method, request string }{
	{"ListNodes", `{}`}, {"ListNodes", `{"deleted": true}`}, {"ListNodes", `{"flow": "FLOW"}`}, {"ListFlows", `{}`}, {"ListFlows", `{"deleted": true}`},
	{"SearchNodes", `{"query": "秘密"}`}, {"ListTags", `{}`}, {"WatchEvents", `{"sinceSeq": 0}`}, {"WatchEvents", `{"nodes": ["ROOT"], "flows": ["FLOW"]}`},
	{"ExportFlows", `{}`}, {"FlushStore", `{}`}, {"CheckStore", `{}`}, {"RepairStore", `{}`}, {"RepairStore", `{"apply": true}`},
	{"BuildSummaries", `{}`},
	{"BuildStory", `{"body": "一。\n二は"}`}, {"ParseIdea", `{"text": "[本文]\n一。"}`}, {"BuildSystem", `{}`}, {"BuildAgent", `{"agent": {"step": "PLANNING", "status": "PENDING"}}`},
	{"BuildContext", `{}`}, {"BuildNodeDetail", `{"id": "a1b2c304"}`}, {"ListTemplates", `{}`}, {"GetTemplate", `{"name": "TEMPLATE"}`}, {"RenderTemplate", `{"name": "TEMPLATE"}`},
	{"ListBackends", `{}`}, {"ListPresets", `{}`}, {"CountTokens", `{"texts": ["夜"]}`},
	{"ListSessions", `{}`}, {"ListSessions", `{"owner": "a"}`}, {"ListSessions", `{"waiting": true}`}, {"ListApprovals", `{}`}, {"ListApprovals", `{"allStates": true, "withCounts": true}`},
	{"CreateSession", `{"session": {"goal": "b のもの"}, "requestId": "` + theRequest + `"}`},
	{"ImportFlows", `{}`},
	{"CreateNode", `{"node": {"texts": [{"role": "user", "content": "b のもの"}]}, "nodeId": "ROOTID"}`},
	{"CreateFlow", `{"flow": {"displayName": "b のもの"}, "flowId": "FLOWID"}`},
}

// words are in what a has, and in nothing else.
const words = "秘密の港"

// fill puts ids into a request.
func fill(request string, pairs ...string) string {
	return strings.NewReplacer(append([]string{
		"ROOTID", strings.TrimPrefix(theRoot, "nodes/"), "FLOWID", strings.TrimPrefix(theFlow, "flows/"),
		"FLOW", theFlow, "LOST", theLost, "ROOT", theRoot, "LEFT", theLeft, "RIGHT", theRight, "GONE", theGone,
	}, pairs...)...).Replace(request)
}

// elsewhere puts an id that nobody has in the place of each of a.
func elsewhere(text string) string { return ofOthers.ReplaceAllString(text, "$1/fffff$2") }

var ofOthers = regexp.MustCompile(`\b(nodes|flows|generations|sessions|approvals)/[0-9a-f]{5}([0-9a-f]{3}-)`)

// methods are all RPCs of the three services, by name.
func (w *world) methods() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	for _, s := range w.services() {
		for i := range s.service.Methods().Len() {
			all[string(s.service.Methods().Get(i).Name())] = s.service.Methods().Get(i)
		}
	}
	return all
}

// apart: no RPC of the three services tells or changes anything of another namespace, over gRPC and over REST; what is foreign is told as what
// was never there. Without a token nothing is answered. Each try is in the log, under the namespace and the token of who made it (cases/agent.md
// c22): no audit of a session has it, for it is about none of the caller's.
func apart(t *testing.T, m mode) {
	w, a, b := guarded(t, m, func(s *settings) { s.level = "info" })
	methods := w.methods()
	tried := map[string]bool{}
	all := append(append([]struct{ method, request string }{}, foreign...), own...)
	for _, c := range all {
		tried[c.method] = true
		if methods[c.method] == nil {
			t.Fatalf("there is no %s", c.method)
		}
	}
	for name := range methods {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
	as, bs := w.as(t, a), w.as(t, b)
	known := w.furnish(t, as[0])
	before := w.all(t, as[0], known)
	for _, nobody := range w.as(t, "") {
		for _, c := range all {
			answer, err := nobody.ask(t, methods[c.method], fill(c.request, known...))
			if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.Unauthenticated || e.Reason != apierr.ReasonUnauthenticated || leaks(answer) {
				t.Errorf("%s over %s without a token: %s %v", c.method, nobody.how, answer, err)
			}
		}
	}
	session, approver := authtest.User("s", "team-a"), authtest.User("p", "team-a")
	session.Session, approver.Roles = "sessions/0196b2c4-0008-7aaa-8bbb-000000000008", []token.Role{token.Approver}
	for _, one := range []token.Token{session, approver} {
		who := auth.Caller{Name: one.Name, Roles: one.Roles, Session: one.Session}
		for _, x := range w.as(t, authtest.Add(t, w.settings.tokens, one)) {
			for _, c := range all {
				x.barred(t, who, methods[c.method], fill(c.request, known...))
			}
		}
	}
	for _, x := range bs {
		for _, c := range foreign {
			w.denied(t, x, c.method, fill(c.request, known...))
		}
	}
	w.logged(t, "team-b", token.ID(b), known)
	for _, x := range bs {
		for _, c := range own {
			answer, err := x.ask(t, methods[c.method], fill(c.request, known...))
			if err != nil && !expected(c.method, err, x.how == bs[0].how) {
				t.Errorf("%s %s over %s: %v", c.method, c.request, x.how, err)
			}
			if leaks(answer) || leaks(fmt.Sprint(err)) {
				t.Errorf("%s %s over %s tells of another namespace: %s %v", c.method, c.request, x.how, answer, err)
			}
		}
	}
	if after := w.all(t, as[0], known); after != before {
		t.Errorf("something of a has changed:\n%s\nis\n%s", before, after)
	}
	for _, c := range foreign { // They are right, so that b was refused for the namespace alone.
		if _, err := as[0].ask(t, methods[c.method], fill(c.request, known...)); gone(err) {
			t.Errorf("%s of a: %v", c.method, err)
		}
	}
}

// logged: each request for what is known to somebody else that was made of the agent, over gRPC and over REST, is a line of the log with its method,
// its answer, what it asked for, and whose it was.
func (w *world) logged(t *testing.T, ns, id string, known []string) {
	t.Helper()
	text, err := os.ReadFile(w.settings.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var l struct{ Method, Code, Message, Namespace, Token string }
		named := func(name string) bool { return strings.Contains(name, "/") && strings.Contains(l.Message, name) }
		if json.Unmarshal([]byte(line), &l) == nil && l.Code == codes.NotFound.String() && l.Namespace == ns && l.Token == id && slices.ContainsFunc(append(known, theFlow), named) {
			got[path.Base(l.Method)]++
		}
	}
	want := map[string]int{}
	for _, c := range foreign {
		want[c.method] += 2
	}
	for method, n := range want {
		if string(w.methods()[method].Parent().FullName()) == "tsumugi.agent.v1.AgentService" && got[method] != n {
			t.Errorf("%s was tried %d times, and the log tells of %d", method, n, got[method])
		}
	}
}

// barred: who is bound to a session of an agent, or approves and does no more, gets nothing of a call that is not for them, in their own namespace.
func (a asker) barred(t *testing.T, who auth.Caller, m protoreflect.MethodDescriptor, request string) {
	t.Helper()
	if who.MayCall(fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())) == nil {
		return
	}
	answer, err := a.ask(t, m, request)
	if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.PermissionDenied || e.Reason != apierr.ReasonPermissionDenied || leaks(answer+e.Message) {
		t.Errorf("%s over %s as %s: %s %v", m.Name(), a.how, who.Name, answer, err)
	}
}

// expected says whether an error is the caller's own: what it makes twice is there already, and these two are not asked as they ought to be.
func expected(method string, err error, first bool) bool {
	e, ok := apierr.FromStatus(err)
	return ok && (e.Code == codes.AlreadyExists && !first || e.Code == codes.NotFound && first && method == "ListNodes" ||
		e.Code == codes.InvalidArgument && (method == "ImportFlows" || method == "RenderTemplate"))
}

// furnish gives a everything that the requests ask for.
func (w *world) furnish(t *testing.T, a asker) (known []string) {
	t.Helper()
	methods := w.methods()
	do := func(method, request string) string {
		t.Helper()
		answer, err := a.ask(t, methods[method], fill(request))
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return answer
	}
	node := func(name string) string {
		return `"newNode": {"texts": [{"role": "user", "content": "` + words + `"}], "tags": ["` + words + `"]}, "nodeId": "` + strings.TrimPrefix(name, "nodes/") + `"`
	}
	for _, name := range []string{theFlow, theLost} {
		do("CreateFlow", `{"flow": {"displayName": "`+words+`"}, "flowId": "`+strings.TrimPrefix(name, "flows/")+`"}`)
	}
	do("AddNode", `{"flow": "FLOW", "setCurrent": true, `+node(theRoot)+`}`)
	for _, name := range []string{theLeft, theRight, theGone} {
		do("AddNode", `{"flow": "FLOW", "parents": ["ROOT"], `+node(name)+`}`)
	}
	do("UpdateNode", `{"node": {"name": "ROOT", "texts": [{"role": "user", "content": "`+words+`。"}]}, "updateMask": "texts"}`)
	do("RemoveNode", `{"flow": "FLOW", "node": "GONE"}`)
	do("DeleteNode", `{"name": "GONE"}`)
	do("DeleteFlow", `{"name": "LOST"}`)
	events := do("GenerateNode", `{"flow": "FLOW", "parent": "LEFT", "text": "`+words+`"}`)
	_, rest, _ := strings.Cut(events, "generations/")
	var flow flowstorev1.Flow
	var templates promptbuilderv1.ListTemplatesResponse
	for text, m := range map[string]proto.Message{do("GetFlow", `{"name": "FLOW"}`): &flow, do("ListTemplates", `{}`): &templates} {
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(rest) < 36 || len(templates.GetTemplates()) == 0 {
		t.Fatalf("no generation in %s, or no template", events)
	}
	session := w.ownSession(t, a)
	return []string{
		"SESSION", session.GetName(), "APPROVAL", session.GetWaitingOn()[0], "TURN", session.GetTurn().GetId(), "DIGEST", strings.Repeat("0", 64),
		"GENERATION", "generations/" + rest[:36], "ETAG", strings.ReplaceAll(flow.GetEtag(), `"`, `\"`), "TEMPLATE", templates.GetTemplates()[0].GetName(),
	}
}

// ownSession makes a session of a that waits for a decision about its plan.
func (w *world) ownSession(t *testing.T, a asker) *agentv1.Session {
	t.Helper()
	agent := agentv1.NewAgentServiceClient(a.conns["tsumugi.agent.v1.AgentService"])
	made, err := agent.CreateSession(a.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{Goal: words}, RequestId: theRequest})
	if err != nil {
		t.Fatal(err)
	}
	h, err := tell(a.ctx, agent, &agentv1.SendMessageRequest{Session: made.GetName(), Text: words})
	if err != nil || !h.session.GetPendingGate() {
		t.Fatalf("%v, %v", h.session, err)
	}
	return h.session
}

// all is what a has, and the number of its last change.
func (w *world) all(t *testing.T, a asker, known []string) string {
	t.Helper()
	var out strings.Builder
	for _, c := range []struct{ method, request string }{
		{"ListNodes", `{"view": "NODE_VIEW_FULL"}`}, {"ListNodes", `{"deleted": true}`}, {"ListFlows", `{}`}, {"ListFlows", `{"deleted": true}`}, {"GetFlow", `{"name": "FLOW"}`}, {"WatchEvents", `{}`},
		{"ListSessions", `{}`}, {"ListApprovals", `{"allStates": true}`}, {"GetApproval", `{"name": "APPROVAL"}`}, {"ListAuditRecords", `{"session": "SESSION"}`},
	} {
		answer, err := a.ask(t, w.methods()[c.method], fill(c.request, known...))
		if err != nil || answer == "{}" {
			t.Fatalf("%s: %s %v", c.method, answer, err)
		}
		out.WriteString(strings.ReplaceAll(answer, " ", "")) // of which protojson has now one and now two
	}
	return out.String()
}

// denied asks for what is foreign: the answer must be that for what nobody has.
func (w *world) denied(t *testing.T, x asker, method, request string) {
	t.Helper()
	answer, err := x.ask(t, w.methods()[method], request)
	if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.NotFound || leaks(answer) || strings.Contains(err.Error(), words) {
		t.Errorf("%s of another namespace over %s: %s %v", method, x.how, answer, err)
	}
	_, never := x.ask(t, w.methods()[method], elsewhere(request))
	if elsewhere(fmt.Sprint(err)) != fmt.Sprint(never) {
		t.Errorf("%s over %s: %v; but of what was never there: %v", method, x.how, err, never)
	}
}

// leaks says whether something of a is in an answer. Ids alone do not tell: b may have sent them.
func leaks(answer string) bool {
	return strings.Contains(answer, words) || strings.Contains(answer, theLeft) || strings.Contains(answer, theGone) || strings.Contains(answer, theLost)
}

// gone says that what a request is about is not there for its caller, or they may not have it. That a session of theirs lacks something is another thing.
func gone(err error) bool {
	e, ok := apierr.FromStatus(err)
	return ok && e.Reason != "CALL_NOT_FOUND" && e.Reason != "RULE_NOT_FOUND" && (e.Code == codes.NotFound || e.Code == codes.Unauthenticated || e.Code == codes.PermissionDenied)
}
