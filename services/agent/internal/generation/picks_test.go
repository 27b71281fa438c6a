package generation

import (
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
		if len(picks) > 0 {
			picks[0].Options = nil // a group of none
		}
		got, err := taken(picked(picks, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(picks, got); diff != "" && len(picks) > 0 {
			t.Fatal(diff)
		}
		naming := slices.Clone(picks)
		for i := range naming {
			naming[i].Text = rapid.String().Draw(t, "text")
		}
		list := picked(picks, naming)
		if got, err := taken(list); err != nil || cmp.Diff(picks, got) != "" && len(picks) > 0 {
			t.Fatalf("with texts: %v, %v", got, err)
		}
		for _, pick := range list {
			if len(pick) > maxPick && len(picks) < 2 || !utf8.ValidString(pick) {
				t.Fatalf("%q has %d bytes", pick, len(pick))
			}
		}
	})
	for _, wrong := range []string{"", "body", "body#1", "body#x=1", "body#1=x"} {
		if got, err := taken([]string{wrong}); err == nil {
			t.Errorf("%q is taken for %v", wrong, got)
		}
	}
}

func TestABranchIsNamedByItsPicks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("雨", 100)
	many := make([]Pick, 9)
	for i := range many {
		many[i] = Pick{Group: i, Text: long[:90]}
	}
	for want, picks := range map[string][]Pick{
		"":               nil,
		"雨 / 夜":          {{Text: "雨"}, {Group: 1, Text: "夜"}},
		"雨 の 夜":          {{Text: " 雨\nの\t夜\x00\n"}},
		long[:249] + "…": {{Text: long + long}},
		string([]rune(strings.Repeat(long[:90]+" / ", 9))[:maxBranch-1]) + "…": many,
	} {
		if got := branch(picks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
