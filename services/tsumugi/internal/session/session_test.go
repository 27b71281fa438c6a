package session

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/agenttest"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// desk is a running Tsumugi, and what a person sees of it.
type desk struct {
	*agenttest.Desk
	out, err bytes.Buffer
}

func newDesk(t *testing.T) *desk { t.Helper(); return &desk{Desk: agenttest.Start(t)} }

// on are options about a session, of somebody who types something.
func (d *desk) on(name, typed string) Options {
	d.out.Reset()
	d.err.Reset()
	return Options{Addr: d.Addr, Name: name, In: strings.NewReader(typed), Out: &d.out, Err: &d.err}
}

// must says what was shown.
func (d *desk) must(err error) string {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
	return d.out.String()
}

func (d *desk) has(text string, all ...string) {
	d.Helper()
	at := 0
	for _, want := range all {
		i := strings.Index(text[at:], want)
		if i < 0 {
			d.Errorf("no %q, or not in this order, in\n%s", want, text)
			return
		}
		at += i
	}
}

// A person makes a session, sends a message, is told what happens and what waits for whom, and decides by words.
func TestATask(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	o := d.on("", "")
	made := d.must(New(t.Context(), o, &agentv1.Session{Goal: "notes\ttell", Root: agenttest.Work, Locale: "en", Constraints: []string{"short"}}))
	name := strings.TrimSuffix(made, "\n")
	if err := New(t.Context(), d.on("", ""), &agentv1.Session{Goal: "notes", Root: "nix"}); err == nil || err.Error() != `root: there is no work folder "nix"; there are work` {
		t.Errorf("%v", err)
	}
	if !strings.HasPrefix(name, "sessions/") || len(name) != len("sessions/")+36 {
		t.Fatalf("%q", made)
	}
	shown := d.must(Send(t.Context(), d.on(name[len(name)-8:], "Write\nit.\n"), Message{Text: "-"}))
	d.has(shown, "the message is taken\n", "turn running\n", "the model: I will write notes.txt.\n", "        it says why: One file.\n", "step: PLANNING → EXECUTION (MODEL)\n",
		"approval ASK: approvals/", "TOOL_CALL write notes.txt in work, risk MEDIUM\n", "look and decide: tsumugi approval approve ", " --addr "+d.Addr+" --approver\n",
		"is OPEN, in AWAITING_APPROVAL: REQUIRES_USER_INPUT\n", "waits for: approvals/")
	waits := d.Rests(name).GetWaitingOn()[0]
	approver := d.on(name, "")
	approver.Token = d.Approver
	d.has(d.must(Show(t.Context(), approver)), "goal: notes tell\n", "constraints:\n  - short\n", "work folder: work\n", "waits for: "+waits, "or in a message: To approve, send exactly `approve "+client.ID(waits))
	d.has(d.must(List(t.Context(), d.on("", ""), true, 10)), "NAME", name+"  AWAITING_APPROVAL  REQUIRES_USER_INPUT  approvals: 1  2")
	approver = d.on(name, "")
	approver.Token = d.Approver
	d.has(d.must(Send(t.Context(), approver, Message{Text: "approve " + client.ID(waits)})), "the message has decided "+waits)
	d.Rests(name)
	from := int64(0)
	d.has(d.must(Watch(t.Context(), d.on(name, ""), &from)), "     2  message QUEUED\n", "approval APPROVE: "+waits, ", by local", "call write ", ": BEGUN", ": EXECUTED", "          | ",
		"the model: Done.\n", "step: REVIEW → DONE (MODEL)\n", "turn stopped (DONE)\n", "is DONE, in DONE: SUCCESS, stopped: DONE\n")
	if got := d.must(List(t.Context(), d.on("", ""), true, 10)); strings.Contains(got, name) {
		t.Errorf("it waits still:\n%s", got)
	}
}

