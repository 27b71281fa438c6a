package transport_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/transport"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stories keeps what it was asked and answers as told.
type stories struct {
	request story.Request
	texts   []string
	prompt  story.Prompt
	counts  story.Counts
	// backends are how the model servers are.
	backends []story.Status
	presets  []story.Preset
	err      error
	unfit    error
	calls    int
}

func (s *stories) Build(_ context.Context, r story.Request) (story.Prompt, error) {
	s.calls++
	s.request = r
	return s.prompt, s.err
}

func (s *stories) Unfit(context.Context, story.Request) error { return s.unfit }

// Prepare is the domain's, without presets.
func (s *stories) Prepare(r story.Request) (story.Request, []story.Violation) { return r, r.Check() }

func (s *stories) Presets() []story.Preset { return s.presets }

func (s *stories) Count(_ context.Context, _ string, texts []string) (story.Counts, error) {
	s.calls++
	s.texts = texts
	return s.counts, s.err
}

func (s *stories) Backends(context.Context) []story.Status { return s.backends }

func serve(t *testing.T, s *stories) promptbuilderv1.PromptBuilderServiceClient {
	t.Helper()
	return promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) {
		promptbuilderv1.RegisterPromptBuilderServiceServer(r, transport.New(s, nil, nil))
	}))
}

func TestRequestReachesTheDomain(t *testing.T) {
	t.Parallel()
	s := &stories{}
	if _, err := serve(t, s).BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{
		Backend: "gemma", Mode: promptbuilderv1.StoryMode_STORY_MODE_GENERATE, Body: "本文",
		Story: &commonv1.Story{
			Title: proto.String("a"), Keywords: []string{"b"}, Genres: []string{"c"}, Synopsis: proto.String("d"), Setting: proto.String("e"),
			Plot: proto.String("f"), Note: proto.String("g"), DialogueLevel: proto.String(""), Rating: proto.String("r18"),
		},
		BlockOrder: promptbuilderv1.BlockOrder_BLOCK_ORDER_TEXT_FIRST, NoteHeader: promptbuilderv1.NoteHeader_NOTE_HEADER_LEGACY,
		MaxTokens: 7, Fit: promptbuilderv1.Fit_FIT_CHAR_TRIM, MaxMainTextChars: 8, Seed: 9, SlackPercent: proto.Int32(0), State: "bm90YXN0YXRl", Preset: "n",
		Sampling: samplingOfAll(0),
		Summary:  "o", Memory: "p", TextPercent: 10, NoteDepth: proto.Int32(5), Blocks: rulesOfAll(),
		Compatibility: promptbuilderv1.Compatibility_COMPATIBILITY_STRICT, Sampler: promptbuilderv1.Sampler_SAMPLER_CYCLIC, Neutralize: true, LenientBody: true,
		CutGranularity: promptbuilderv1.CutGranularity_CUT_GRANULARITY_SENTENCE, OnOverflow: promptbuilderv1.OnOverflow_ON_OVERFLOW_RETURN,
		Sets: map[string]*promptbuilderv1.OptionSet{"h": {Options: []string{"i"}}},
		Picks: []*promptbuilderv1.Pick{
			{Field: "body", Group: 1, Option: 2, Text: "雨"}, {Field: "body", Group: 3, Option: 9, Options: []int32{4, 5}}, {Field: "body", Group: 6, Option: -1},
		},
		Wrapping: &promptbuilderv1.Wrapping{
			Name: "custom", Bos: "t", BeforeInstruction: "j", BeforeInput: "\n", AfterInput: "k", BeforeSuffix: "l", Stop: []string{"m"},
		},
	}); err != nil {
		t.Fatal(err)
	}
	want := story.Request{
		Backend: "gemma", Body: "本文", Order: story.TextFirst, NoteHeader: story.NoteHeaderLegacy, MaxTokens: 7, Fit: story.FitCharTrim, TrimTo: 8, Seed: 9,
		Slack: new(int), State: "bm90YXN0YXRl", Preset: "n", Sampling: everyKnob(), TextPercent: 10, NoteDepth: new(5), Blocks: everyRule(),
		Sampler: story.Cyclic, Neutralize: true, LenientBody: true, Finest: fit.Sentence, ReturnOver: true, Sets: dynamic.Sets{"h": {"i"}},
		Picks: []story.Pick{
			{Field: "body", Pick: dynamic.Pick{Group: 1, Options: []int{2}, Text: "雨"}}, {Field: "body", Pick: dynamic.Pick{Group: 3, Options: []int{4, 5}}},
			{Field: "body", Pick: dynamic.Pick{Group: 6}},
		},
		Wrapping: story.Wrapping{Name: "custom", BOS: "t", BeforeInstruction: "j", BeforeInput: "\n", AfterInput: "k", BeforeSuffix: "l", Stop: []string{"m"}},
		Work: story.Work{
			Title: "a", Keywords: []string{"b"}, Genres: []string{"c"}, Synopsis: "d", Setting: "e", Plot: "f", Note: "g",
			DialogueLevel: proto.String(""), Rating: "r18", Summary: "o", Memory: "p",
		},
	}
	if diff := cmp.Diff(want, s.request); diff != "" {
		t.Errorf("the domain was asked (-want +got):\n%s", diff)
	}
}

