package transport_test

import (
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

func TestUndoAndRedoFlow(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	before := g.read(t)
	must[*flowstorev1.Flow](t)(g.c.RemoveNode(ctx, &flowstorev1.RemoveNodeRequest{Flow: g.flow, Node: g.b, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SPLICE}))
	_, err := g.c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{Flow: g.flow, Etag: before.GetEtag()})
	expect(t, err, stale, "etag")
	undone := must[*flowstorev1.UndoFlowResponse](t)(g.c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{Flow: g.flow, Etag: g.read(t).GetEtag(), RequestId: id(2000)}))
	same(t, g.read(t), undone.GetFlow())
	hasEdges(t, undone.GetFlow(), before.GetEdges()...)
	if undone.GetChange() != "1 node removed, 1 edge made" || undone.GetChangeTime() == nil || undone.GetUndoCount() != 3 || undone.GetRedoCount() != 1 {
		t.Errorf("undone: %v", undone)
	}
	again := must[*flowstorev1.UndoFlowResponse](t)(g.c.RedoFlow(ctx, &flowstorev1.RedoFlowRequest{Flow: g.flow}))
	hasEdges(t, again.GetFlow(), edge(1, 3, ""))
	if again.GetUndoCount() != 4 || again.GetRedoCount() != 0 {
		t.Errorf("done again: %v", again)
	}
	_, err = g.c.RedoFlow(ctx, &flowstorev1.RedoFlowRequest{Flow: g.flow})
	expect(t, err, "FailedPrecondition NOTHING_TO_UNDO", "flow")
	_, err = g.c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{Flow: g.empty})
	expect(t, err, "FailedPrecondition NOTHING_TO_UNDO", "flow")
	// A node that is to come back and is in the trash is named, and the flow, not the request id, is blamed.
	must[*flowstorev1.DeleteNodeResponse](t)(g.c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: g.b}))
	_, err = g.c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{Flow: g.flow, RequestId: id(2001)})
	expect(t, err, deleted, "flow")
	if got := refusal(t, err).Metadata["name"]; got != g.b {
		t.Errorf("deleted is %s", got)
	}
}
