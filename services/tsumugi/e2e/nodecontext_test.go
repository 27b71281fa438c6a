package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A model is told of the way to a new prompt and of references, chosen from flows that are stored (field/systemprompt-rules.md 7, 13).
func nodeContexts(t *testing.T, m mode) {
	w := open(t, m, nobody)
	for name, run := range map[string]func(t *testing.T, w *world){
		"the golden context":                      goldenContext,
		"a merge graph":                           contextOfAMerge,
		"a fork does not see the other branch":    contextOfAFork,
		"references in their order":               contextReferences,
		"ids that look alike":                     contextTwins,
		"what gives way":                          contextTrimmed,
		"the prefix grows":                        contextGrows,
		"what cannot be is told, all of it":       contextRefused,
		"a change after the sequence is not lost": contextSeq,
	} {
		t.Run(name, func(t *testing.T) { run(t, w) })
	}
}

// context asks over gRPC and over REST, which must answer the same.
func (w *world) context(t *testing.T, q *agentv1.BuildNodeContextRequest) *agentv1.BuildNodeContextResponse {
	t.Helper()
	c, err := w.agents.BuildNodeContext(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	over, err := agentv1.NewAgentServiceClient(overREST{w}).BuildNodeContext(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	counted := protocmp.IgnoreFields(&promptbuilderv1.BuildContextResponse{}, "counts_used") // what is counted once is remembered
	if diff := cmp.Diff(c, over, protocmp.Transform(), counted); diff != "" {
		t.Errorf("REST answers otherwise: %s", diff)
	}
	return c
}

// exchange adds a node with a prompt and an answer, and with a summary and tags where there are any.
func (w *world) exchange(t *testing.T, flow, id, prompt, answer, summary string, tags []string, parents ...string) string {
	t.Helper()
	added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{
		Flow: flow, NodeId: id, Parents: parents,
		Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{
			Tags: tags, Texts: []*flowstorev1.Text{{Role: "user", Content: prompt}, {Role: "assistant", Content: answer}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if summary != "" {
		w.change(t, &flowstorev1.Node{Name: added.Node.Name, Etag: added.Node.Etag, Summary: &flowstorev1.NodeSummary{Text: summary}}, "summary")
	}
	return added.Node.Name
}

func (w *world) change(t *testing.T, n *flowstorev1.Node, paths ...string) {
	t.Helper()
	if _, err := w.flows.UpdateNode(w.ctx, &flowstorev1.UpdateNodeRequest{Node: n, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}}); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			t.Errorf("%q is not in, or stands before what it follows: %s", part, text)
			return
		}
		text = text[at+len(part):]
	}
}

// The nodes of the golden case C1, stored, make its text: a summary, a stale one, none, a reference that is on the path.
func goldenContext(t *testing.T, w *world) {
	request, want := goldenC1(t)
	flow := w.newFlow(t)
	var names []string
	for i, n := range request.GetNodes() {
		var parents []string
		if i > 0 && i < 3 {
			parents = names[i-1:]
		}
		summary := n.GetSummary()
		name := w.exchange(t, flow, n.GetId(), n.GetPrompt(), "…", summary, n.GetTags(), parents...)
		texts := []*flowstorev1.Text{{Role: "user", Content: n.GetPrompt()}, {Role: "assistant", Content: n.GetAnswer()}}
		w.change(t, &flowstorev1.Node{Name: name, Texts: texts}, "texts") // what has a summary by now has a stale one
		if !n.GetStale() {
			w.change(t, &flowstorev1.Node{Name: name, Etag: w.node(t, name).Etag, Summary: &flowstorev1.NodeSummary{Text: summary}}, "summary")
		}
		names = append(names, name)
	}
	c := w.context(t, &agentv1.BuildNodeContextRequest{
		Flow: flow, Parent: names[2], Prompt: request.GetPrompt(), Locale: request.GetLocale(), TrimStep: request.GetTrimStep(),
		Refs: &agentv1.NodeReferences{Ids: []string{names[3], names[0], names[4]}},
	})
	if diff := cmp.Diff(want, c.GetContext().GetText()); diff != "" {
		t.Error(diff)
	}
	states := []promptbuilderv1.SummaryState{}
	for _, e := range c.GetContext().GetEntries()[:3] {
		states = append(states, e.GetSummary())
	}
	if want := []promptbuilderv1.SummaryState{1, 3, 2}; !slices.Equal(states, want) {
		t.Errorf("summaries %v", states)
	}
}

func goldenC1(t *testing.T) (*promptbuilderv1.BuildContextRequest, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "services", "promptbuilder", "testdata", "prompts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var g struct {
			Case    string
			Request json.RawMessage
			Want    struct{ Text string }
		}
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		if g.Case == "C1" {
			request := &promptbuilderv1.BuildContextRequest{}
			if err := protojson.Unmarshal(g.Request, request); err != nil {
				t.Fatal(err)
			}
			return request, g.Want.Text
		}
	}
	t.Fatal("there is no case C1")
	return nil, ""
}

