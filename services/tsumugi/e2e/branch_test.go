package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// A retry becomes a second branch and either goes on; the same request id is the same node, whatever happened meanwhile.
func branched(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)

	q := short(flow, root)
	first := w.generate(q).node(t)
	retry := short(flow, root)
	retry.Sampling.Temperature, retry.Sampling.Seed = proto.Float64(0.9), proto.Uint32(7)
	second := w.generate(retry).node(t)
	for _, node := range []string{first.Name, second.Name} {
		next := w.generate(short(flow, node)).node(t)
		if got := parents(w.flow(t, flow), next.Name); !slices.Equal(got, []string{node}) {
			t.Errorf("the branch behind %s went on from %q", node, got)
		}
	}
	before := w.flow(t, flow)
	for _, node := range []string{first.Name, second.Name} {
		if got := parents(before, node); !slices.Equal(got, []string{root}) {
			t.Errorf("%s continues %q, not %s", node, got, root)
		}
	}
	if len(before.Nodes) != 5 || len(before.Edges) != 4 {
		t.Fatalf("%d nodes and %d edges; want 5 and 4", len(before.Nodes), len(before.Edges))
	}

	again := func(when string) {
		r := w.generate(q)
		if diff := cmp.Diff(first, r.node(t), protocmp.Transform()); diff != "" || !r.stored.Replayed || r.pieces > 0 {
			t.Errorf("%s: the same request gave another node (replayed %v, %d pieces): %s", when, r.stored.Replayed, r.pieces, diff)
		}
		other := proto.CloneOf(q)
		other.Text = "別の話"
		r = w.generate(other)
		r.rest(t)
		refusal{code: codes.InvalidArgument, reason: "REQUEST_ID_REUSED", metadata: map[string]string{"request_id": q.RequestId}}.in("request_id").check(t, r.err)
		if diff := cmp.Diff(before, w.flow(t, flow), protocmp.Transform()); diff != "" {
			t.Errorf("%s: the flow has changed: %s", when, diff)
		}
	}
	again("at once")
	w.restart(t)
	again("after a restart")
}

// Where branches were merged, the writer says which way the story took.
func merged(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	left := w.say(t, flow, "左の通路へ入った。\n", root)
	right := w.say(t, flow, "右の通路へ入った。\n", root)
	merge := w.say(t, flow, "その先で、千草は", left, right)

	q := short(flow, merge)
	r := w.generate(q)
	r.rest(t)
	refusal{code: codes.FailedPrecondition, reason: "AMBIGUOUS_PATH",
		metadata: map[string]string{"node": merge, "parents": left + "," + right}}.in("via").check(t, r.err)

	for _, tt := range []struct{ via, has, lacks string }{{left, "左の通路", "右の通路"}, {right, "右の通路", "左の通路"}} {
		q.Via, q.DryRun = []string{tt.via}, true
		if p := w.dryRun(t, q).GetBuild().GetPrompt(); !strings.Contains(p, tt.has) || strings.Contains(p, tt.lacks) {
			t.Errorf("via %s the prompt is %q", tt.has, p)
		}
	}
	q.DryRun = false
	node := w.generate(q).node(t)
	if got := parents(w.flow(t, flow), node.Name); !slices.Equal(got, []string{merge}) {
		t.Errorf("the node continues %q", got)
	}
	for name, wrong := range map[string]*agentv1.GenerateNodeRequest{
		"a node that is on no way": {Flow: flow, Parent: merge, Via: []string{left, node.Name}},
		"both":                     {Flow: flow, Parent: merge, Via: []string{left, right}},
	} {
		r := w.generate(wrong)
		r.rest(t)
		if r.opened != nil || r.err == nil {
			t.Errorf("%s in via was accepted", name)
		}
	}
}
