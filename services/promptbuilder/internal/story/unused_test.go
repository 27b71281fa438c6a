package story_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// TestWhatIsGivenInVainIsTold, and what a preset brings in vain is not.
func TestWhatIsGivenInVainIsTold(t *testing.T) {
	t.Parallel()
	const state = "bm90YXN0YXRl"
	cuts := []string{"cut_granularity", "slack_percent", "state"}
	for name, tt := range map[string]struct {
		request story.Request
		want    []string
	}{
		"nothing":         {story.Request{Body: body40(9)}, nil},
		"all of it used":  {story.Request{Body: body40(9), Slack: num(25), Finest: fit.Sentence, NoteDepth: num(6), Work: story.Work{Note: "注", DialogueLevel: num("多い")}}, nil},
		"no fit":          {story.Request{Body: body40(9), Fit: story.FitNone, Slack: num(25), Finest: fit.Line, State: state}, cuts},
		"characters":      {story.Request{Body: body40(9), Fit: story.FitCharTrim, Slack: num(25), Finest: fit.Line, State: state}, cuts},
		"no slack":        {story.Request{Body: body40(9), Fit: story.FitNone, Slack: num(0)}, nil},
		"fit of a preset": {story.Request{Body: body40(9), Preset: "whole", Slack: num(25)}, []string{"slack_percent"}},
		"all of a preset": {story.Request{Body: body40(9), Preset: "whole"}, nil},
		"no note":         {story.Request{Body: body40(9), NoteDepth: num(6), Work: story.Work{Note: " "}}, []string{"note_depth"}},
		"an idea": {
			story.Request{Mode: story.Idea, Slack: num(25), State: state, Fit: story.FitCharTrim, TrimTo: 5, Work: story.Work{DialogueLevel: num("")}},
			[]string{"max_main_text_chars", "slack_percent", "state", "story.dialogue_level"},
		},
	} {
		b := presetBuilder()
		r, found := b.Prepare(tt.request)
		if found != nil {
			t.Fatal(found)
		}
		p, err := b.Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range p.Warnings {
			if w.Code == story.FieldNotUsed && strings.HasPrefix(w.Message, w.Field+" is not used: ") {
				got = append(got, w.Field)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, p.Warnings, tt.want)
		}
	}
}

// TestAStateWhoseLineIsGone is told; one whose line is there is not.
func TestAStateWhoseLineIsGone(t *testing.T) {
	t.Parallel()
	p := build(t, runesOf(1024), story.Request{Body: body40(100)})
	if again := build(t, runesOf(1024), story.Request{Body: body40(100), State: p.State}); p.State == "" || hasWarning(again, story.StateNotFound) {
		t.Errorf("state %q, warnings %v", p.State, again.Warnings)
	}
	gone := build(t, runesOf(1024), story.Request{Body: strings.ReplaceAll(body40(100), "行目", "行"), State: p.State})
	if w := warning(gone, story.StateNotFound); w.Field != "state" {
		t.Errorf("warnings %v", gone.Warnings)
	}
}

// TestATrimIsToldAsOne: where characters are counted, no place in a sentence was looked for, and the window has no part in it.
func TestATrimIsToldAsOne(t *testing.T) {
	t.Parallel()
	p := build(t, runesOf(2000), story.Request{Body: body40(100), Fit: story.FitCharTrim, TrimTo: 30})
	for _, code := range []story.Code{story.CutAtCharacter, story.TailCut} {
		if w := warning(p, code); !strings.Contains(w.Message, "max_main_text_chars") {
			t.Errorf("%+v in %v", w, p.Warnings)
		}
	}
}
