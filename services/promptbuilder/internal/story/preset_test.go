package story_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

func num[T any](n T) *T { return &n }

// whole leaves nothing open, bare nothing said.
var whole = story.Preset{
	Name: "whole", Wrapping: story.Wrapping{Name: "raw", BeforeInput: "\n", AfterInput: "\n"}, Fit: story.FitCharTrim, TrimTo: 40,
	Finest: fit.Sentence, Slack: num(30), Order: story.TextFirst, NoteHeader: story.NoteHeaderLegacy, NoteDepth: 2, MaxTokens: 70,
	Sampling: sampling.Sampling{
		Temperature: num(0.1), TopP: num(0.2), TopK: num(3), MinP: num(0.4), RepeatPenalty: num(0.5), Seed: num(uint32(6)), Stop: []string{"s"},
	},
}

func presetBuilder() *story.Builder {
	named := whole
	named.Wrapping = story.Wrapping{Name: "raw"}
	return story.NewBuilder(runesOf(4096), nil, story.Defaults{
		MaxTokens: 250, IdeaTokens: 500, AutocompleteTokens: 64, Rating: story.RatingGeneral,
		Presets: map[string]story.Preset{"whole": named, "bare": {}, "ruled": {NoteDepth: 6, Blocks: []story.Rule{
			{Kind: story.KindMemory, Max: 90}, {Kind: story.KindNote, Max: 80}, {Kind: story.KindBody, Min: 70},
		}}},
	})
}

// rulesWithout hold for a request without rules.
var rulesWithout = []story.Rule{
	{Kind: story.KindSummary, Priority: num(1), Trim: story.TrimTop}, {Kind: story.KindMemory, Priority: num(2), Trim: story.TrimBottom},
	{Kind: story.KindNote, Priority: num(3), Trim: story.TrimNone}, {Kind: story.KindReference, Priority: num(4), Trim: story.TrimNone},
}

// held is what held for a request.
func held(t *testing.T, r story.Request) story.Preset {
	t.Helper()
	b := presetBuilder()
	r, found := b.Prepare(r)
	if found != nil {
		t.Fatal(found)
	}
	p, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p.Held
}

