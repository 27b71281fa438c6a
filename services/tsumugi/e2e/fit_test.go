package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// What cannot fit is refused with its sizes, and the model is not asked.
func overflowing(t *testing.T, m mode) {
	model := gemma(t, m)
	w := open(t, m, model)
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	w.idle(t, model)
	before := w.slots(t, model)
	w.unchanged(t, flow, func() {
		for _, tokens := range []int32{4096, 4097, 1 << 30} {
			budget := refusal{code: codes.InvalidArgument, reason: "INVALID_BUDGET",
				metadata: map[string]string{"window": "4096", "max_tokens": strconv.Itoa(int(tokens))}}
			story := short(flow, root)
			story.Sampling.MaxTokens = tokens
			budget.fields = []string{"sampling.max_tokens"}
			budget.check(t, w.generated(story))
			budget.check(t, w.generated(counting(flow, tokens)))
			budget.fields = []string{"max_tokens"}
			_, err := w.prompts.BuildStory(w.ctx, &promptbuilderv1.BuildStoryRequest{Body: opening, MaxTokens: tokens})
			budget.check(t, err)
			budget.fields = []string{"maxTokens"}
			budget.check(t, w.post(t, "/v1/prompts:buildStory", &promptbuilderv1.BuildStoryRequest{Body: opening, MaxTokens: tokens}).err())
		}
		large := &commonv1.Story{Setting: proto.String(strings.Repeat("港には三つの灯台がある。", 60<<10/36))}
		overflow := refusal{code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
			metadata: map[string]string{"limit": "3846", "tokens": "", "block.reference": "", "block.instruction": ""}}.in("story")
		_, err := w.prompts.BuildStory(w.ctx, &promptbuilderv1.BuildStoryRequest{Body: opening, Story: large})
		overflow.check(t, err)
		q := short(flow, root)
		q.Story, q.Sampling.MaxTokens = large, 250
		overflow.check(t, w.generated(q))
		plain := counting(flow, 250)
		plain.Prompt = strings.Repeat("港には三つの灯台がある。", 4096)
		overflow.metadata = map[string]string{"limit": "3846", "tokens": ""}
		overflow.fields = []string{"prompt"}
		overflow.check(t, w.generated(plain))
	})
	if diff := cmp.Diff(before, w.slots(t, model)); diff != "" {
		t.Errorf("the model was asked: %s", diff)
	}
}

// The same request gives the same bytes: a hundred times, over gRPC and REST, and in the agent's own call.
func deterministic(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	story := w.flow(t, flow).Story
	story.Note, story.Synopsis = proto.String("{静かな|張りつめた|明るい}場面にする。"), proto.String("{司書|作家}の{一夜|一年|一生}。")
	q := &promptbuilderv1.BuildStoryRequest{Story: story, Body: opening, Seed: 3, MaxTokens: 24}
	first, err := w.prompts.BuildStory(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Picks) != 3 || first.Seed != 3 {
		t.Errorf("drawn was %v with %d", first.Picks, first.Seed)
	}
	for range 99 {
		next, err := w.prompts.BuildStory(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, next, protocmp.Transform(), protocmp.IgnoreFields(first, "counts_used", "characters_sent")); diff != "" {
			t.Fatalf("another prompt: %s", diff)
		}
	}
	var overREST promptbuilderv1.BuildStoryResponse
	w.post(t, "/v1/prompts:buildStory", q).into(t, &overREST)
	dry := w.dryRun(t, &agentv1.GenerateNodeRequest{
		Flow: flow, Parent: root, Story: story, PickSeed: 3, DryRun: true, Sampling: &flowstorev1.Sampling{MaxTokens: 24},
	})
	if overREST.Digest != first.Digest || dry.PromptDigest != first.Digest || dry.Build.GetPrompt() != first.Prompt {
		t.Errorf("digests %s, %s over REST, %s of the agent", first.Digest, overREST.Digest, dry.PromptDigest)
	}
	w.restart(t)
	if again, err := w.prompts.BuildStory(w.ctx, q); err != nil || again.Digest != first.Digest {
		t.Errorf("behind a restart: %v, %v", again.GetDigest(), err)
	}
}

// A whole novel is cut to the window of the real model, with next to nothing of the window left unused.
func novelFits(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	novel, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	q := &promptbuilderv1.BuildStoryRequest{Body: string(novel), Story: &commonv1.Story{Title: proto.String("こころ"), Note: proto.String("静かに終える。")}}
	built, err := w.prompts.BuildStory(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	var overREST promptbuilderv1.BuildStoryResponse
	w.post(t, "/v1/prompts:buildStory", q).into(t, &overREST)
	for how, b := range map[string]*promptbuilderv1.BuildStoryResponse{"gRPC": built, "REST": &overREST} {
		window := b.Backend.GetWindow()
		if b.Tokens+b.MaxTokens > window || float64(b.Tokens) < 0.98*float64(b.Limit) || b.Limit+b.MaxTokens != window {
			t.Errorf("%s: %d tokens of %d, %d kept for the answer, in a window of %d", how, b.Tokens, b.Limit, b.MaxTokens, window)
		}
		if b.CountsUsed < 1 || b.CountsUsed > 9 || b.Cut.GetCharacters() == 0 || b.Digest != built.Digest {
			t.Errorf("%s: %d counts, cut %v, digest %s", how, b.CountsUsed, b.Cut, b.Digest)
		}
	}
	counted, err := w.prompts.CountTokens(w.ctx, &promptbuilderv1.CountTokensRequest{Texts: []string{built.Prompt}})
	if err != nil || counted.Tokens[0] != built.Tokens {
		t.Errorf("counted again the prompt has %v tokens, not %d (%v)", counted.GetTokens(), built.Tokens, err)
	}
	if m.name != oneProcess.name {
		return // A model reads a whole window for half a minute, and what it reads is the same prompt.
	}
	flow := w.newFlow(t)
	root := w.say(t, flow, string(novel))
	made := short(flow, root)
	made.Sampling.MaxTokens = 8
	if g := w.generate(made).node(t).GetGeneration(); g.GetPromptTokens() < 4000 || g.GetPromptTokens() > 4088 {
		t.Errorf("behind the novel: %v", g)
	}
}
