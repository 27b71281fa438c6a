package transport_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// everyChoice is a preset that leaves nothing open, presetOfAll the same in the contract.
func everyChoice(name string) story.Preset {
	return story.Preset{
		Name: name, Wrapping: story.Wrapping{Name: "custom", BOS: "e", BeforeInstruction: "a", BeforeInput: "\n", AfterInput: "b", BeforeSuffix: "c", Stop: []string{"d"}},
		Fit: story.FitCharTrim, TrimTo: 1, Finest: fit.Sentence, Slack: new(int), Order: story.TextFirst, NoteHeader: story.NoteHeaderLegacy, NoteDepth: 5, MaxTokens: 2,
		Sampling: everyKnob(), Blocks: everyRule(),
	}
}

func presetOfAll(name string) *promptbuilderv1.Preset {
	return &promptbuilderv1.Preset{
		Name:     name,
		Wrapping: &promptbuilderv1.Wrapping{Name: "custom", Bos: "e", BeforeInstruction: "a", BeforeInput: "\n", AfterInput: "b", BeforeSuffix: "c", Stop: []string{"d"}},
		Fit:      promptbuilderv1.Fit_FIT_CHAR_TRIM, MaxMainTextChars: 1, CutGranularity: promptbuilderv1.CutGranularity_CUT_GRANULARITY_SENTENCE,
		BlockOrder: promptbuilderv1.BlockOrder_BLOCK_ORDER_TEXT_FIRST, NoteHeader: promptbuilderv1.NoteHeader_NOTE_HEADER_LEGACY, NoteDepth: 5, MaxTokens: 2,
		Sampling: samplingOfAll(2), SlackPercent: proto.Int32(0), Blocks: rulesOfAll(),
	}
}

// everyRule are rules that say everything, rulesOfAll the same in the contract.
func everyRule() []story.Rule {
	priority := 0
	return []story.Rule{{Kind: story.KindMemory, Min: 3, Max: 4, Priority: &priority, Trim: story.TrimTop}, {Kind: story.KindReference, Trim: story.TrimNone}}
}

func rulesOfAll() []*promptbuilderv1.BlockRule {
	return []*promptbuilderv1.BlockRule{
		{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY, MinTokens: 3, MaxTokens: 4, Priority: proto.Int32(0), Trim: promptbuilderv1.BlockTrim_BLOCK_TRIM_TOP},
		{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_REFERENCE, Trim: promptbuilderv1.BlockTrim_BLOCK_TRIM_NONE},
	}
}

func TestListPresets(t *testing.T) {
	t.Parallel()
	s := &stories{presets: []story.Preset{everyChoice("all"), {Name: "none"}}}
	got, err := serve(t, s).ListPresets(t.Context(), &promptbuilderv1.ListPresetsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &promptbuilderv1.ListPresetsResponse{Presets: []*promptbuilderv1.Preset{presetOfAll("all"), {Name: "none", Sampling: &flowstorev1.Sampling{}}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("presets (-want +got):\n%s", diff)
	}
}

// TestWordsOfTheContract: the words of the domain are the names of the enums.
func TestWordsOfTheContract(t *testing.T) {
	t.Parallel()
	s := &stories{}
	client := serve(t, s)
	for number, want := range map[promptbuilderv1.Fit]story.Fit{1: story.FitLines, 2: story.FitNone, 3: story.FitCharTrim} {
		if _, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Fit: number}); err != nil || s.request.Fit != want {
			t.Errorf("%s became %q, error %v", number, s.request.Fit, err)
		}
	}
	for number, want := range map[promptbuilderv1.BlockOrder]story.Order{1: story.ReferenceFirst, 2: story.TextFirst} {
		if _, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{BlockOrder: number}); err != nil || s.request.Order != want {
			t.Errorf("%s became %q, error %v", number, s.request.Order, err)
		}
	}
	for number, want := range map[promptbuilderv1.NoteHeader]story.NoteHeader{1: story.NoteHeaderDefault, 2: story.NoteHeaderLegacy} {
		if _, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{NoteHeader: number}); err != nil || s.request.NoteHeader != want {
			t.Errorf("%s became %q, error %v", number, s.request.NoteHeader, err)
		}
	}
}
