package flowstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/servicetest"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// TestConversations: what a real flowstore answers, by the words of conversation.Flows: whatever is done twice is there once, also by a
// flowstore that was killed in between, and what people took away does not come back.
func TestConversations(t *testing.T) {
	t.Parallel()
	p := servicetest.Build(t, "flowstore").Start(t, "--data", t.TempDir())
	conn := p.Conn()
	c, rpc := flowstore.NewConversations(conn), flowstorev1.NewFlowStoreServiceClient(conn)
	ctx := namespace.With(t.Context(), namespace.Default)
	flow, nodes := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	is := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	ok := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	begin := func(id uuid.UUID) error {
		return c.Begin(t.Context(), namespace.Default, conversation.Flow{ID: id, Title: "港の話", Description: "sessions/s"})
	}
	add := func(flow, id, parent uuid.UUID, text string) error {
		return c.Add(t.Context(), namespace.Default, generation.Addition{Flow: flow, Parent: parent, SetCurrent: true, Node: generation.Node{
			ID: id, Model: "m", Texts: []generation.NodeText{{Role: "user", Content: text}, {Role: "assistant", Content: "はい", Tokens: 3, Duration: time.Second}},
			Record: &generation.Record{Task: conversation.Task, AnswerTokens: 3, Finish: "stop"},
		}})
	}
	is("before the flow", add(flow, nodes[0], uuid.Nil, "一"), conversation.ErrNoFlow)
	for range 2 {
		is("the flow", begin(flow), nil)
		is("a root", add(flow, nodes[0], uuid.Nil, "一"), nil)
		is("a child", add(flow, nodes[1], nodes[0], "二"), nil)
		p.Kill()
		is("away", add(flow, nodes[2], nodes[1], "三"), conversation.ErrAway)
		p.Start()
		for deadline := time.Now().Add(30 * time.Second); errors.Is(begin(flow), conversation.ErrAway) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond) // until the connection has noticed
		}
	}
	is("behind nothing", add(flow, nodes[2], uuid.New(), "三"), conversation.ErrNoParent)
	var refused *conversation.RefusedError
	if err := c.Begin(t.Context(), namespace.Default, conversation.Flow{ID: uuid.New()}); !errors.As(err, &refused) {
		t.Errorf("a flow without a title: %v", err)
	}
	members, err := c.Members(t.Context(), namespace.Default, flow)
	if err != nil || len(members) != 2 || members[0] != nodes[0] || members[1] != nodes[1] {
		t.Errorf("%v, %v", members, err)
	}
	stored, err := rpc.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: "nodes/" + nodes[1].String()})
	ok(stored, err)
	if stored.GetTexts()[0].GetContent() != "二" || stored.GetGeneration().GetTask() != "SESSION" || stored.GetGeneration().GetAnswerTokens() != 3 {
		t.Errorf("%v", stored)
	}
	_, err = rpc.DeleteFlow(ctx, &flowstorev1.DeleteFlowRequest{Name: "flows/" + flow.String()})
	ok(nil, err)
	is("into the trash", add(flow, nodes[2], nodes[1], "三"), conversation.ErrNoFlow)
	is("out of the trash", begin(flow), conversation.ErrTaken)
	_, err = c.Members(t.Context(), namespace.Default, flow)
	is("of the trash", err, conversation.ErrNoFlow)
	_, err = rpc.PurgeFlow(ctx, &flowstorev1.PurgeFlowRequest{Name: "flows/" + flow.String(), Reason: "asked for"})
	ok(nil, err)
	is("what was purged", add(flow, nodes[2], nodes[1], "三"), conversation.ErrNoFlow)
	is("again", begin(flow), conversation.ErrTaken)
	other := uuid.New()
	is("another flow", begin(other), nil)
	is("stored elsewhere", add(other, nodes[1], uuid.Nil, "二"), nil)
	is("a parent elsewhere", add(other, nodes[2], nodes[1], "三"), conversation.ErrNoParent)
	_, err = rpc.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: "nodes/" + nodes[1].String()})
	ok(nil, err)
	is("in the trash itself", add(other, nodes[1], uuid.Nil, "二"), nil)
	is("behind the trash", add(other, nodes[2], nodes[1], "三"), conversation.ErrNoParent)
}
