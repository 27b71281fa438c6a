package search

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// plainly folds a text as the rule says it, without a short way.
func plainly(text string) string {
	lowered := strings.Map(func(r rune) rune {
		if r == waveDash {
			return '~'
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
	var b strings.Builder
	blank := false
	for _, r := range lowered {
		if !unicode.IsSpace(r) {
			b.WriteRune(r)
		} else if !blank {
			b.WriteByte(' ')
		}
		blank = unicode.IsSpace(r)
	}
	return b.String()
}

func TestEveryCharacterFoldsByTheRule(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x20000; r++ { // behind it are Han and what nobody writes
		for _, text := range []string{"e" + string(r) + "\u0301", string(r) + "\u3099か", "각" + string(r)} {
			if got, want := Fold(text), plainly(text); got != want {
				t.Fatalf("%+q folds to %+q, not %+q", text, got, want)
			}
			if got := locate(text).text; got != Fold(text) {
				t.Fatalf("%+q is located as %+q, and folds to %+q", text, got, Fold(text))
			}
		}
	}
}

func TestTextsFoldByTheRule(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"か\u3099", "ﾌﾟ", "e\u0301\u0323", "\u1100\u1161\u11a8", "가\u11a8", "\xff", "\xe3\x81", " \n", "\u0344", "Ａ\u0301", "ｶﾞ"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "text"), "")
		if got, want := Fold(text), plainly(text); got != want || locate(text).text != want {
			t.Fatalf("%+q folds to %+q, is located as %+q, and should be %+q", text, got, locate(text).text, want)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	text := strings.Repeat("風が止むと、遠くで汽笛が鳴った。Nobody else had come（ＡＢＣ）！ ", 30)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Fold(text)
	}
}
