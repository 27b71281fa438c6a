package e2e

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// The main job: a prompt that is accounted for, an answer as it comes, a node that holds it to the byte and says how it
// was made, and the next prompt that goes on in the middle of the sentence.
func continued(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)

	q := short(flow, root)
	r := w.generate(q)
	node := r.node(t)
	checkOpened(t, r.opened, node)
	if r.text == "" || r.text != answer(node) {
		t.Errorf("the pieces joined are %q, the stored answer is %q", r.text, answer(node))
	}
	if want := uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte("0")).String(); node.Name != "nodes/"+want || r.opened.Generation != "generations/"+want {
		t.Errorf("%s and %s; want the id %s", node.Name, r.opened.Generation, want)
	}
	if diff := cmp.Diff([]string{root}, parents(w.flow(t, flow), node.Name)); diff != "" {
		t.Errorf("parents of the node: %s", diff)
	}
	if diff := cmp.Diff(node, w.node(t, node.Name), protocmp.Transform()); diff != "" {
		t.Errorf("the stored node is another: %s", diff)
	}
	if made := w.generation(t, r.opened.Generation); made.State != agentv1.Generation_STATE_DONE || made.Node != node.Name || made.LastEvent != r.last {
		t.Errorf("the generation is %v, the last event was %d", made, r.last)
	}
	checkRecord(t, r.opened, node)

	path, err := w.flows.ListPathNodes(w.ctx, &flowstorev1.ListPathNodesRequest{Flow: flow, Node: node.Name})
	if err != nil {
		t.Fatal(err)
	}
	if got := joined(path); got != opening+r.text {
		t.Errorf("the path reads %q; want %q", got, opening+r.text)
	}
	var overREST flowstorev1.ListPathNodesResponse
	w.rest(t, http.MethodGet, "/v1/"+flow+":listPathNodes?node="+url.QueryEscape(node.Name), nil).into(t, &overREST)
	if diff := cmp.Diff(path, &overREST, protocmp.Transform()); diff != "" {
		t.Errorf("REST tells another path: %s", diff)
	}

	const more = "、そのとき"
	for parent, want := range map[string]string{root: lastLine(opening), node.Name: lastLine(opening + r.text + more)} {
		next := short(flow, parent)
		next.DryRun = true
		if parent == node.Name {
			next.Text = more
		}
		prompt := w.dryRun(t, next).GetBuild().GetPrompt()
		if !strings.HasSuffix(prompt, want) {
			t.Errorf("the prompt does not end in the middle of the sentence, %q: %q", want, prompt)
		}
	}
	if diff := cmp.Diff(2, len(w.flow(t, flow).Nodes)); diff != "" {
		t.Errorf("a dry run left nodes: %s", diff)
	}
}

// checkOpened holds the opening event to its sums.
func checkOpened(t *testing.T, o *agentv1.Opened, node *flowstorev1.Node) {
	t.Helper()
	b := o.GetBuild()
	var sum int32
	for _, block := range b.GetBlocks() {
		sum += block.Tokens
	}
	if sum == 0 || sum != b.GetTokens() || sum != o.PromptTokens {
		t.Errorf("the blocks have %d tokens, the prompt %d, as opened %d", sum, b.GetTokens(), o.PromptTokens)
	}
	if b.GetPrompt() != "" {
		t.Error("the prompt is shown without dry_run")
	}
	if b.GetDigest() != o.PromptDigest || len(o.PromptDigest) != 64 {
		t.Errorf("digests %q and %q", b.GetDigest(), o.PromptDigest)
	}
	if b.GetTask() != promptbuilderv1.StoryTask_STORY_TASK_CONT_INFO {
		t.Errorf("the task is %s", b.GetTask())
	}
	if diff := cmp.Diff(o.Backend, node.Generation.GetBackend(), protocmp.Transform()); diff != "" || o.Backend.GetWindow() != 4096 {
		t.Errorf("backend %v: %s", o.Backend, diff)
	}
}

// checkRecord holds what a node says of its making to what was asked, and to the server's own figures.
func checkRecord(t *testing.T, o *agentv1.Opened, node *flowstorev1.Node) {
	t.Helper()
	g, text := node.GetGeneration(), node.Texts[len(node.Texts)-1]
	if g.GetPromptDigest() != o.PromptDigest || g.GetTask() != "CONT_INFO" || len(g.GetRequestDigest()) != 64 || g.GetError() != "" {
		t.Errorf("the record is %v", g)
	}
	if diff := cmp.Diff(o.Sampling, g.GetSampling(), protocmp.Transform()); diff != "" {
		t.Errorf("sampling: %s", diff)
	}
	if g.GetPromptTokens() != o.PromptTokens || g.GetFinishReason() != "length" || g.GetAnswerTokens() != 24 || text.TokenCount != 24 {
		t.Errorf("%d tokens of %d opened, an answer of %d (%d), %s", g.GetPromptTokens(), o.PromptTokens, g.GetAnswerTokens(), text.TokenCount, g.GetFinishReason())
	}
	rate := float64(g.GetAnswerTokens()) / g.GetAnswerSeconds()
	if g.GetPromptSeconds() <= 0 || g.GetAnswerSeconds() <= 0 || text.DurationSeconds != g.GetAnswerSeconds() || math.Abs(text.TokensPerSecond-rate) > rate/10 {
		t.Errorf("%g s for the prompt, %g s (%g s) and %g tokens/s for the answer", g.GetPromptSeconds(), g.GetAnswerSeconds(), text.DurationSeconds, text.TokensPerSecond)
	}
	if node.Model == "" {
		t.Error("the node does not say which model answered")
	}
}

// dryRun gives the only event of a call with dry_run.
func (w *world) dryRun(t *testing.T, q *agentv1.GenerateNodeRequest) *agentv1.Opened {
	t.Helper()
	r := w.generate(q)
	r.rest(t)
	if r.opened == nil || r.stored != nil || r.pieces > 0 {
		t.Fatalf("the dry run gave %+v, %v", r.opened, r.err)
	}
	return r.opened
}

func joined(path *flowstorev1.ListPathNodesResponse) string {
	var b strings.Builder
	for _, n := range path.Nodes {
		for _, text := range n.Node.Texts {
			b.WriteString(text.Content)
		}
	}
	return b.String()
}

// lastLine gives the line that a text breaks off in.
func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// The same over REST, in both forms of a stream.
func continuedOverREST(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	for _, accept := range []string{sse, ndjson} {
		r := w.generateOver(t, accept, short(flow, root))
		node := r.node(t)
		if r.opened == nil || r.text == "" || r.text != answer(node) {
			t.Errorf("%s: opened %v, the pieces joined are %q, the stored answer is %q", accept, r.opened, r.text, answer(node))
		}
		if diff := cmp.Diff(node, w.node(t, node.Name), protocmp.Transform()); diff != "" {
			t.Errorf("%s: the stored node is another: %s", accept, diff)
		}
	}
	var read flowstorev1.Flow
	w.rest(t, http.MethodGet, "/v1/"+flow, nil).into(t, &read)
	if diff := cmp.Diff(w.flow(t, flow), &read, protocmp.Transform()); diff != "" {
		t.Errorf("REST tells another flow: %s", diff)
	}
}
