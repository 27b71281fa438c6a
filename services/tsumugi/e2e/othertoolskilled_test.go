package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// kill kills the services, starts them again, and gives the surface of the same kind.
func (o *office) kill(t *testing.T, was surface) surface {
	t.Helper()
	if err := o.stop(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o.start(t)
	all := o.approvers(t)
	return all[slices.IndexFunc(all, func(s surface) bool { return s.how == was.how })]
}

// othersToolsKilled: where the services are killed inside the call of an MCP server nobody knows what became of it: a person is asked, and the server
// is not asked again. Wherever else behind the decision the kill comes, the server is asked once, too (cases/agent.md c11).
func othersToolsKilled(t *testing.T, m mode) {
	o, book := newLibrary(t, m.killable())
	o.settings.lease = time.Second
	o.start(t)
	s := o.approvers(t)[1]
	name := o.noting(t, s, endless)
	o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
	o.eventually(t, "the server is in the call", func() bool { return len(noted(t, book)) == 1 })
	s = o.kill(t, s)
	o.settled(t, s, name, book, endless, true)
	for i := range 3 {
		line := fmt.Sprintf("%d行目", i)
		name := o.noting(t, s, line)
		o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // somewhere between decision and call, in it, or behind
		s = o.kill(t, s)
		o.settled(t, s, name, book, line, false)
	}
}

// noting makes a session that waits for a decision about a line in the book.
func (o *office) noting(t *testing.T, s surface, line string) (name string) {
	t.Helper()
	name = o.session(t, s)
	o.hasBook(t, s, name)
	o.think(say("EXECUTION", "continue", "actions", acts("book.note", args{"line": line})), say("EXECUTION", "done", "reply", "書き留めました。"))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "書き留めて"})
	return name
}

// settled: the turn of a call that was approved before a kill ends, when a person has said what became of the call where nobody else knows, which is so
// for certain where the kill came in it. The line is in the book once, if it is not that the person finds that it never came there.
func (o *office) settled(t *testing.T, s surface, name, book, line string, within bool) {
	t.Helper()
	count := func() (n int) {
		for _, got := range noted(t, book) {
			if strings.Contains(got, line) {
				n++
			}
		}
		return n
	}
	now := o.until(t, s, name, "the turn ends, or a person is asked", func(now *agentv1.Session) bool { return rests(now) || waits(now) })
	asked, want := waits(now), 1
	if asked {
		a, d := o.waiting(t, s, name)[0], agentv1.Decision_DECISION_HAPPENED
		if want = count(); want == 0 {
			d = agentv1.Decision_DECISION_NOT_HAPPENED
		}
		if a.GetKind() != agentv1.ApprovalKind_APPROVAL_KIND_OUTCOME || !strings.Contains(a.GetContent().GetArguments(), line) {
			t.Errorf("%q: a person is asked %v", line, a)
		}
		o.decide(t, s, a, d, "")
		o.until(t, s, name, "the turn ends", rests)
	}
	if got := count(); within && !asked || got != want || got > 1 || within && got != 1 {
		t.Errorf("%q is in the book %d times; a person was asked: %v", line, got, asked)
	}
	kinds := map[string]int{}
	for _, r := range o.rows(t, s, name) {
		kinds[r.GetKind()]++
	}
	if kinds["intent"] != 1 || kinds["execute"]+kinds["unknown_outcome"] != 1 || (kinds["unknown_outcome"] == 1) != asked {
		t.Errorf("%q: the audit has %v", line, kinds)
	}
	if left := o.left(); len(left) > 0 {
		t.Errorf("%q: the model was not asked behind the call: %q", line, left)
	}
	t.Logf("%q: a person was asked: %v, in the book: %d", line, asked, count())
	o.sound(t, s, name)
}

// clientsToolsKilled: a call that the caller carries out is open after a kill as it was, its result is taken once, also when it is sent again after
// another kill, and what has come of it is told once (cases/agent.md c11, c34).
func clientsToolsKilled(t *testing.T, m mode) {
	o := newOffice(t, m.killable(), "", "")
	o.settings.lease = time.Second
	o.start(t)
	for i := range o.approvers(t) {
		s := o.approvers(t)[i]
		made, err := s.CreateSession(o.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{ClientTools: []*agentv1.ClientTool{weather}}})
		if err != nil {
			t.Fatal(err)
		}
		name := made.GetName()
		o.think(say("EXECUTION", "continue", "actions", acts("weather", args{"town": "糸崎"})), say("EXECUTION", "done", "reply", "霧です。"))
		o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "天気は？"})
		o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
		opened := func(now *agentv1.Session) bool { return len(now.GetOpenToolCalls()) == 1 }
		open := o.until(t, s, name, "the call is open", opened).GetOpenToolCalls()[0]
		s = o.kill(t, s)
		if again := o.until(t, s, name, "the call is open after the kill", opened).GetOpenToolCalls()[0]; !proto.Equal(again, open) {
			t.Errorf("over %s: %v\nwas\n%v", s.how, again, open)
		}
		result := &agentv1.SubmitToolResultRequest{Session: name, Call: open.GetCall(), Output: "濃い霧"}
		for _, replayed := range []bool{false, true} {
			if got, err := s.SubmitToolResult(o.ctx, result); err != nil || got.GetReplayed() != replayed {
				t.Errorf("over %s: %v, %v, want %v", s.how, got, err, replayed)
			}
		}
		s = o.kill(t, s)
		if got, err := s.SubmitToolResult(o.ctx, result); err != nil || !got.GetReplayed() {
			t.Errorf("over %s: after the second kill: %v, %v", s.how, got, err)
		}
		o.until(t, s, name, "the turn ends", rests)
		var told []string
		for _, e := range o.history(t, name) {
			if c := e.GetToolCall(); c.GetCall() == open.GetCall() && (c.GetState() == "BEGUN" || c.GetState() == "EXECUTED") {
				told = append(told, c.GetState())
			}
		}
		prompts := o.heard()
		if !slices.Equal(told, []string{"BEGUN", "EXECUTED"}) || strings.Count(behind(prompts[len(prompts)-1]), "濃い霧") != 1 {
			t.Errorf("over %s: the events tell %q, the model %q", s.how, told, prompts)
		}
		o.sound(t, s, name)
	}
}
