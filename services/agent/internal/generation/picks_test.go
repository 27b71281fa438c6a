package generation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPicksComeBack: what a node tells of its picks is what is taken again.
func TestPicksComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		picks := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Pick {
			return Pick{
				Field:   rapid.SampledFrom([]string{"body", "story.note", "story.keywords[3]"}).Draw(t, "field"),
				Group:   rapid.IntRange(0, 999).Draw(t, "group"),
				Options: rapid.SliceOfN(rapid.IntRange(0, 999), 1, 5).Draw(t, "options"),
			}
		})).Draw(t, "picks")
		for i := range picks {
			picks[i].Text = rapid.String().Draw(t, "text")
		}
		if len(picks) > 0 {
			picks[0].Options = nil // a group of none
		}
		got, err := taken(picked(picks))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(picks, got); diff != "" && len(picks) > 0 {
			t.Fatal(diff)
		}
	})
	for _, wrong := range []string{"", "body", "body#1", "body#x=1", "body#1=x"} {
		if got, err := taken([]string{wrong}); err == nil {
			t.Errorf("%q is taken for %v", wrong, got)
		}
	}
}

// TestPicksHaveRoom: what is too long goes without its text, and nothing is kept that flowstore refuses.
func TestPicksHaveRoom(t *testing.T) {
	t.Parallel()
	long := Pick{Field: "body", Options: make([]int, 1000), Text: strings.Repeat("雨", maxPick)}
	for i := range long.Options {
		long.Options[i] = i
	}
	for name, picks := range map[string][]Pick{
		"long text":      {{Field: "story.note", Options: []int{1}, Text: strings.Repeat("x", maxPick)}, {Field: "story.note", Group: 1, Options: []int{0}, Text: "雨"}},
		"many options":   {long, long},
		"many long ones": slices.Repeat([]Pick{{Field: "story.note", Options: []int{1}, Text: strings.Repeat("x", 8000)}}, maxPicks),
	} {
		if err := checkPicks(picks); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list, all := picked(picks), 0
		got, err := taken(list)
		if err != nil {
			t.Fatal(err)
		}
		for i, pick := range list {
			if all += len(pick); len(pick) > maxPick {
				t.Errorf("%s: %d has %d bytes", name, i, len(pick))
			}
			if !slices.Equal(got[i].Options, picks[i].Options) || got[i].Text != picks[i].Text && got[i].Text != "" {
				t.Errorf("%s: %d comes back as %+v", name, i, got[i])
			}
		}
		if all > maxAllPicks || got[0].Text != "" && name != "many long ones" {
			t.Errorf("%s: %d bytes, the first text is %.10q", name, all, got[0].Text)
		}
	}
	for want, picks := range map[string][]Pick{
		"body":        slices.Repeat([]Pick{{Field: "body", Options: []int{1}}}, maxPicks+1),
		"story.title": append(slices.Repeat([]Pick{{Field: "story.title", Options: long.Options}}, 100), long),
	} {
		e := new(PicksError)
		if err := checkPicks(picks); !errors.As(err, &e) || e.Field != want || e.Count != len(picks) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestBranchesAreNamedByTheirPicks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("雨", 300)
	got := branches([][]Pick{
		{{Text: "雨"}, {Group: 1, Text: "夜"}},
		{{Text: " 雨\nの\t夜\x00\n"}},
		{{Options: []int{1}}},
		{{Options: []int{1, 0}, Text: " \n"}, {Text: "夜"}},
		{{}},
		{{Options: []int{0}, Text: "雨"}, {Text: "夜"}},
		{{Text: "雨 / 夜 (2)"}},
		{{Text: "雨 / 夜"}},
		{{Text: long}},
		{{Text: long + long}},
	})
	want := []string{
		"雨 / 夜", "雨 の 夜", "option 2", "option 2, 1 / 夜", "no option", "雨 / 夜 (2)", "雨 / 夜 (2) (2)", "雨 / 夜 (3)",
		long[:3*255] + "…", long[:3*251] + "… (2)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range got {
		if n := utf8.RuneCountInString(name); n > maxBranch {
			t.Errorf("%d characters", n)
		}
	}
}