// everyKnob is a sampling that says everything, samplingOfAll the same in the contract.
func everyKnob() sampling.Sampling {
	k, seed := 3, uint32(6)
	return sampling.Sampling{
		Temperature: proto.Float64(0.1), TopP: proto.Float64(0.2), TopK: &k, MinP: proto.Float64(0.4), RepeatPenalty: proto.Float64(0.5), Seed: &seed,
		Stop: []string{"s"}, TypicalP: proto.Float64(0.6), TopA: proto.Float64(0.7), TailFree: proto.Float64(0.8), RepeatRange: &k, RepeatSlope: proto.Float64(0.9),
		PresencePenalty: proto.Float64(1), FrequencyPenalty: proto.Float64(1.1), XTC: &sampling.XTC{Probability: 0.5, Threshold: 0.1},
		DRY:      &sampling.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 9, Breakers: []string{"b"}},
		Mirostat: &sampling.Mirostat{Mode: 2, Tau: 5, Eta: 0.1}, DynamicTemperature: &sampling.DynamicTemperature{Range: 0.5, Exponent: 1},
		Smoothing: &sampling.Smoothing{Factor: 0.3, Curve: 1}, LogitBias: []sampling.Bias{{Token: 5, Bias: -100}}, BanEOS: true, Grammar: "root ::= x",
	}
}

func samplingOfAll(maxTokens int32) *flowstorev1.Sampling {
	return &flowstorev1.Sampling{
		Temperature: proto.Float64(0.1), TopP: proto.Float64(0.2), TopK: proto.Int32(3), MinP: proto.Float64(0.4), RepeatPenalty: proto.Float64(0.5),
		Seed: proto.Uint32(6), Stop: []string{"s"}, MaxTokens: maxTokens,
		TypicalP: proto.Float64(0.6), TopA: proto.Float64(0.7), TailFree: proto.Float64(0.8), RepeatRange: proto.Int32(3), RepeatSlope: proto.Float64(0.9),
		PresencePenalty: proto.Float64(1), FrequencyPenalty: proto.Float64(1.1), Xtc: &flowstorev1.Sampling_Xtc{Probability: 0.5, Threshold: 0.1},
		Dry:      &flowstorev1.Sampling_Dry{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 9, Breakers: []string{"b"}},
		Mirostat: &flowstorev1.Sampling_Mirostat{Mode: 2, Tau: 5, Eta: 0.1}, DynamicTemperature: &flowstorev1.Sampling_DynamicTemperature{Range: 0.5, Exponent: 1},
		Smoothing: &flowstorev1.Sampling_Smoothing{Factor: 0.3, Curve: 1}, LogitBias: []*flowstorev1.Sampling_LogitBias{{Token: 5, Bias: -100}},
		BanEos: true, Grammar: "root ::= x",
	}
}

func TestAnEmptyRequestIsOne(t *testing.T) {
	t.Parallel()
	s := &stories{}
	if _, err := serve(t, s).BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(story.Request{}, s.request); diff != "" {
		t.Errorf("the domain was asked (-want +got):\n%s", diff)
	}
}

