package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// cases/flowstore.md 4: a current node and an edge that lead nowhere, and a node whose file is gone. The flow opens with the
// rest, all three are told as data, and the flow's file is as the hand left it.
func TestFlowstore4ValidateFlow(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	first, err := add(c, flow, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := add(c, flow, "b", "", first)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	file := filepath.Join(data, "default", "flows", "000", "000.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "current: 2", "current: 99", 1) + "  - from: 2\n    to: 77\n"
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "default", "nodes", "000", "001.xml")); err != nil {
		t.Fatal(err)
	}
	a = start(t, data)
	c = client(t, a)
	got, err := c.ValidateFlow(t.Context(), &flowstorev1.ValidateFlowRequest{Flow: flow})
	want := &flowstorev1.ValidateFlowResponse{Problems: []*flowstorev1.FlowProblem{
		{Kind: flowstorev1.FlowProblem_KIND_DANGLING_EDGE, Edge: &flowstorev1.Edge{From: 2, To: 77}, Message: "connections: 2 -> 77: no node has index 77; it is left out of paths"},
		{Kind: flowstorev1.FlowProblem_KIND_BAD_CURRENT, Message: "current: no node has index 99; the newest leaf, 2, is taken"},
		{Kind: flowstorev1.FlowProblem_KIND_MISSING_NODE, Index: 2, Node: second, Message: "nodes: index 2, node " + strings.TrimPrefix(second, "nodes/") + ": its file is missing"},
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Error(err, diff)
	}
	stop(t, a)
	if after, err := os.ReadFile(file); err != nil || string(after) != edited {
		t.Errorf("the file was rewritten: %v\n%s", err, after)
	}
}