// TestPresetHolds: what a request leaves open is that of the preset, each choice by itself, else the default.
func TestPresetHolds(t *testing.T) {
	t.Parallel()
	defaults := story.Preset{
		Wrapping: story.Wrapping{Name: "mistral", BeforeInstruction: "[INST]", BeforeInput: "\n", AfterInput: "[/INST]", Stop: []string{"[INST]", "[/INST]"}},
		Fit:      story.FitLines, Finest: fit.Line, Slack: num(0), Order: story.ReferenceFirst, NoteHeader: story.NoteHeaderDefault, MaxTokens: 250,
	}
	for name, tt := range map[string]struct {
		request story.Request
		base    story.Preset
		change  func(*story.Preset)
	}{
		"nothing named":  {story.Request{}, defaults, func(*story.Preset) {}},
		"nothing said":   {story.Request{Preset: "bare"}, defaults, func(p *story.Preset) { p.Name = "bare" }},
		"all said":       {story.Request{Preset: "whole"}, whole, func(*story.Preset) {}},
		"wrapping":       {story.Request{Preset: "whole", Wrapping: story.Wrapping{Name: "mistral"}}, whole, func(p *story.Preset) { p.Wrapping = defaults.Wrapping }},
		"fit":            {story.Request{Preset: "whole", Fit: story.FitNone}, whole, func(p *story.Preset) { p.Fit, p.TrimTo = story.FitNone, 0 }},
		"characters":     {story.Request{Preset: "whole", TrimTo: 9}, whole, func(p *story.Preset) { p.TrimTo = 9 }},
		"granularity":    {story.Request{Preset: "whole", Finest: fit.Line}, whole, func(p *story.Preset) { p.Finest = fit.Line }},
		"slack":          {story.Request{Preset: "whole", Slack: num(0)}, whole, func(p *story.Preset) { p.Slack = num(0) }},
		"order":          {story.Request{Preset: "whole", Order: story.ReferenceFirst}, whole, func(p *story.Preset) { p.Order = story.ReferenceFirst }},
		"note":           {story.Request{Preset: "whole", NoteHeader: story.NoteHeaderDefault}, whole, func(p *story.Preset) { p.NoteHeader = story.NoteHeaderDefault }},
		"depth":          {story.Request{Preset: "whole", NoteDepth: num(7)}, whole, func(p *story.Preset) { p.NoteDepth = 7 }},
		"seed's depth":   {story.Request{Preset: "whole", NoteDepth: num(0)}, whole, func(p *story.Preset) { p.NoteDepth = 0 }},
		"length":         {story.Request{Preset: "whole", MaxTokens: 8}, whole, func(p *story.Preset) { p.MaxTokens = 8 }},
		"length of mode": {story.Request{Preset: "bare", Mode: story.Idea}, defaults, func(p *story.Preset) { p.Name, p.MaxTokens = "bare", 500 }},
		"a knob": {
			story.Request{Preset: "whole", Sampling: sampling.Sampling{MinP: num(0.0), Stop: []string{"t"}}}, whole,
			func(p *story.Preset) { p.Sampling.MinP, p.Sampling.Stop = num(0.0), []string{"t"} },
		},
	} {
		want := tt.base
		want.Blocks = rulesWithout
		tt.change(&want)
		if diff := cmp.Diff(want, held(t, tt.request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPresetIsAsGoodAsSaid: the prompt is that of a request that says the same itself.
func TestPresetIsAsGoodAsSaid(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: body40(30), Work: story.Work{Title: "題", Note: "注"}}
	said := r
	said.Wrapping, said.Order, said.NoteHeader, said.MaxTokens = story.Wrapping{Name: "raw"}, story.TextFirst, story.NoteHeaderLegacy, 70
	said.Fit, said.TrimTo, said.Finest = story.FitCharTrim, 40, fit.Sentence
	said.Slack, said.NoteDepth = num(30), num(2)
	r.Preset = "whole"
	b := presetBuilder()
	r, _ = b.Prepare(r)
	got, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if want := build(t, runesOf(4096), said); got.Text != want.Text || got.Limit != want.Limit {
		t.Errorf("%q, want %q", got.Text, want.Text)
	}
}

func TestWrongPreset(t *testing.T) {
	t.Parallel()
	_, found := presetBuilder().Prepare(story.Request{Preset: "hole", Fit: "x", TrimTo: 3})
	var said []string
	for _, v := range found {
		said = append(said, v.Field+": "+v.Description)
	}
	want := []string{
		`preset: there is no preset "hole"; there are: bare, ruled, whole`,
		`fit: must be one of lines, none, char_trim, and is "x"`,
		"max_main_text_chars: is given, but only FIT_CHAR_TRIM keeps a number of characters",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if names := presetBuilder().Presets(); len(names) != 3 || names[0].Name != "bare" || names[1].Name != "ruled" {
		t.Errorf("presets %v", names)
	}
	if strings.Contains(said[0], "mistral") {
		t.Error("a preset is told that is not there")
	}
}

// TestRulesOfAPresetCanBeTakenAway by rules that bound nothing.
func TestRulesOfAPresetCanBeTakenAway(t *testing.T) {
	t.Parallel()
	if got := held(t, story.Request{Preset: "ruled"}).Blocks; len(got) != 5 || got[4].Min != 70 {
		t.Errorf("rules %+v", got)
	}
	got := held(t, story.Request{Preset: "ruled", Blocks: []story.Rule{
		{Kind: story.KindMemory}, {Kind: story.KindNote, Trim: story.TrimNone}, {Kind: story.KindBody},
	}})
	if diff := cmp.Diff(rulesWithout, got.Blocks); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestAPresetIsToldOfItsFault: what is right in the request is not blamed for what the preset brings, and rules are counted as the
// request has them.
func TestAPresetIsToldOfItsFault(t *testing.T) {
	t.Parallel()
	_, found := presetBuilder().Prepare(story.Request{Preset: "ruled", Compat: true})
	for i, want := range []string{"blocks, which must not be given with COMPAT", "note_depth, which must not be given with COMPAT"} {
		if len(found) != 2 || found[i].Field != "preset" || !strings.HasPrefix(found[i].Description, `"ruled" brings `+want) {
			t.Fatalf("found %+v, want %s", found, want)
		}
	}
	_, found = presetBuilder().Prepare(story.Request{Preset: "ruled", Blocks: []story.Rule{{Kind: story.KindSummary}, {Kind: story.KindMemory, Min: -1}}})
	if len(found) != 1 || found[0].Field != "blocks[1].min_tokens" {
		t.Errorf("found %+v", found)
	}
	if _, found := presetBuilder().Prepare(story.Request{Preset: "ruled", Compat: true, NoteDepth: num(0)}); len(found) != 1 {
		t.Errorf("found %+v", found)
	}
	if _, found := presetBuilder().Prepare(story.Request{Preset: "whole", TrimTo: 9}); found != nil {
		t.Errorf("a field that is right with the preset is wrong: %+v", found)
	}
}
