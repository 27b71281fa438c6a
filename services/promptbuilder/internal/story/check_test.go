package story_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	text, item := strings.Repeat("a", story.MaxText+1), strings.Repeat("a", story.MaxItem+1)
	for _, tt := range []struct {
		name    string
		request story.Request
		want    []string
	}{
		{"nothing", story.Request{}, nil},
		{"the largest", story.Request{
			Body: strings.Repeat("a", story.MaxBody),
			Work: story.Work{Title: text[1:], Keywords: slices.Repeat([]string{item[1:]}, story.MaxItems), DialogueLevel: ptr(text[1:]), Rating: "r18"},
		}, nil},
		{"everything at once", story.Request{
			Body: strings.Repeat("a", story.MaxBody+1), MaxTokens: -1,
			Work: story.Work{
				Title: text, Synopsis: text, Setting: text, Plot: text, Note: text, DialogueLevel: &text, Rating: "R18",
				Keywords: []string{"a", item}, Genres: make([]string, story.MaxItems+1),
			},
		}, []string{
			"body", "max_tokens", "story.dialogue_level", "story.genres", "story.keywords[1]", "story.note", "story.plot",
			"story.rating", "story.setting", "story.synopsis", "story.title",
		}},
		{"a rating that is not known", story.Request{Work: story.Work{Rating: "r15"}}, []string{"story.rating"}},
		{"any rating that the program takes", story.Request{Compat: true, Work: story.Work{Rating: "r15"}}, nil},
		{"a long one", story.Request{Compat: true, Work: story.Work{Rating: item}}, []string{"story.rating"}},
		{"what the program does not have", story.Request{
			Compat: true, Work: story.Work{Summary: "a", Memory: "b"}, Blocks: []story.Rule{{Kind: story.KindMemory}}, NoteDepth: num(1), TextPercent: 1,
			Sets: dynamic.Sets{"a": {"b"}}, LenientBody: true, Neutralize: true,
		}, []string{"blocks", "lenient_body", "memory", "neutralize", "note_depth", "sets", "summary", "text_percent"}},
		{"the most groups", story.Request{Body: strings.Repeat("{a|b}", story.MaxGroups)}, nil},
		{"too many groups", story.Request{Work: story.Work{Note: "{a|b}"}, Body: strings.Repeat("{a|b}", story.MaxGroups)}, []string{"body"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range tt.request.Check() {
				got = append(got, v.Field)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("wrong fields %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCheckCount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		texts []string
		want  int
	}{
		"one":       {[]string{""}, 0},
		"the most":  {make([]string, story.MaxCountTexts), 0},
		"too many":  {make([]string, story.MaxCountTexts+1), 1},
		"too large": {[]string{strings.Repeat("a", story.MaxBody), "a"}, 1},
		"both":      {slices.Repeat([]string{strings.Repeat("a", 1<<16)}, story.MaxCountTexts+1), 2},
	} {
		if got := story.CheckCount(tt.texts); len(got) != tt.want {
			t.Errorf("%s: %v, want %d violations", name, got, tt.want)
		}
	}
}

// What is too long is told in the words of the other services.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for want, wrong := range map[string][]story.Violation{
		"is 4194305 bytes long; the limit is 4194304 bytes (4 MiB)": story.Request{Body: strings.Repeat("a", story.MaxBody+1)}.Check(),
		"is 65537 bytes long; the limit is 65536 bytes":             story.Request{Work: story.Work{Note: strings.Repeat("a", story.MaxText+1)}}.Check(),
		"is 4194306 bytes long; the limit is 4194304 bytes (4 MiB)": story.CheckCount([]string{strings.Repeat("a", story.MaxBody), "ab"}),
	} {
		if len(wrong) != 1 || wrong[0].Description != want {
			t.Errorf("%v, want %q", wrong, want)
		}
	}
}