// Behind a merge both branches are told of, each node once and a branch together; a prompt that merges branches itself has both parents in full.
func contextOfAMerge(t *testing.T, w *world) {
	flow := w.newFlow(t)
	root := w.exchange(t, flow, "", "根", "r", "root", nil)
	left := w.exchange(t, flow, "", "左", "l", "left one", nil, root)
	left2 := w.exchange(t, flow, "", "左", "l2", "left two", nil, left)
	right := w.exchange(t, flow, "", "右", "r", "right one", nil, root)
	merge := w.exchange(t, flow, "", "合流", "m", "", nil, left2, right)
	c := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Parent: merge, Prompt: "次"})
	has(t, c.GetContext().GetText(), "]: root\n", "]: left one\n", "]: left two\n", "]: right one\n", "<node id=", "合流", "<prompt>\n次\n</prompt>")
	c = w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Parent: right, MergeParents: []string{left2}, Prompt: "次"})
	has(t, c.GetContext().GetText(), "]: root\n", "]: left one\n", "<node id=", "l2\n</node>", "<node id=", "右", "</node>")
	if strings.Contains(c.GetContext().GetText(), "合流") {
		t.Error("what stands behind the parents is told of")
	}
}

// A fork has the nodes of its own way alone; a root has none.
func contextOfAFork(t *testing.T, w *world) {
	flow := w.newFlow(t)
	root := w.exchange(t, flow, "", "根", "r", "root", nil)
	left := w.exchange(t, flow, "", "左", "l", "left", nil, root)
	right := w.exchange(t, flow, "", "右", "r", "right", nil, root)
	fork, err := w.flows.ForkFlow(w.ctx, &flowstorev1.ForkFlowRequest{Flow: flow, Way: flowstorev1.ForkWay_FORK_WAY_PATH, Node: left})
	if err != nil {
		t.Fatal(err)
	}
	for _, flow := range []string{flow, fork.Name} {
		text := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Parent: left}).GetContext().GetText()
		if has(t, text, "]: root\n", "左"); strings.Contains(text, "右") {
			t.Errorf("the other branch is seen: %s", text)
		}
	}
	if text := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Prompt: "始め"}).GetContext().GetText(); strings.Contains(text, "根") {
		t.Errorf("before a root stands %s", text)
	}
	_, err = w.agents.BuildNodeContext(w.ctx, &agentv1.BuildNodeContextRequest{Flow: fork.Name, Parent: right})
	refusal{code: codes.FailedPrecondition, reason: "NOT_IN_FLOW"}.in("parent").check(t, err)
}