// What a message said that waits is not lost when somebody cancels: cancel tells it, and so does a stream.
func TestCancelTellsWhatWaited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	d.Asked(name)
	from := d.Rests(name).GetSeq()
	stream, err := d.Agent.SendMessage(t.Context(), &agentv1.SendMessageRequest{Session: name, Text: "Then write\nthe rest."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil { // It is stored.
		t.Fatal(err)
	}
	const told = "message CLOSED, which said:\n  | Then write\n  | the rest.\n"
	d.has(d.must(Cancel(t.Context(), d.on(name, ""), false)), name+" is CANCEL", told)
	d.has(d.must(Watch(t.Context(), d.on(name, ""), &from)), strings.ReplaceAll(strings.TrimSuffix(told, "\n"), "\n", "\n        "))
	if again := d.must(Cancel(t.Context(), d.on(name, ""), false)); strings.Contains(again, "CLOSED") {
		t.Errorf("once more: %s", again)
	}
}

// A message beside the work is answered at once, one that interrupts or takes the place of what waits names what it stops, and cancel ends the task.
func TestModes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	d.Asked(name)
	d.has(d.must(Send(t.Context(), d.on(name, ""), Message{Text: "How far?", Mode: "side"})), "aside, the model: Nearly done.")
	ctx, stop := context.WithCancel(t.Context())
	gone, seen := make(chan error, 1), &bytes.Buffer{}
	waiting := Options{Addr: d.Addr, Name: name, Out: seen, Err: &bytes.Buffer{}}
	go func() { gone <- Send(ctx, waiting, Message{Text: "please wait", Mode: "supersede"}) }()
	d.works(name)
	d.has(d.must(Send(t.Context(), d.on(name, ""), Message{Text: "please ask", Mode: "interrupt"})), "turn stopping", "the model: One thing first.\n", "it asks: Which file?\n", "turn stopped (PENDING_USER)")
	stop()
	if err := <-gone; err != nil {
		t.Errorf("who goes away is told %v", err)
	}
	d.has(seen.String(), "approval SUPERSEDE: approvals/", "turn running")
	d.has(d.must(Show(t.Context(), d.on(name, ""))), "the model asks, and the next message answers: Which file?\n")
	d.has(d.must(List(t.Context(), d.on("", ""), true, 10)), name, "  an answer  ")
	d.has(d.must(Cancel(t.Context(), d.on(name, ""), false)), name+" is CANCEL")
	d.has(d.must(Cancel(t.Context(), d.on(name, ""), true)), name+" is CANCEL")
	if err := Send(t.Context(), d.on(name, ""), Message{Text: "x", Mode: "loud"}); err == nil || err.Error() != `--mode is "loud"; it must be one of interrupt, queue, side, supersede` {
		t.Error(err)
	}
}

// works waits until a turn of the session runs.
func (d *desk) works(name string) {
	d.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := d.Agent.GetSession(d.Context(), &agentv1.GetSessionRequest{Name: name})
		if err != nil {
			d.Fatal(err)
		}
		if s.GetTurn().GetState() == agentv1.TurnState_TURN_STATE_RUNNING {
			return
		}
	}
	d.Fatal("no turn runs after a minute")
}

// leaving is the screen of a person who leaves when they have seen a text.
type leaving struct {
	screen *bytes.Buffer
	text   string
	leave  func()
}

func (l leaving) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.leave()
	}
	return l.screen.Write(p)
}

// Who leaves by Ctrl-C is told how to come back; the session goes on.
func TestComeBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	d.Asked(name)
	ctx, stop := context.WithCancel(t.Context())
	from, o := int64(1), d.on(name, "")
	o.Out = leaving{&d.out, "AWAITING_APPROVAL (GATE)", stop}
	d.has(d.must(Watch(ctx, o, &from)), "message QUEUED", "approval ASK")
	d.has(d.err.String(), "come back with: tsumugi session watch "+client.ID(name)+" --from ", " --addr "+d.Addr+"\n")
}

