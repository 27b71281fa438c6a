package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// A fork, which is made with all its nodes at once, a branch and its head are there after a restart.
func TestRestartOfAFork(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	ctx := t.Context()
	origin := newFlow(t, c)
	one, err := add(c, origin, "一", "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := add(c, origin, "二", "", one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.BranchFlow(ctx, &flowstorev1.BranchFlowRequest{Flow: origin, Node: two, DisplayName: "雨"}); err != nil {
		t.Fatal(err)
	}
	fork, err := c.ForkFlow(ctx, &flowstorev1.ForkFlowRequest{Flow: origin, Way: flowstorev1.ForkWay_FORK_WAY_PATH, Node: two})
	if err != nil {
		t.Fatal(err)
	}
	three := &flowstorev1.AddNodeRequest{
		Flow: fork.GetName(), Head: "雨",
		Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: "三"}}}},
	}
	if _, err := c.AddNode(ctx, three); err != nil {
		t.Fatal(err)
	}
	read := func() (flows []*flowstorev1.Flow) {
		for _, name := range []string{origin, fork.GetName()} {
			f, err := c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			flows = append(flows, f)
		}
		return flows
	}
	before := read()
	stop(t, a)
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	if diff := cmp.Diff(before, read(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if f := before[1]; len(f.GetNodes()) != 3 || f.GetHeads()[0].GetIndex() != 3 || f.GetLinks()[0].GetFlow() != origin {
		t.Errorf("the fork is %v", f)
	}
}