// Nodes that are named come first, each with its ancestors, then those with most tags, then what is found; none twice.
func contextReferences(t *testing.T, w *world) {
	flow := w.newFlow(t)
	here := w.exchange(t, flow, "", "ここ", "h", "here", []string{"港", "夜"})
	far := w.exchange(t, flow, "", "遠い", "f", "far", nil)
	near := w.exchange(t, flow, "", "近い", "n", "near", nil, far)
	named := w.exchange(t, flow, "", "名指し", "x", "named", []string{"港"}, near)
	other := w.newFlow(t)
	one := w.exchange(t, other, "", "一つ", "x", "one tag", []string{"港"})
	both := w.exchange(t, other, "", "二つ", "x", "both tags", []string{`"夜"`, "港", "夜"})
	newer := w.exchange(t, other, "", "新しい", "燈台守", "newer", []string{"夜"})
	found := w.exchange(t, other, "", "燈台守はどこ", "x", "found", nil)
	q := &agentv1.BuildNodeContextRequest{Flow: flow, Parent: here, Refs: &agentv1.NodeReferences{
		Ids: []string{named, here, named}, RefAncestors: 1, Tags: []string{"港", "夜"}, Query: "燈台守",
	}}
	c := w.context(t, q)
	var told []string
	titles := map[string]string{here: "here", far: "far", near: "near", named: "named", one: "one", both: "both", newer: "newer", found: "found"}
	for _, r := range c.GetReferences() {
		told = append(told, fmt.Sprintf("%s %s %s", titles[r.GetNode()], strings.TrimPrefix(r.GetReason().String(), "REFERENCE_REASON_"),
			strings.TrimPrefix(r.GetOutcome().String(), "REFERENCE_OUTCOME_")))
	}
	want := []string{
		"named ID TAKEN", "near ANCESTOR TAKEN", "here ID ON_PATH", "named ID REPEATED", "near ANCESTOR REPEATED",
		"both TAGS TAKEN", "here TAGS ON_PATH", "newer TAGS TAKEN", "one TAGS TAKEN", "named TAGS REPEATED",
		"found QUERY TAKEN", "newer QUERY REPEATED",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	has(t, c.GetContext().GetText(), "参照情報:", "]: named [#港]\n", "]: near\n", `]: both tags [#"夜" #港 #夜]`, "]: newer [#夜]\n", "]: one tag [#港]\n", "]: found")
	q.Refs = &agentv1.NodeReferences{Tags: []string{`"夜"`}, Max: 1}
	if c := w.context(t, q); len(c.GetReferences()) != 1 || c.GetReferences()[0].GetNode() != both {
		t.Errorf("%v", c.GetReferences())
	}
	q.Refs = &agentv1.NodeReferences{Ids: []string{near, named, far}, Max: 2}
	if c := w.context(t, q); c.GetReferences()[2].GetOutcome() != agentv1.ReferenceOutcome_REFERENCE_OUTCOME_OVER_MAX {
		t.Errorf("%v", c.GetReferences())
	}
}

// Two nodes whose ids end alike are named by all of them, and the answer says which UUID an id stands for.
func contextTwins(t *testing.T, w *world) {
	flow := w.newFlow(t)
	first := w.exchange(t, flow, "0192f0c1-7d3a-7c52-9b1e-3f6aaaaaaaaa", "一", "a", "one", nil)
	second := w.exchange(t, flow, "1192f0c1-7d3a-7c52-9b1e-3f6aaaaaaaaa", "二", "b", "two", nil, first)
	third := w.exchange(t, flow, "2192f0c1-7d3a-7c52-9b1e-3f6abbbbbbbb", "三", "c", "three", nil, second)
	c := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Parent: third})
	has(t, c.GetContext().GetText(), "["+strings.TrimPrefix(first, "nodes/")+"]: one\n", "["+strings.TrimPrefix(second, "nodes/")+"]: two\n", `id="bbbbbbbb"`)
	if e := c.GetContext().GetEntries()[2]; "nodes/"+e.GetId() != third || e.GetTextId() != "bbbbbbbb" {
		t.Errorf("%v", e)
	}
}

// chat adds turns behind a node, each with a summary, and gives the last one.
func (w *world) chat(t *testing.T, flow, parent string, from, upto int) string {
	t.Helper()
	for n := from; n < upto; n++ {
		var parents []string
		if parent != "" {
			parents = []string{parent}
		}
		parent = w.exchange(t, flow, "", fmt.Sprintf("ask %d", n), strings.Repeat(fmt.Sprintf("answer %d. ", n), 40), fmt.Sprintf("turn %d of the talk", n), nil, parents...)
	}
	return parent
}

// Under a smaller and smaller budget references go, then the oldest nodes, eight at once, then the answer of the parent; then it is said so.
func contextTrimmed(t *testing.T, w *world) {
	flow := w.newFlow(t)
	last := w.chat(t, flow, "", 0, 12)
	ref := w.exchange(t, w.newFlow(t), "", "ref", "x", "a reference", nil)
	q := &agentv1.BuildNodeContextRequest{Flow: flow, Parent: last, Prompt: "And now?", Locale: "en", Refs: &agentv1.NodeReferences{Ids: []string{ref}}}
	whole := w.context(t, q).GetContext()
	seen := map[string]bool{}
	for q.MaxTokens = whole.GetTokens(); ; q.MaxTokens -= 10 {
		r, err := w.agents.BuildNodeContext(w.ctx, q)
		if err != nil {
			refusal{code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW", metadata: map[string]string{"limit": fmt.Sprint(q.MaxTokens)}}.in("max_tokens").check(t, err)
			break
		}
		c := r.GetContext()
		if c.GetTokens() > q.GetMaxTokens() || !strings.Contains(c.GetText(), "And now?") {
			t.Fatalf("%d of %d tokens", c.GetTokens(), q.GetMaxTokens())
		}
		seen[fmt.Sprintf("%d refs, %d nodes, %s", c.GetDroppedRefs(), c.GetDropped(), c.GetEntries()[11].GetForm())] = true
	}
	for _, step := range []string{
		"0 refs, 0 nodes, NODE_FORM_FULL", "1 refs, 0 nodes, NODE_FORM_FULL", "1 refs, 8 nodes, NODE_FORM_FULL",
		"1 refs, 11 nodes, NODE_FORM_FULL", "1 refs, 11 nodes, NODE_FORM_CUT",
	} {
		if !seen[step] {
			t.Errorf("never %s, but %v", step, seen)
		}
	}
}

// A turn later the text is the same up to the last full node, with room; without, the cut moves once in eight turns.
func contextGrows(t *testing.T, w *world) {
	flow := w.newFlow(t)
	last := w.chat(t, flow, "", 0, 14)
	text := func(tokens int32) (string, int32) {
		c := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow, Parent: last, Prompt: "And now?", Locale: "en", MaxTokens: tokens}).GetContext()
		return c.GetText(), c.GetDropped()
	}
	before, _ := text(0)
	_, dropped := text(260)
	moves := 0
	for n := 14; n < 22; n++ {
		last = w.chat(t, flow, last, n, n+1)
		after, _ := text(0)
		if at := strings.Index(before, "<node"); at < 0 || !strings.HasPrefix(after, before[:at]) {
			t.Errorf("the prefix of %s is not that of %s", before, after)
		}
		before = after
		if _, now := text(260); now != dropped {
			moves, dropped = moves+1, now
		}
	}
	if moves != 1 {
		t.Errorf("the cut moved %d times in eight turns", moves)
	}
}

