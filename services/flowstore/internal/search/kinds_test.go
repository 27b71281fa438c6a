package search

import (
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Where folding leaves what a word is made of, the text is looked through as it stands; where it does not, that would miss the word or
// find another one.
func TestWhatFoldingLeaves(t *testing.T) {
	t.Parallel()
	const kelvin, acute, voiced = "\u212A", "\u0301", "\u3099"
	for text, want := range map[string]kinds{
		"": keptKinds, "Quick  Fix\n\n検索！ （夜）…": keptKinds, "café": keptKinds,
		"ＡＰＩ 検索": denseKind, "①": denseKind, "5" + kelvin: denseKind, "cafe" + acute: denseKind,
		"api ﾌﾟﾛ": asciiKind, "か" + voiced: asciiKind, "㍿": asciiKind, "ｶ①": 0,
	} {
		if got := locate(text).kept(text); got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}

// Whatever case a word has in a text, it is found where it stands, with the same places by the text as it is as by the folded one.
func TestPlacesInAnyCase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, text string
		want       []int
	}{
		{"fix", "Fix FIX fiX fi x", []int{0, 4, 8}},
		{"aa", "aaAaa", []int{0, 2}},
		{"ああ", "あああああ", []int{0, 6}},
		{"検索api", "検索API、検索 api", []int{0}},
		{"zz", "Zz", []int{0}},
		{"42", "x42", []int{1}},
		{"quick", "quic", nil},
	} {
		q, err := Parse(c.word)
		if err != nil {
			t.Fatal(err)
		}
		w := q.words[0]
		if got := slices.Collect(w.places(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %v, want %v", c.word, c.text, got, c.want)
		}
		for kept := range keptKinds + 1 {
			hit := q.hit(node.Node{}.ID, texts{[]node.Text{{Content: c.text}}, kept})
			if len(hit.Highlights) != len(c.want) {
				t.Errorf("%q in %q, kept %b: %v", c.word, c.text, kept, hit.Highlights)
			}
			for i, h := range hit.Highlights {
				if h.Start != c.want[i] || h.End != c.want[i]+len(c.word) {
					t.Errorf("%q in %q, kept %b: %v", c.word, c.text, kept, h)
				}
			}
		}
	}
}
