package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

func TestContinueAFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{" 港", "へ\r\n", "\x00続く "} }})
	var parent string
	for _, text := range []string{"夜の", "港", "で、", "彼は"} {
		parent = r.flows.put("nodes/"+uuid.NewString(), "system", "捨てる", "assistant", text)
	}
	q := r.request("歩き")
	q.Parent, q.SetCurrent, q.PickSeed = parent, true, 9
	q.Story = &commonv1.Story{Title: proto.String("朝")}
	q.Sampling = &flowstorev1.Sampling{Temperature: proto.Float64(0), TopK: proto.Int32(40), MaxTokens: 20, Stop: []string{"。"}}
	q.BlockOrder = promptbuilderv1.BlockOrder_BLOCK_ORDER_TEXT_FIRST
	q.NoteHeader = promptbuilderv1.NoteHeader_NOTE_HEADER_LEGACY
	q.Build = &promptbuilderv1.BuildStoryRequest{
		Mode: promptbuilderv1.StoryMode_STORY_MODE_AUTOCOMPLETE, Wrapping: &promptbuilderv1.Wrapping{Name: "custom", Stop: []string{"<e>"}},
		Sets:       map[string]*promptbuilderv1.OptionSet{"天気": {Options: []string{"雨"}}, "季": {Options: []string{"春"}}},
		OnOverflow: promptbuilderv1.OnOverflow_ON_OVERFLOW_RETURN,
	}
	q.Build.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 3000, protowire.BytesType), "later")) // of a newer contract
	q.SendOverflow = true
	got := r.all(q)
	if got.err != nil || got.stored == nil || got.text != " 港へ\r\n\x00続く " {
		t.Fatalf("%+v", got)
	}
	b := r.prompts.builds[0]
	if b.Body != "夜の港で、彼は歩き" || b.GetStory().GetTitle() != "朝" || b.Story.Genres[0] != "怪談" ||
		b.MaxTokens != 20 || b.Seed != 9 || b.BlockOrder != q.BlockOrder || b.NoteHeader != q.NoteHeader {
		t.Errorf("built from %v", b)
	}
	want := proto.CloneOf(q.Build)
	want.Story, want.Body, want.MaxTokens, want.Seed, want.BlockOrder, want.NoteHeader = b.Story, b.Body, 20, 9, q.BlockOrder, q.NoteHeader
	want.LenientBody = true
	if diff := cmp.Diff(want, b, protocmp.Transform()); diff != "" {
		t.Errorf("what is not ours is not passed on as it is:\n%s", diff)
	}
	if stop := got.stored.Node.Generation.Sampling.Stop; !slices.Equal(stop, []string{"。", "<e>"}) {
		t.Errorf("the record has the stop strings %q", stop)
	}
	add := r.flows.added()[0]
	if add.Flow != q.Flow || len(add.Parents) != 1 || add.Parents[0] != parent || !add.SetCurrent || add.RequestId != add.NodeId {
		t.Errorf("added as %v", add)
	}
	id := uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte("0")).String()
	if got.opened.Generation != "generations/"+id || got.stored.Node.Name != "nodes/"+id || add.NodeId != id {
		t.Errorf("generation %s, node %s, want %s", got.opened.Generation, got.stored.Node.Name, id)
	}
	n := got.stored.Node
	if n.Texts[0].Role != "user" || n.Texts[0].Content != "歩き" || n.Texts[1].Role != "assistant" || n.Texts[1].Content != got.text {
		t.Errorf("texts %v", n.Texts)
	}
	checkRecord(t, got, q)
	checkShown(t, r.prompts.built, got.opened.Build)
	if got.opened.RequestId != q.RequestId {
		t.Errorf("opened %v", got.opened)
	}
}

