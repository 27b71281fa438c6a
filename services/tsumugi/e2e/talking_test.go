package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// remembered: what was said in the first turn is in the prompt of the sixth.
func remembered(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	s := o.approvers(t)[0]
	name := o.session(t, s)
	for i := range 6 {
		o.think(say("PLANNING", "done", "reply", fmt.Sprintf("%d番目の返事です。", i+1)))
		text := []string{"猫の名は煤竹です。", "二", "三", "四", "五", "猫の名は？"}[i]
		if h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: text}); h.session.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_SUCCESS {
			t.Fatalf("%v", h.session)
		}
	}
	prompts := o.heard()
	if last := prompts[len(prompts)-1]; len(prompts) != 6 || !strings.Contains(last, "煤竹") || !strings.Contains(last, "1番目の返事") || !strings.Contains(last, "猫の名は？") {
		t.Errorf("the sixth of %d prompts: %s", len(prompts), last)
	}
	var nodes []*flowstorev1.FlowNode
	o.eventually(t, "six nodes", func() bool {
		flow, err := o.flows.GetFlow(o.ctx, &flowstorev1.GetFlowRequest{Name: o.get(t, s, name).GetFlow()})
		nodes = flow.GetNodes()
		return err == nil && len(nodes) == 6
	})
	o.counted(t, nodes)
	o.sound(t, s, name)
}

// counted: each node of a session has the end and the tokens of its answer, as a real model server counted them.
func (o *office) counted(t *testing.T, nodes []*flowstorev1.FlowNode) {
	t.Helper()
	if o.loud == nil {
		return
	}
	var told, got []utteredEnd
	for _, u := range o.loud.uttered() {
		told = append(told, u.end)
	}
	for _, on := range nodes {
		g := o.node(t, on.GetNode()).GetGeneration()
		got = append(got, utteredEnd{g.GetFinishReason(), g.GetPromptTokens(), g.GetAnswerTokens()})
	}
	if !slices.Equal(got, told) {
		t.Errorf("the nodes tell of %v, the model server of %v", got, told)
	}
}

// refusedAndChanged: the call never runs, and the model is told why; changed arguments are a new approval, and what runs is what was approved
// (cases/agent.md c4, c34).
func refusedAndChanged(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	for i, s := range o.approvers(t) {
		name, path := o.session(t, s), fmt.Sprintf("%d.md", i)
		write := func(text string) string {
			return say("EXECUTION", "continue", "actions", acts("write", args{"path": path, "content": text}))
		}
		o.think(write("一"), say("PLANNING", "continue"), write("二"), say("EXECUTION", "done", "reply", "書きました。"))
		o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "書いて"})
		first := o.waiting(t, s, name)[0]
		o.decide(t, s, first, agentv1.Decision_DECISION_DENY, "短すぎます")
		second := o.after(t, s, name, first)
		if err := approve(o.ctx, s, first); err == nil || o.file(t, path) != "" {
			t.Errorf("over %s: what was denied is approved: %v, %q", s.how, err, o.file(t, path))
		}
		changed := &agentv1.DecideApprovalRequest{Name: second.GetName(), Digest: second.GetDigest(), Decision: agentv1.Decision_DECISION_EDIT, Arguments: `{"path": "` + path + `", "content": "三"}`}
		third, err := s.DecideApproval(o.ctx, changed)
		if err != nil || third.GetName() == second.GetName() || third.GetEditedFrom() != second.GetName() || third.GetDigest() == second.GetDigest() {
			t.Fatalf("over %s: %v, %v", s.how, third, err)
		}
		changed.Name, changed.Digest, changed.Arguments = third.GetName(), third.GetDigest(), `{"path": "../outside.md", "content": "三"}`
		if _, err := s.DecideApproval(o.ctx, changed); err == nil {
			t.Errorf("over %s: a path that leads out is taken", s.how)
		}
		err = approve(o.ctx, s, &agentv1.Approval{Name: third.GetName(), Digest: second.GetDigest()})
		refusal{code: codes.Aborted, reason: "DIGEST_MISMATCH"}.in("digest").check(t, err)
		o.decide(t, s, third, agentv1.Decision_DECISION_APPROVE, "")
		o.until(t, s, name, "the turn ends", rests)
		if o.file(t, path) != "三" {
			t.Errorf("over %s: %q is written", s.how, o.file(t, path))
		}
		prompts := o.heard()
		if len(prompts) != 4 || !strings.Contains(behind(prompts[1]), "短すぎます") || !strings.Contains(behind(prompts[1]), `"status":"DENIED","not_executed":true`) || !strings.Contains(behind(prompts[3]), "三") {
			t.Errorf("over %s: the model was told %q", s.how, prompts)
		}
		o.sound(t, s, name)
	}
}