// TestPromptReachesTheCaller fails when a field of the answer is forgotten.
func TestPromptReachesTheCaller(t *testing.T) {
	t.Parallel()
	backend := story.Backend{Backend: "gemma", Kind: "llamacpp", Address: "http://h", Model: "m", Window: 4096, Tokenizer: "t"}
	s := &stories{prompt: story.Prompt{
		Text: "p", Digest: "d", Task: story.ContInfo, Tokens: 1, Limit: 2, MaxTokens: 3, Rating: "general", Overflow: true, Counts: 4, Seed: 5, Sent: 6, State: "s", Slack: 7, Suffix: 8,
		Blocks:       []story.Block{{Kind: story.KindTail, Tokens: 6, Characters: 7, Estimated: true, CutCharacters: 20, CutLines: 21, Limit: 22}},
		Cut:          &story.Cut{Characters: 8, Lines: 9, KeptCharacters: 10, FirstKept: "f"},
		Warnings:     []story.Warning{{Code: story.LittleTextLeft, Field: "body", Message: "m"}},
		Picks:        []story.Pick{{Field: "body", Pick: dynamic.Pick{Group: 11, Options: []int{12, 13}, Text: "x", Line: 14, Column: 15}}},
		Combinations: [][]story.Pick{{{Field: "story.title", Pick: dynamic.Pick{Group: 16, Options: []int{17}, Text: "y", Line: 18, Column: 19}}}}, Some: true,
		Backend: backend, Wrapping: story.Wrapping{Name: "n", BOS: "t", BeforeInstruction: "o", BeforeInput: "p", AfterInput: "q", BeforeSuffix: "r", Stop: []string{"s"}},
		Held: everyChoice("h"),
	}}
	got, err := serve(t, s).BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	filled(t, got.ProtoReflect())
	wantBackend := &commonv1.BackendIdentity{Backend: "gemma", Kind: "llamacpp", Address: "http://h", Model: "m", Window: 4096, Tokenizer: "t"}
	want := &promptbuilderv1.BuildStoryResponse{
		Prompt: "p", Digest: "d", Task: promptbuilderv1.StoryTask_STORY_TASK_CONT_INFO, Tokens: 1, Limit: 2, MaxTokens: 3, Rating: "general",
		Overflow: true, CountsUsed: 4, Seed: 5, CharactersSent: 6, State: "s", SlackPercent: 7, SuffixCharacters: 8,
		Blocks:       []*promptbuilderv1.Block{{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_TAIL, Tokens: 6, Characters: 7, Estimated: true, CutCharacters: 20, CutLines: 21, Limit: 22}},
		Cut:          &promptbuilderv1.Cut{Characters: 8, Lines: 9, KeptCharacters: 10, FirstKept: "f", KeptShare: 10.0 / 18},
		Warnings:     []*promptbuilderv1.Warning{{Code: "LITTLE_TEXT_LEFT", Field: "body", Message: "m"}},
		Picks:        []*promptbuilderv1.Pick{{Field: "body", Group: 11, Option: 12, Options: []int32{12, 13}, Text: "x", Line: 14, Column: 15}},
		Combinations: []*promptbuilderv1.Combination{{Picks: []*promptbuilderv1.Pick{{Field: "story.title", Group: 16, Option: 17, Options: []int32{17}, Text: "y", Line: 18, Column: 19}}}}, MoreCombinations: true,
		Backend: wantBackend, Wrapping: &promptbuilderv1.Wrapping{
			Name: "n", Bos: "t", BeforeInstruction: "o", BeforeInput: "p", AfterInput: "q", BeforeSuffix: "r", Stop: []string{"s"},
		},
		Held: presetOfAll("h"),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	s.counts = story.Counts{Tokens: []int{3, 0}, Estimated: true, Backend: backend}
	counts, err := serve(t, s).CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: []string{"a", ""}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&promptbuilderv1.CountTokensResponse{Tokens: []int32{3, 0}, Estimated: true, Backend: wantBackend}, counts, protocmp.Transform()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// filled fails for each field that is not set.
func filled(t *testing.T, m protoreflect.Message) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case !m.Has(f):
			t.Errorf("%s is not filled", f.FullName())
		case f.IsList() && f.Message() != nil:
			filled(t, m.Get(f).List().Get(0).Message())
		case f.Message() != nil:
			filled(t, m.Get(f).Message())
		}
	}
}