// checkRecord compares what the node says of its making with the fake's timings: 2.5 ms a token read, 8 ms a token made.
func checkRecord(t *testing.T, got reading, q *agentv1.GenerateNodeRequest) {
	t.Helper()
	g, n := got.stored.Node.Generation, got.stored.Node
	if g.FinishReason != "stop" || g.Task != "CONT_INFO" || g.PickSeed != 9 || len(g.Picks) != 1 || g.Picks[0] != "story.note#1=2,0 雨" {
		t.Errorf("generation %v", g)
	}
	if g.AnswerTokens != 3 || g.AnswerSeconds != 0.024 || n.Texts[1].TokenCount != 3 || n.Texts[1].DurationSeconds != 0.024 || n.Texts[1].TokensPerSecond != 125 {
		t.Errorf("figures of the answer: %v, %v", g, n.Texts[1])
	}
	prompt := int32(len([]rune("[INST]朝[/INST]夜の港で、彼は歩き")))
	if got.stored.PromptTokensRead == nil || *got.stored.PromptTokensRead != prompt || got.stored.GetPromptTokensCached() != 0 {
		t.Errorf("the server read %v, and had %v", got.stored.PromptTokensRead, got.stored.PromptTokensCached)
	}
	if g.PromptTokens != prompt || g.PromptSeconds != float64(prompt)*0.0025 || got.opened.PromptTokens != prompt {
		t.Errorf("figures of the prompt: %v", g)
	}
	if g.Sampling.Seed == nil || *g.Sampling.Seed != *got.opened.Sampling.Seed || *g.Sampling.TopK != 40 || g.Sampling.MaxTokens != 20 {
		t.Errorf("sampling %v, opened with %v", g.Sampling, got.opened.Sampling)
	}
	if g.Backend.Backend != "tale" || g.Backend.Window != 4096 || n.Model != "fake.gguf" || len(g.RequestDigest) != 64 || g.PromptDigest != got.opened.PromptDigest {
		t.Errorf("generation %v", g)
	}
}

// checkShown finds whether all that promptbuilder said is shown, but for the prompt.
func checkShown(t *testing.T, built, shown *promptbuilderv1.BuildStoryResponse) {
	t.Helper()
	want := proto.CloneOf(built)
	want.Prompt = ""
	if diff := cmp.Diff(want, shown, protocmp.Transform()); diff != "" {
		t.Errorf("the build that is shown:\n%s", diff)
	}
}

func TestDryRunShowsThePrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	q := r.request("夜の港")
	q.DryRun = true
	got := r.all(q)
	if got.err != nil || got.opened.Build.Prompt != "[INST]夜[/INST]夜の港" || got.stored != nil {
		t.Errorf("%+v", got)
	}
	if r.model.Calls("/completion") != 0 || len(r.flows.added()) != 0 {
		t.Error("the model was called, or something stored")
	}
}

// TestADryRunOfATextWithoutAFlow shows what a flow that begins with it would be asked.
func TestADryRunOfATextWithoutAFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	q := &agentv1.GenerateNodeRequest{Text: "夜の港", DryRun: true}
	if got := r.all(q); got.err != nil || !strings.HasSuffix(got.opened.Build.Prompt, "[/INST]夜の港") {
		t.Errorf("%+v, %v", got, got.opened)
	}
	q.DryRun, q.Parent = false, "nodes/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"
	e, _ := apierr.FromStatus(r.all(q).err)
	if e == nil || len(e.Violations) != 2 || e.Violations[0].Field != "flow" || e.Violations[1].Field != "parent" {
		t.Errorf("%+v", e)
	}
	if len(r.flows.added()) != 0 {
		t.Error("something is stored")
	}
}

func TestAPlainPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	q := &agentv1.GenerateNodeRequest{Flow: r.flows.flow, Prompt: "[INST]詩[/INST]"}
	got := r.all(q)
	if got.stored == nil || got.stored.Node.Texts[0].Content != q.Prompt || got.stored.Node.Generation.Task != "PLAIN" || got.opened.Build != nil {
		t.Errorf("%+v", got)
	}
	if _, err := uuid.Parse(got.opened.RequestId); err != nil {
		t.Errorf("the request id that was drawn is not told: %q", got.opened.RequestId)
	}
	q.Sampling = &flowstorev1.Sampling{MaxTokens: 4096}
	r.is(r.all(q).err, codes.InvalidArgument, "INVALID_BUDGET", "window", "4096", "max_tokens", "4096")
	q.Sampling.MaxTokens = 4090
	r.is(r.all(q).err, codes.FailedPrecondition, "CONTEXT_OVERFLOW", "limit", "6", "tokens", "14")
	if r.model.Calls("/completion") != 1 {
		t.Error("the model was called for a prompt that does not fit")
	}
}

// TestOpenedIsThereBeforeTheModelSpeaks: headers and the opening event do not wait for a long prompt.
func TestOpenedIsThereBeforeTheModelSpeaks(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true, Reply: func(string) []string { return []string{"あ", "い"} }},
		func(c *app.Config) { c.Generation.Heartbeat = 20 * time.Millisecond })
	s, _ := r.generate(t.Context(), r.request(""))
	e, err := s.Recv()
	if err != nil || e.GetHeartbeat() == nil {
		t.Fatalf("instead of a heartbeat: %v, %v", e, err)
	}
	for range 3 {
		r.model.Step(t)
	}
	if got := r.rest(s); got.text != "あい" || got.stored == nil || got.last != 3 {
		t.Errorf("%+v", got)
	}
}

func TestAttachFromAnotherClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true, Reply: func(string) []string { return []string{"あ", "い", "う"} }})
	q := r.request("")
	first, opened := r.generate(t.Context(), q)
	r.model.Step(t)
	r.text(first)
	r.model.Step(t)
	last := r.text(first)
	watch, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: opened.Generation, After: 1})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := r.generate(t.Context(), q)
	st, err := r.agent.GetGeneration(t.Context(), &agentv1.GetGenerationRequest{Name: opened.Generation})
	if err != nil || st.State != agentv1.Generation_STATE_RUNNING || st.LastEvent != 2 || st.Characters != 2 || st.Node != "" || st.StartTime == nil || st.EndTime != nil {
		t.Errorf("%v, %v", st, err)
	}
	r.model.Step(t)
	r.model.Step(t)
	if got := r.rest(first); last.Id != 2 || got.text != "う" || got.stored == nil {
		t.Errorf("first: %+v", got)
	}
	if got := r.rest(watch); got.text != "いう" || got.stored == nil || got.opened.Generation != opened.Generation {
		t.Errorf("watching after 1: %+v", got)
	}
	if got := r.rest(again); got.text != "あいう" || got.stored == nil || got.stored.Replayed {
		t.Errorf("the same request: %+v", got)
	}
	if got := r.all(q); got.stored == nil || !got.stored.Replayed || got.text != "" {
		t.Errorf("the same request afterwards: %+v", got)
	}
	beyond, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: opened.Generation, After: 5})
	if err != nil {
		t.Fatal(err)
	}
	r.is(r.rest(beyond).err, codes.OutOfRange, "EVENT_OUT_OF_RANGE", "last", "4")
	if r.model.Calls("/completion") != 1 {
		t.Errorf("the model was called %d times", r.model.Calls("/completion"))
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true})
	s, opened := r.generate(t.Context(), r.request("前"))
	r.model.Step(t)
	r.text(s)
	g, err := r.agent.CancelGeneration(t.Context(), &agentv1.CancelGenerationRequest{Name: opened.Generation})
	node := strings.Replace(opened.Generation, "generations/", "nodes/", 1)
	if err != nil || g.State != agentv1.Generation_STATE_CANCELLED || g.Node != node || g.FinishReason != "cancelled" || g.Error == "" {
		t.Fatalf("%v, %v", g, err)
	}
	receive(t, r.model.Aborted())
	r.is(r.rest(s).err, codes.Canceled, "GENERATION_CANCELLED", "node", node, "generation", opened.Generation)
	n := r.flows.added()[0].GetNewNode()
	if n.Texts[1].Content != "糸" || n.Generation.FinishReason != "cancelled" ||
		n.Generation.AnswerTokens != 1 || n.Generation.AnswerSeconds != 0 || n.Texts[1].TokensPerSecond != 0 {
		t.Errorf("stored %v", n)
	}
	again, err := r.agent.CancelGeneration(t.Context(), &agentv1.CancelGenerationRequest{Name: opened.Generation})
	if err != nil || !proto.Equal(again, g) {
		t.Errorf("cancelling it once more: %v, %v", again, err)
	}
}

func TestTheCallerLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true, Reply: func(string) []string { return []string{"あ", "い"} }})
	ctx, leave := context.WithCancel(t.Context())
	s, opened := r.generate(ctx, r.request(""))
	r.model.Step(t)
	r.text(s)
	leave()
	receive(t, r.model.Aborted())
	g, err := r.agent.CancelGeneration(t.Context(), &agentv1.CancelGenerationRequest{Name: opened.Generation})
	if err != nil || g.FinishReason != "disconnected" || g.Node == "" {
		t.Errorf("%v, %v", g, err)
	}

	q := r.request("")
	q.OnDisconnect = agentv1.OnDisconnect_ON_DISCONNECT_CONTINUE
	ctx, leave = context.WithCancel(t.Context())
	s, opened = r.generate(ctx, q)
	r.model.Step(t)
	r.text(s)
	leave()
	r.model.Step(t)
	r.model.Step(t)
	watch, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: opened.Generation})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.rest(watch); got.text != "あい" || got.stored == nil {
		t.Errorf("%+v", got)
	}
}

// TestAStoppingServerKeepsWhatCame: the stream is told, with the node, and the server stops.
func TestAStoppingServerKeepsWhatCame(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true})
	s, opened := r.generate(t.Context(), r.request(""))
	r.model.Step(t)
	r.text(s)
	r.server.Drain()
	err := r.rest(s).err
	r.is(err, codes.Unavailable, "DRAINING", "node", "nodes/"+r.flows.added()[0].NodeId, "generation", opened.Generation)
	if err := r.server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	r.keptAtStop()
}

