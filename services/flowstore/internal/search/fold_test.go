package search

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// plainly folds a text as the rule says it, without a short way.
func plainly(text string) string {
	lowered := strings.Map(func(r rune) rune {
		if r == waveDash {
			return '~'
		}
		if r == 'ı' {
			return r
		}
		return unicode.ToLower(unicode.ToUpper(r))
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
	testkit.WithoutRace(t)
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

// What differs in case alone is alike (CaseFolding.txt of Unicode, status C and S).
func TestCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		if other := unicode.SimpleFold(r); Fold(string(r)) != Fold(string(other)) {
			t.Errorf("%c folds to %q, and %c to %q", r, Fold(string(r)), other, Fold(string(other)))
		}
	}
	for _, apart := range [][2]string{{"ı", "i"}, {"ß", "ss"}} {
		if Fold(apart[0]) == Fold(apart[1]) {
			t.Errorf("%q is %q", apart[0], apart[1])
		}
	}
}

// A snapshot is read by a program that folds as the one that wrote it did.
func TestTheVersionOfSnapshotsTellsTheFold(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	for r := range rune(unicode.MaxRune) {
		sum.Write([]byte(Fold(string(r))))
	}
	if got, want := fmt.Sprintf("%d %x", version, sum.Sum(nil)[:4]), "6 0d38ba1d"; got != want {
		t.Errorf("%s, and it was %s: where another one is folded to, raise version, and note both here", got, want)
	}
}

func TestTextsFoldByTheRule(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"σας", "ΣΑΣ", "\u0345", "か\u3099", "ﾌﾟ", "e\u0301\u0323", "\u1100\u1161\u11a8", "가\u11a8", "\xff", "\xe3\x81", " \n", "\u0344", "Ａ\u0301", "ｶﾞ"}))
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