// A tool that the client carries out comes from a file, its call is told with the command that answers it, and the answer is taken once.
func TestClientTool(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	schema := `{"type": "object", "properties": {"place": {"type": "string"}}}`
	tools, err := ClientTools([]string{
		d.File("sky.json", `{"name": "sky", "description": "Looks.", "timeoutSeconds": 60, "inputSchema": `+schema+`}`),
		d.File("sea.json", `{"name": "sea", "description": "Looks.", "inputSchema": "{\"type\": \"object\"}"}`),
	})
	if err != nil || tools[0].GetInputSchema() != schema || tools[1].GetInputSchema() != `{"type": "object"}` {
		t.Fatalf("%v, %v", tools, err)
	}
	for wrong, says := range map[string]string{
		"": "it is empty; it must be a JSON object with name", "{": "it is no JSON from line 1 on", "[]": `it must be a JSON object with name, description, inputSchema and timeoutSeconds, and begins with "[]"`,
		"null": "it must be a JSON object with name", `{"colour": 1}`: "colour: there is no such field; there are name", `{"timeoutSeconds": "x"}`: `timeoutSeconds: must be a whole number of at most 2147483647, and is "x"`,
		`{"name": 1}`: "name: must be a text in quotes, and is 1", `{"name": "sky", "name": "sea"}`: "name: it is there twice in one object",
		`{"name": "sky", "inputSchema": {"type": "object", "properties": {"a": {}, "a": {}}}}`: "inputSchema.properties.a: it is there twice in one object",
	} {
		if _, err := ClientTools([]string{d.File("wrong.json", wrong)}); err == nil || !strings.Contains(err.Error(), "wrong.json: "+says) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	name := strings.TrimSpace(d.must(New(t.Context(), d.on("", ""), &agentv1.Session{Goal: "about the sky", Locale: "en", ClientTools: tools})))
	d.has(d.must(Tools(t.Context(), d.on(name, ""))), "sky  (client, destructive, reaches further than the work folder)\n    Looks.\n    "+schema+"\n")
	approval := d.Asked(name)
	d.approve(name, approval)
	call := d.open(name)
	watching, leave := context.WithCancel(t.Context())
	begin, seen := int64(0), d.on(name, "")
	seen.Out = leaving{&d.out, "it waits for a result: sky", leave}
	d.has(d.must(Watch(watching, seen, &begin)), "call sky "+call+": BEGUN", "it waits for a result: sky {", "\n", "answer with the file RESULT: tsumugi session result "+client.ID(name)+" "+call+" --addr "+d.Addr+" < RESULT\n")
	d.has(d.must(Show(t.Context(), d.on(name, ""))), `waits for a result: sky {"place":"神戸"}, until `, "\n", "answer with the file RESULT: tsumugi session result "+client.ID(name)+" "+call+" --addr "+d.Addr+" < RESULT\n")
	d.has(d.must(List(t.Context(), d.on("", ""), false, 10)), "  a result  ")
	if err := Result(t.Context(), d.on(name, "raindrops\n"), "0000", false); err == nil || !strings.Contains(err.Error(), `has an id that ends with "0000"; there are:`+"\n  "+call+"  sky") {
		t.Errorf("another call: %v", err)
	}
	d.has(d.must(Result(t.Context(), d.on(name, "raindrops\n"), call[len(call)-8:], false)), "The result is taken.\n")
	d.has(d.must(Result(t.Context(), d.on(name, "raindrops\n"), call, false)), "The same result had been taken before.\n")
	if err := Result(t.Context(), d.on(name, "sun\n"), call, true); err == nil {
		t.Error("another result is taken")
	}
	d.Rests(name)
	from := int64(0)
	ctx, stop := context.WithCancel(t.Context())
	o := d.on(name, "")
	o.Out = leaving{&d.out, "IN_PROGRESS → SUCCESS", stop}
	d.has(d.must(Watch(ctx, o, &from)), "call sky "+call+": BEGUN", "EXECUTED", "raindrops", "the model: It rains.")
}

// approve approves by words, and leaves when they have decided.
func (d *desk) approve(session, approval string) {
	d.Helper()
	ctx, leave := context.WithCancel(d.Context())
	o := d.on(session, "")
	o.Token, o.Out = d.Approver, leaving{&d.out, "approval APPROVE", leave}
	d.must(Send(ctx, o, Message{Text: "approve " + client.ID(approval)}))
}

// open waits for a call of a client tool, and gives its id.
func (d *desk) open(name string) string {
	d.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := d.Agent.GetSession(d.Context(), &agentv1.GetSessionRequest{Name: name})
		if err != nil {
			d.Fatal(err)
		}
		if calls := s.GetOpenToolCalls(); len(calls) == 1 {
			return calls[0].GetCall()
		}
	}
	d.Fatal("no call waits for a result after a minute")
	return ""
}

// What policy says of a call is told with what it looked at; a call without the model goes the same way, and needs the digest of a look.
func TestCallAndExplain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	d.has(d.must(Explain(t.Context(), d.on(name, ""), "write", `{"path": "a.sh", "content": ""}`)), "DENY: Files of the kind of a.sh are never written.\n", "policy: default\n", "\n > EXTENSION: ")
	d.has(d.must(Explain(t.Context(), d.on(name, ""), "read", `{"path": "../a"}`)), "DENY: ", "stopped at: PATH (BAD_PATH)\n")
	c := Call{Tool: "write", Arguments: `{"path": "a.txt", "content": "one\n"}`, DryRun: true}
	o := d.on(name, "")
	o.Token = d.Approver
	shown := d.must(CallTool(t.Context(), o, c))
	d.has(shown, "ASK: ", `arguments: {"content":"one\n","path":"a.txt"}`, "digest: ", "+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n")
	_, digest, _ := strings.Cut(shown, "\ndigest: ")
	c.DryRun, c.Digest = false, digest[:64]
	o = d.on(name, "")
	o.Token = d.Approver
	d.has(d.must(CallTool(t.Context(), o, c)), "status: EXECUTED\n")
	d.has(d.must(CallTool(t.Context(), d.on(name, ""), Call{Tool: "read", Arguments: `{"path": "a.txt"}`})), "ALLOW: ", "status: EXECUTED\n", "one\n")
	d.must(CallTool(t.Context(), d.on(name, ""), Call{Tool: "read", Arguments: `{"path": "../a"}`, DryRun: true}))
	o = d.on(name, "")
	var not *NotExecutedError
	err := CallTool(t.Context(), o, Call{Tool: "read", Arguments: `{"path": "no.txt"}`})
	if d.has(d.out.String(), "status: FAILED\n"); !errors.As(err, &not) || not.Status != "FAILED" {
		t.Errorf("a read of a file that is not there: %v", err)
	}
}

