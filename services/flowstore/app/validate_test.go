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
func TestFlowstore04ValidateFlow(t *testing.T) {
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

// field/flowstore.md row 20: a cycle that a hand made is told with the nodes that it goes through; the flow can be read.
func TestHandMadeCycleIsNamed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	var names []string
	for _, content := range []string{"a", "b", "c"} {
		name, err := add(c, flow, content, "", names[max(len(names)-1, 0):]...)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	stop(t, a)
	file := filepath.Join(data, "default", "flows", "000", "000.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "  - from: 3\n    to: 1\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	got, err := c.ValidateFlow(t.Context(), &flowstorev1.ValidateFlowRequest{Flow: flow})
	want := &flowstorev1.ValidateFlowResponse{Problems: []*flowstorev1.FlowProblem{{
		Kind: flowstorev1.FlowProblem_KIND_CYCLE_EDGE, Edge: &flowstorev1.Edge{From: 3, To: 1}, Message: "connections: 3 -> 1 closes a cycle; it is left out of paths",
		Cycle: []string{names[0], names[1], names[2], names[0]},
	}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Error(err, diff)
	}
	history, err := c.ListHistoryNodes(t.Context(), &flowstorev1.ListHistoryNodesRequest{Flow: flow, Drawing: true})
	if err != nil || history.GetDrawing() != "1→2→3\n×3→1\n" {
		t.Errorf("%v %q", err, history.GetDrawing())
	}
}
