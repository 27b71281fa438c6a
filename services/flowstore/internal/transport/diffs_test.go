package transport_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

func TestDiffs(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	branch := must[*flowstorev1.AddNodeResponse](t)(g.c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
		Flow: g.flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: "x y"}, {Role: "tool"}}}},
		Parents: []string{g.a},
	})).GetNode().GetName()
	part := func(op flowstorev1.DiffPart_Op, text string) *flowstorev1.DiffPart {
		return &flowstorev1.DiffPart{Op: op, Text: text}
	}
	same(t, &flowstorev1.DiffNodesResponse{Texts: []*flowstorev1.TextDiff{
		{Role: "user", InNode: true, InOther: true, Parts: []*flowstorev1.DiffPart{part(flowstorev1.DiffPart_OP_EQUAL, "x"), part(flowstorev1.DiffPart_OP_DELETE, " y")}},
		{Role: "tool", InNode: true},
	}}, must[*flowstorev1.DiffNodesResponse](t)(g.c.DiffNodes(t.Context(), &flowstorev1.DiffNodesRequest{Node: branch, Other: g.b})))
	same(t, &flowstorev1.DiffNodesResponse{Texts: []*flowstorev1.TextDiff{
		{Role: "user", InNode: true, InOther: true, Parts: []*flowstorev1.DiffPart{part(flowstorev1.DiffPart_OP_EQUAL, "x"), part(flowstorev1.DiffPart_OP_INSERT, " y")}},
		{Role: "tool", InOther: true},
	}}, must[*flowstorev1.DiffNodesResponse](t)(g.c.DiffNodes(t.Context(), &flowstorev1.DiffNodesRequest{Node: g.b, Other: branch})))
	same(t, &flowstorev1.DiffHeadsResponse{
		Common: []*flowstorev1.FlowNode{{Index: 1, Node: g.a}}, OnlyNode: []*flowstorev1.FlowNode{{Index: 4, Node: branch}},
		OnlyOther: []*flowstorev1.FlowNode{{Index: 2, Node: g.b}, {Index: 3, Node: g.broken}},
	}, must[*flowstorev1.DiffHeadsResponse](t)(g.c.DiffHeads(t.Context(), &flowstorev1.DiffHeadsRequest{Flow: g.flow, Node: branch, Other: g.broken})))
	_, err := g.c.DiffHeads(t.Context(), &flowstorev1.DiffHeadsRequest{Flow: g.flow, Node: g.nobody, Other: g.a})
	expect(t, err, outside, "node")
	_, err = g.c.DiffNodes(t.Context(), &flowstorev1.DiffNodesRequest{Node: g.a, Other: g.broken})
	expect(t, err, unreadable, "other")
}

// The worst that two nodes can be fits a message.
func TestLargestDiffFits(t *testing.T) {
	t.Parallel()
	c := serve(t)
	half := library.MaxDiff / 2
	var names []string
	for _, text := range []string{strings.Repeat(".,", half/2), strings.Repeat(",.;", half/3)} {
		names = append(names, must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said(text)})).GetName())
	}
	answer := must[*flowstorev1.DiffNodesResponse](t)(c.DiffNodes(t.Context(), &flowstorev1.DiffNodesRequest{Node: names[0], Other: names[1]}))
	if size := proto.Size(answer); size > int(grpcserver.MinMessageBytes) {
		t.Errorf("%d bytes", size)
	}
}