// keptAtStop finds the one node of a generation that was stopped after its first piece.
func (r *rig) keptAtStop() {
	r.Helper()
	added := r.flows.added()
	if len(added) != 1 || added[0].GetNewNode().Generation.FinishReason != "shutdown" || added[0].GetNewNode().Texts[0].Content != "糸" {
		r.Errorf("kept: %v", added)
	}
}

func TestCloseKeepsWhatNobodyWatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true})
	q := r.request("")
	q.OnDisconnect = agentv1.OnDisconnect_ON_DISCONNECT_CONTINUE
	ctx, leave := context.WithCancel(t.Context())
	s, _ := r.generate(ctx, q)
	r.model.Step(t)
	r.text(s)
	leave()
	if err := r.app.Close(t.Context()); err != nil {
		t.Error(err)
	}
	r.keptAtStop()
	r.is(r.all(r.request("")).err, codes.Unavailable, "DRAINING")
}

func TestTheModelServerDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{"あ", "い", "う"} }})
	r.model.Break(llmtest.Faults{Break: servertest.BreakCut, BreakAfter: 2})
	got := r.all(r.request("前"))
	node := "nodes/" + r.flows.added()[0].NodeId
	r.is(got.err, codes.Unavailable, "BACKEND_UNAVAILABLE", "node", node, "backend", "tale", "address", r.model.URL)
	if n := r.flows.added()[0].GetNewNode(); n.Texts[1].Content != "あい" || n.Generation.FinishReason != "backend_error" || n.Generation.Error == "" {
		t.Errorf("stored %v", n)
	}
}

// TestAReplayIsToldAsItWasLive: whoever comes later, also after a restart, hears the same code, reason and words.
func TestAReplayIsToldAsItWasLive(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(r *rig) (*agentv1.GenerateNodeRequest, reading){
		"backend_error": func(r *rig) (*agentv1.GenerateNodeRequest, reading) {
			q := r.request("前")
			r.model.Break(llmtest.Faults{Break: servertest.BreakCut, BreakAfter: 1})
			return q, r.all(q)
		},
		"cancelled": func(r *rig) (*agentv1.GenerateNodeRequest, reading) {
			q := r.request("前")
			s, opened := r.generate(t.Context(), q)
			r.model.Step(t)
			r.text(s)
			if _, err := r.agent.CancelGeneration(t.Context(), &agentv1.CancelGenerationRequest{Name: opened.Generation}); err != nil {
				t.Fatal(err)
			}
			got := r.rest(s)
			got.opened = opened
			return q, got
		},
		"shutdown": func(r *rig) (*agentv1.GenerateNodeRequest, reading) {
			q := r.request("前")
			s, opened := r.generate(t.Context(), q)
			r.model.Step(t)
			r.text(s)
			r.server.Drain()
			got := r.rest(s)
			got.opened = opened
			return q, got
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, llmtest.Options{Stepped: name != "backend_error"})
			q, live := cut(r)
			after := newRig(t, llmtest.Options{})
			after.flows.flow, after.flows.nodes, after.flows.path = r.flows.flow, r.flows.nodes, r.flows.path
			watch, err := after.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: live.opened.Generation})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(live.err, after.rest(watch).err); diff != "" || live.err == nil {
				t.Errorf("watched after a restart: %s", diff)
			}
			if again := after.all(q); name == "cancelled" {
				if diff := cmp.Diff(live.err, again.err); diff != "" {
					t.Errorf("asked after a restart: %s", diff)
				}
			} else if again.err != nil || again.stored.GetReplayed() {
				t.Errorf("asked after a restart: %+v", again)
			}
		})
	}
}

func TestFlowstoreIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	r.flows.fail = []error{apierr.New(codes.Unavailable, "DRAINING", "stopping")}
	if got := r.all(r.request("")); got.stored == nil {
		t.Errorf("%+v", got)
	}
	r.flows.fail = []error{apierr.New(codes.Unavailable, "STORE_READ_ONLY", "disk full")}
	q := r.request("")
	lost := r.all(q)
	r.is(lost.err, codes.Unavailable, "NOT_STORED", "cause", "STORE_READ_ONLY", "generation", lost.opened.Generation)
	if got := r.all(q); got.stored == nil || got.text != lost.text {
		t.Errorf("the same request once more: %+v", got)
	}
	if r.model.Calls("/completion") != 2 {
		t.Errorf("the model was called %d times", r.model.Calls("/completion"))
	}
}