// spokenTo: while a session works it answers aside, and is interrupted; while it waits a message takes the place of what is asked; and a cancel
// stops it (seed 001, 4.4; cases/agent.md c14, c17).
func spokenTo(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	o.when("いま何を？", "書いているところです。")
	for i, s := range o.approvers(t) {
		name, path := o.session(t, s), fmt.Sprintf("%d.md", i)
		release := o.hold()
		o.think(say("PLANNING", "continue", "rationale", "聞かれない一手"))
		events := o.begin(t, s, &agentv1.SendMessageRequest{Session: name, Text: "書いて"})
		o.next(t)
		turn := o.until(t, s, name, "the message is stored", func(now *agentv1.Session) bool { return now.GetTurn() != nil }).GetTurn().GetId()
		aside := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "いま何を？", Mode: agentv1.MessageMode_MESSAGE_MODE_SIDE})
		if len(aside.events) != 1 || aside.events[0].GetAside().GetReply() != "書いているところです。" {
			t.Errorf("over %s: aside it answers %v", s.how, aside.events)
		}
		o.next(t)
		_, err := tell(o.ctx, s, &agentv1.SendMessageRequest{Session: name, Text: "やめて", Mode: agentv1.MessageMode_MESSAGE_MODE_INTERRUPT, Turn: "another"})
		refusal{code: codes.FailedPrecondition, reason: "TURN_CHANGED"}.check(t, err)
		o.think(say("EXECUTION", "continue", "actions", acts("write", args{"path": path, "content": "一"})))
		interrupting := o.begin(t, s, &agentv1.SendMessageRequest{Session: name, Text: "こちらを書いて", Mode: agentv1.MessageMode_MESSAGE_MODE_INTERRUPT, Turn: turn})
		if second := o.next(t); !strings.Contains(second, "こちらを書いて") {
			t.Errorf("over %s: the interrupting message opens the turn of %s", s.how, second)
		}
		release()
		if h := <-interrupting; h.err != nil || !waits(h.session) || h.session.GetTurn().GetId() == turn {
			t.Fatalf("over %s: %v, %v", s.how, h.session, h.err)
		}
		if h := <-events; h.err != nil {
			t.Errorf("over %s: the stream of the first message ends with %v", s.how, h.err)
		}
		o.superseded(t, s, name, path)
		o.canceled(t, s, name, path)
		o.sound(t, s, name)
		o.heard()
	}
}

// superseded: a message takes the place of an approval, which is none.
func (o *office) superseded(t *testing.T, s surface, name, path string) {
	t.Helper()
	asked := o.waiting(t, s, name)[0]
	over := &agentv1.SendMessageRequest{Session: name, Text: "八〇八〇番で", Mode: agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE}
	_, err := tell(o.ctx, s, over)
	refusal{code: codes.FailedPrecondition, reason: "TURN_CHANGED"}.check(t, err) // it names none
	over.Approvals = []string{asked.GetName()}
	o.heard()
	o.think(say("EXECUTION", "continue", "actions", acts("write", args{"path": path, "content": "二"})))
	o.send(t, s, over)
	prompts := o.heard()
	if len(prompts) != 1 || !strings.Contains(prompts[0], "八〇八〇番で") || !strings.Contains(prompts[0], "こちらを書いて") || !strings.Contains(prompts[0], "SUPERSEDED") {
		t.Errorf("over %s: the model is asked %q", s.how, prompts)
	}
	was, err := s.GetApproval(o.ctx, &agentv1.GetApprovalRequest{Name: asked.GetName()})
	if err != nil || was.GetState() != agentv1.ApprovalState_APPROVAL_STATE_SUPERSEDED || o.file(t, path) != "" {
		t.Errorf("over %s: %v, %v", s.how, was, err)
	}
}

// canceled: what waits is closed and never runs, a second cancel changes nothing, and the session can go on with another task.
func (o *office) canceled(t *testing.T, s surface, name, path string) {
	t.Helper()
	asked, turn := o.waiting(t, s, name)[0], o.get(t, s, name).GetTurn().GetId()
	_, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: "another"})
	refusal{code: codes.FailedPrecondition, reason: "TURN_CHANGED"}.check(t, err)
	for range 2 {
		if _, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn}); err != nil {
			t.Errorf("over %s: %v", s.how, err)
		}
		o.until(t, s, name, "it is canceled", func(now *agentv1.Session) bool { return now.GetLifecycle() == agentv1.Lifecycle_LIFECYCLE_CANCELED })
	}
	if err := approve(o.ctx, s, asked); err == nil || o.file(t, path) != "" {
		t.Errorf("over %s: approved after the cancel: %v, %q", s.how, err, o.file(t, path))
	}
	o.think(say("PLANNING", "done", "reply", "はい。"))
	if h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "別の話"}); h.session.GetLifecycle() != agentv1.Lifecycle_LIFECYCLE_OPEN || h.session.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_SUCCESS {
		t.Errorf("over %s: another task: %v", s.how, h.session)
	}
}

// ended is a stream that was read beside the test.
type ended struct {
	account
	err error
}

// begin sends a message, and reads what comes of it beside the test.
func (o *office) begin(t *testing.T, s surface, q *agentv1.SendMessageRequest) <-chan ended {
	t.Helper()
	out := make(chan ended, 1)
	go func() {
		h, err := tell(o.ctx, s, q)
		out <- ended{h, err}
	}()
	return out
}