// TestEveryWordHasItsEnum: tasks and kinds of the domain are all in the contract.
func TestEveryWordHasItsEnum(t *testing.T) {
	t.Parallel()
	s := &stories{}
	client := serve(t, s)
	for _, task := range []story.Task{story.GenInfo, story.GenZero, story.ContInfo, story.ContZero} {
		s.prompt = story.Prompt{Task: task}
		got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
		if err != nil || got.GetTask().String() != "STORY_TASK_"+string(task) {
			t.Errorf("%s became %s, error %v", task, got.GetTask(), err)
		}
	}
	s.prompt = story.Prompt{}
	for _, kind := range []story.Kind{
		story.KindInstruction, story.KindReference, story.KindBody, story.KindNote, story.KindTail, story.KindSuffix,
		story.KindSummary, story.KindMemory,
	} {
		s.prompt.Blocks = append(s.prompt.Blocks, story.Block{Kind: kind})
	}
	got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range got.GetBlocks() {
		if want := promptbuilderv1.BlockKind(i + 1); b.GetKind() != want {
			t.Errorf("block %d is %s, want %s", i, b.GetKind(), want)
		}
	}
}

func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	s := &stories{}
	client := serve(t, s)
	_, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{
		Mode: 7, BlockOrder: 7, NoteHeader: 7, Fit: 7, MaxTokens: -1, MaxMainTextChars: -1,
		Blocks:   []*promptbuilderv1.BlockRule{{Kind: 9, Trim: 9, MinTokens: -1}},
		Sampling: &flowstorev1.Sampling{TopP: proto.Float64(2), Stop: []string{""}, MaxTokens: 5, Xtc: &flowstorev1.Sampling_Xtc{Threshold: 0.1}}, Story: &commonv1.Story{Rating: proto.String("r15")},
	})
	violations(t, err, "block_order", "blocks[0].kind", "blocks[0].min_tokens", "blocks[0].trim", "fit", "max_main_text_chars", "max_tokens", "mode", "note_header",
		"sampling.max_tokens", "sampling.stop[0]", "sampling.top_p", "sampling.xtc.probability", "story.rating")
	_, err = client.CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{})
	violations(t, err, "texts")
	_, err = client.CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: make([]string, 65)})
	violations(t, err, "texts")
	if s.calls != 0 {
		t.Errorf("the domain was asked %d times", s.calls)
	}
}

func violations(t *testing.T, err error, want ...string) {
	t.Helper()
	e, ok := apierr.FromStatus(err)
	if !ok || e.Reason != apierr.ReasonInvalidField {
		t.Fatalf("error %v, want INVALID_FIELD", err)
	}
	var got []string
	for _, v := range e.Violations {
		got = append(got, v.Field)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// TestAWrongBlockIsToldOnce, in the words of the contract.
func TestAWrongBlockIsToldOnce(t *testing.T) {
	t.Parallel()
	client := serve(t, &stories{})
	_, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Blocks: []*promptbuilderv1.BlockRule{
		{Kind: 99}, {Kind: 99}, {Kind: promptbuilderv1.BlockKind_BLOCK_KIND_TAIL}, {}, {Kind: promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY},
		{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY},
	}})
	e, _ := apierr.FromStatus(err)
	const known = "must be one of BLOCK_KIND_BODY, BLOCK_KIND_SUMMARY, BLOCK_KIND_MEMORY, BLOCK_KIND_NOTE, BLOCK_KIND_REFERENCE, and is "
	want := []apierr.Violation{
		{Field: "blocks[0].kind", Description: known + "99"}, {Field: "blocks[1].kind", Description: known + "99"},
		{Field: "blocks[2].kind", Description: known + "BLOCK_KIND_TAIL"}, {Field: "blocks[3].kind", Description: "is required"},
		{Field: "blocks[5].kind", Description: "is the same as in blocks[4]; a kind has one rule"},
	}
	if e == nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, e.Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