// A tool that only reads is not told as one that destroys, whatever the default of its server's protocol is.
func TestHints(t *testing.T) {
	t.Parallel()
	got := hints(&agentv1.Tool{Origin: "mcp", ReadOnly: true, Destructive: true, OpenWorld: true})
	if want := []string{"mcp", "read only", "reaches further than the work folder"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := hints(&agentv1.Tool{Origin: "mcp", Destructive: true}); !slices.Equal(got, []string{"mcp", "destructive"}) {
		t.Errorf("%q", got)
	}
}

// What a session is about can be changed, what was allowed can be taken back, and a session can be deleted.
func TestUpdateRevokeDelete(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	d.has(d.must(Update(t.Context(), d.on(name, ""), &agentv1.Session{WhyNow: "rain", Goal: "not this"}, []string{"why_now"})), "goal: notes\n", "why now: rain\n")
	rules, err := Rules(d.File("rules.json", `[{"id": "session.law", "effect": "RULE_EFFECT_DENY", "path": "contracts/**", "readOnly": false, "riskAtLeast": "RISK_LOW", "reason": "lawyers"}]`))
	if err != nil {
		t.Fatal(err)
	}
	d.has(d.must(Update(t.Context(), d.on(name, ""), &agentv1.Session{AddedRules: rules}, []string{"added_rules"})),
		"added rule: session.law DENY path contracts/** risk at least LOW read_only false: lawyers\n")
	var s agentv1.Session
	for text, says := range map[string]string{"session-model-calls=40": "", "session_bytes_written=500000": "", "session-bytes-written=5000000000": "whole number", "calls=1": "they are message-model-calls", "message-seconds=": "whole number"} {
		if err := SetBudget(&s, text); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	d.has(d.must(Update(t.Context(), d.on(name, ""), &s, []string{"budgets"})), "spent: session model calls 0 of 40, session bytes written 0 of 500000\n")
	for text, says := range map[string]string{
		`{"id": 1}`: "must be a JSON list of rules", `[{"id": "session.a", "effects": "x"}]`: "bad.json: rule 1: effects: there is no such field; did you mean effect?", "": "bad.json: it is empty", "[null]": "rule 1: it must be a JSON object",
		`[{"effect": "RULE_EFFECT_ALLOW"}]`: `rule 1: effect: must be one of RULE_EFFECT_ASK, RULE_EFFECT_DENY, and is "RULE_EFFECT_ALLOW"`, `[{"readOnly": "x"}]`: `readOnly: must be true or false, and is "x"`,
	} {
		if _, err := Rules(d.File("bad.json", text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := Revoke(t.Context(), d.on(name, ""), "none"); err == nil {
		t.Error("a rule that is not there is taken back")
	}
	d.has(d.must(Delete(t.Context(), d.on(name, ""))), name+" is deleted; its flow and its audit stay.\n")
	if err := Show(t.Context(), d.on(name, "")); err == nil || err.Error() != "there is no session "+name {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"abcd": `no id of the newest 1000 sessions ends with "abcd"`, "abc": `"abc" names no session: it must be sessions/ and a UUID`, "夜話です": `no id of sessions ends with "夜話です"`,
	} {
		if err := Show(t.Context(), d.on(text, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := List(t.Context(), d.on("", ""), false, 0); err == nil || err.Error() != "--sessions is 0; it must be 1 to 10000" {
		t.Error(err)
	}
}

// Results are cut, and nothing that a model or a tool says reaches the terminal as an order.
func TestEventsAreLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 100)
	for want, e := range map[string]*agentv1.SessionEvent{
		"": {Event: &agentv1.SessionEvent_Heartbeat{}},
		"call read c: EXECUTED (ok)\n  | " + strings.TrimSuffix(strings.Repeat("line\n  | ", 12), "") + "… 88 more lines\n": {Event: &agentv1.SessionEvent_ToolCall{ToolCall: &agentv1.ToolCallChange{Call: "c", Tool: "read", State: "EXECUTED", Reason: "ok", Result: long}}},
		"refused: TRANSITION_REFUSED: not now; allowed: PLANNING, REVIEW": {Event: &agentv1.SessionEvent_Refused{Refused: &agentv1.Refused{
			Reason: "TRANSITION_REFUSED", Message: "not\nnow", AllowedSteps: []agentv1.Step{agentv1.Step_STEP_PLANNING, agentv1.Step_STEP_REVIEW},
		}}},
		"approval VOID: approvals/a, TOOL_CALL write, risk LOW (STALE_TARGET)": {Event: &agentv1.SessionEvent_Approval{Approval: &agentv1.ApprovalChange{Change: "VOID", Approval: &agentv1.Approval{
			Name: "approvals/a", Kind: agentv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Tool: "write", Risk: agentv1.Risk_RISK_LOW, VoidReason: "STALE_TARGET", Decision: &agentv1.DecisionRecord{DecidedBy: "local"},
		}}}},
		"! ONE_ALTERNATIVE: one":   {Event: &agentv1.SessionEvent_Warning{Warning: &agentv1.Warning{Code: "ONE_ALTERNATIVE", Message: "one"}}},
		"update by 千夏: DONE (why)": {Event: &agentv1.SessionEvent_Record{Record: &agentv1.AuditRecord{Kind: "update", Actor: "千夏", Verdict: "DONE", Reason: "why"}}},
		"the message is taken; turns before its own: 2; it decided nothing (NOT_PENDING); it had been taken before": {Event: &agentv1.SessionEvent_Accepted{
			Accepted: &agentv1.MessageAccepted{Position: 2, Replayed: true, NotDecided: "NOT_PENDING"},
		}},
	} {
		if got := (Options{Addr: client.DefaultAddr}).event("sessions/s", e); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// A session that cannot be read is told beside the list of all others, shown as what it is, and deleted by the end of its id.
func TestABrokenSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	good, bad := d.Session("good"), d.Session("bad")
	d.Alter("UPDATE sessions SET body = CAST(body || x'00' AS BLOB) WHERE id = '" + client.ID(bad) + "'")
	list := d.must(List(t.Context(), d.on("", ""), false, 10))
	if d.has(list, good); strings.Contains(list, bad) {
		t.Error(list)
	}
	d.has(d.err.String(), "! "+bad+": the record of session "+client.ID(bad)+" cannot be read: its stored text is damaged: ")
	if err := Show(t.Context(), d.on(bad[len(bad)-8:], "")); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
	d.must(Delete(t.Context(), d.on(bad[len(bad)-8:], "")))
	if d.must(List(t.Context(), d.on("", ""), false, 10)); d.err.Len() > 0 {
		t.Error(d.err.String())
	}
}

// What decides is told with what waits: an outcome is told, and nothing is approved by it. Whoever has shown a token shows it again; another one has to.
func TestWhatDecides(t *testing.T) {
	t.Parallel()
	const call, outcome = agentv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, agentv1.ApprovalKind_APPROVAL_KIND_OUTCOME
	for _, tt := range []struct {
		kind  agentv1.ApprovalKind
		token string
		by    []string
		want  string
	}{
		{outcome, "", nil, "look and decide: tsumugi approval outcome 1f0c happened|not-happened --addr localhost:1 --approver\n"},
		{call, "", nil, "look and decide: tsumugi approval approve 1f0c --addr localhost:1 --approver\n"},
		{call, "t", []string{"--approver"}, "look and decide: tsumugi approval approve 1f0c --addr localhost:1 --approver\n"},
		{call, "t", []string{"--token-file", "'a b'"}, "look and decide: tsumugi approval approve 1f0c --addr localhost:1 --token-file 'a b'\n"},
		{call, "t", nil, "look and decide: tsumugi approval approve 1f0c --addr localhost:1\n"},
	} {
		o := Options{Addr: "localhost:1", Token: tt.token, By: tt.by}
		a := &agentv1.Approval{Name: "approvals/1f0c", Kind: tt.kind}
		for _, text := range []string{o.asked(a), o.approval(&agentv1.ApprovalChange{Change: "ASK", Approval: a})} {
			if !strings.Contains(text, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, text)
			}
		}
	}
}