// Everything that is wrong with a request is told at once, by whichever service; references that are not there all together.
func contextRefused(t *testing.T, w *world) {
	flow := w.newFlow(t)
	gone := "nodes/0192f0c1-0000-7c52-9b1e-3f6aaaaaaaaa"
	there := w.exchange(t, flow, "", "a", "b", "c", nil)
	for _, side := range []struct {
		c      agentv1.AgentServiceClient
		fields *strings.Replacer
	}{
		{w.agents, strings.NewReplacer()},
		{agentv1.NewAgentServiceClient(overREST{w}), strings.NewReplacer("ancestors_max", "ancestorsMax", "merge_p", "mergeP", "ref_a", "refA")},
	} {
		refuse := func(q *agentv1.BuildNodeContextRequest, want refusal, fields ...string) {
			t.Helper()
			_, err := side.c.BuildNodeContext(w.ctx, q)
			for i, field := range fields {
				fields[i] = side.fields.Replace(field)
			}
			want.in(fields...).check(t, err)
		}
		refuse(&agentv1.BuildNodeContextRequest{
			Flow: "x", MergeParents: []string{"y"}, Locale: "?", Counter: "z", AncestorsMax: proto.Int32(1001), Texts: map[string]string{"w": ""},
			Refs: &agentv1.NodeReferences{Ids: []string{"v"}, RefAncestors: 6, Tags: []string{""}, Query: strings.Repeat("夜", 501), Max: 51},
		}, refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}, "ancestors_max", "counter", "flow", "locale", "merge_parents",
			"merge_parents[0]", "refs.ids[0]", "refs.max", "refs.query", "refs.ref_ancestors", "refs.tags[0]", `texts["w"]`)
		refuse(&agentv1.BuildNodeContextRequest{Flow: flow, Refs: &agentv1.NodeReferences{Ids: []string{gone, there, gone}}},
			refusal{code: codes.NotFound, reason: "NODE_NOT_FOUND", metadata: map[string]string{"node": gone + "," + gone}}, "refs.ids[0]", "refs.ids[2]")
		refuse(&agentv1.BuildNodeContextRequest{Flow: "flows/0192f0c1-0000-7c52-9b1e-3f6aaaaaaaaa"}, refusal{code: codes.NotFound, reason: "FLOW_NOT_FOUND"}, "flow")
		refuse(&agentv1.BuildNodeContextRequest{Flow: flow, Parent: there, MergeParents: []string{gone}}, refusal{code: codes.NotFound, reason: "NODE_NOT_FOUND"}, "merge_parents[0]")
		refuse(&agentv1.BuildNodeContextRequest{Flow: flow, Parent: there, MergeParents: []string{gone, there, gone}},
			refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}, "merge_parents[1]", "merge_parents[2]")
		refuse(&agentv1.BuildNodeContextRequest{Flow: flow, Refs: &agentv1.NodeReferences{Query: `tag:`}}, refusal{code: codes.InvalidArgument, reason: "INVALID_QUERY"}, "refs.query")
		refuse(&agentv1.BuildNodeContextRequest{Flow: flow, Backend: "nobody"}, refusal{code: codes.NotFound, reason: "UNKNOWN_BACKEND"}, "backend")
	}
}

// Whoever watches from the sequence on hears of what changed since the context was made.
func contextSeq(t *testing.T, w *world) {
	flow := w.newFlow(t)
	seq := w.context(t, &agentv1.BuildNodeContextRequest{Flow: flow}).GetStoreSeq()
	node := w.exchange(t, flow, "", "a", "b", "", nil)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	events, err := w.flows.WatchEvents(ctx, &flowstorev1.WatchEventsRequest{SinceSeq: &seq, Events: []string{"node_created"}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := events.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetEvent() == "node_created" {
			if e.GetNode() != node || e.GetSeq() <= seq {
				t.Errorf("%v after %d", e, seq)
			}
			return
		}
	}
}
