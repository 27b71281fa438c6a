package generation

import (
	"testing"

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

func TestABranchIsNamedByItsPicks(t *testing.T) {
	t.Parallel()
	long := make([]rune, 300)
	for i := range long {
		long[i] = '雨'
	}
	for want, picks := range map[string][]Pick{
		"":                               nil,
		"雨 / 夜":                          {{Text: "雨"}, {Text: "夜"}},
		string(long[:maxBranch-1]) + "…": {{Text: string(long)}},
	} {
		if got := branch(picks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
