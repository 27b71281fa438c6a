package transport

import (
	"context"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling/wire"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// ListPresets tells the presets.
func (s *Server) ListPresets(context.Context, *promptbuilderv1.ListPresetsRequest) (*promptbuilderv1.ListPresetsResponse, error) {
	res := &promptbuilderv1.ListPresetsResponse{}
	for _, p := range s.stories.Presets() {
		res.Presets = append(res.Presets, fromPreset(p))
	}
	return res, nil
}

func fromPreset(p story.Preset) *promptbuilderv1.Preset {
	drawn := p.Sampling
	drawn.MaxTokens = p.MaxTokens
	out := &promptbuilderv1.Preset{
		Name: p.Name, Fit: promptbuilderv1.Fit(number(promptbuilderv1.Fit_value, "FIT_", string(p.Fit))), MaxMainTextChars: int32(p.TrimTo),
		CutGranularity: granularities[p.Finest],
		BlockOrder:     promptbuilderv1.BlockOrder(number(promptbuilderv1.BlockOrder_value, "BLOCK_ORDER_", string(p.Order))),
		NoteHeader:     promptbuilderv1.NoteHeader(number(promptbuilderv1.NoteHeader_value, "NOTE_HEADER_", string(p.NoteHeader))),
		NoteDepth:      int32(p.NoteDepth), MaxTokens: int32(p.MaxTokens), Sampling: wire.FromSampling(drawn),
		Blocks: fromRules(p.Blocks),
	}
	if p.Slack != nil {
		percent := int32(*p.Slack)
		out.SlackPercent = &percent
	}
	if p.Wrapping.Name != "" {
		out.Wrapping = fromWrapping(p.Wrapping)
	}
	return out
}

// word is the word of the domain for a value of an enum: its name in small letters, without what the names of the enum have
// in common. What is open, and what the contract does not have, is none.
func word(value protoreflect.Enum, prefix string) string {
	v := value.Descriptor().Values().ByNumber(value.Number())
	if v == nil || value.Number() == 0 {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix))
}

// number is the other way round; 0 for what is open.
func number(values map[string]int32, prefix, word string) int32 {
	return values[prefix+strings.ToUpper(word)]
}

var granularities = map[fit.Place]promptbuilderv1.CutGranularity{
	fit.Line:      promptbuilderv1.CutGranularity_CUT_GRANULARITY_LINE,
	fit.Sentence:  promptbuilderv1.CutGranularity_CUT_GRANULARITY_SENTENCE,
	fit.Character: promptbuilderv1.CutGranularity_CUT_GRANULARITY_CHARACTER,
}

var places = func() map[promptbuilderv1.CutGranularity]fit.Place {
	all := map[promptbuilderv1.CutGranularity]fit.Place{}
	for place, granularity := range granularities {
		all[granularity] = place
	}
	return all
}()
