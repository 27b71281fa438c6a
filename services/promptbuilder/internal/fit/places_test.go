package fit_test

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// borders are the places between characters of a text at which a cut may lie, its ends included.
func borders(text string) []int {
	all := []int{0}
	for at := 0; at < len(text); {
		at = fit.ClusterStart(text, at+1)
		all = append(all, at)
	}
	return all
}

// TestUnparted shows by commas where a text may be cut.
func TestUnparted(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		"あ,|漢字《かんじ》,い", "あ,｜えっ、何。《Hello world!》,い", "と,一ヶ月《いっかげつ》,に", "佐々木《ささき》", "〆切《しめきり》,だ",
		"彼,は,《,遠,い,》", "漢,字,《,》", "|,《,字,》", "漢,字,《,か,\n,》", "a,|,b, ,|,c", "|漢字《かんじ》\u3099,と", "漢字《一》,《,二,》",
		"　　彼,は", "彼,は,\n,　彼,女", "彼,！　,と", "　\n,彼", "が\u3099,ｶﾞ,き\u3099", "👨‍👩‍👧‍👦,葛󠄀,e\u0301", "　|漢字《かんじ》　,と", "　\u3099,あ,い",
	} {
		text := strings.ReplaceAll(want, ",", "")
		var shown strings.Builder
		all := borders(text)
		for i := 1; i < len(all); i++ {
			if i > 1 {
				shown.WriteString(",")
			}
			shown.WriteString(text[all[i-1]:all[i]])
		}
		if got := shown.String(); got != want {
			t.Errorf("%q is parted as %q, want %q", text, got, want)
		}
	}
}

// TestLongBrackets: what is too long to be a reading is text, which may be cut.
func TestLongBrackets(t *testing.T) {
	t.Parallel()
	for _, n := range []int{64, 65} {
		for _, text := range []string{"漢《" + strings.Repeat("か", n) + "》", "|" + strings.Repeat("か", n) + "《か》", strings.Repeat("漢", n) + "《か》"} {
			if whole := len(borders(text)) == 2; whole != (n == 64) {
				t.Errorf("%d characters: %.20q is parted at %d places", n, text, len(borders(text))-2)
			}
		}
	}
}

// TestHeaps: blanks and accents without end are parted, so that a heap of them cannot be larger than a window.
func TestHeaps(t *testing.T) {
	t.Parallel()
	for _, heap := range []struct {
		whole int
		piece func(n int) string
	}{
		{64, func(n int) string { return strings.Repeat("　", n) + "彼" }},
		{30, func(n int) string { return "e" + strings.Repeat("\u0301", n) }},
	} {
		for _, n := range []int{heap.whole, heap.whole + 1, 5000} {
			text := heap.piece(n)
			if whole := len(borders(text)) == 2; whole != (n == heap.whole) {
				t.Errorf("%d: %.20q is parted at %d places", n, text, len(borders(text))-2)
			}
		}
	}
}

// TestBordersAreThoseOfReaders compares with the rule worked out the slow way.
func TestBordersAreThoseOfReaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(story(), rapid.StringOf(rapid.SampledFrom([]rune("｜|《》漢々あ。　\n\u3099\u200d👨")))).Draw(t, "text")
		var want []int
		at, state := 0, -1
		for rest := text; rest != ""; {
			var cluster string
			if !inside(text, at) {
				want = append(want, at)
			}
			cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
			at += len(cluster)
		}
		want = append(want, at)
		got := borders(text)
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("%q is parted at %v, want %v", text, got, want)
			}
		}
	})
}

// TestSentencesOfEveryHand: sentence ends of full and half width, with what closes behind them.
func TestSentencesOfEveryHand(t *testing.T) {
	t.Parallel()
	for _, end := range []string{
		"。", "！", "？", "…", "‥", "｡", "!", "?", "……", "⁉", "！」", "。』", "？）", "…】", "｡｣", "!｣", "?)", "。」』", "！　", "。”",
	} {
		text := strings.Repeat("あ", 50) + end + "次は" + strings.Repeat("い", 800)
		r, err := fit.Cut(t.Context(), byPieces(runes), prompt(text), fit.Options{Limit: len(runes(prompt(text).From(0))) - 20})
		if err != nil || r.Place != fit.Sentence || !strings.HasPrefix(text[r.Offset:], "次は") {
			t.Errorf("behind %s the text is cut before %.20q (place %d), error %v", end, text[r.Offset:], r.Place, err)
		}
	}
}

// TestAQuotationIsNoSentence: what follows it with と goes on with the sentence.
func TestAQuotationIsNoSentence(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"彼は「行く。」と言った。", "彼は「行く。」って。"} {
		text = strings.Repeat("あ", 50) + text + strings.Repeat("い", 300)
		r, err := fit.Cut(t.Context(), byPieces(runes), prompt(text), fit.Options{Limit: len(runes(prompt(text).From(0))) - 52})
		if err != nil || r.Place == fit.Sentence && strings.HasPrefix(text[r.Offset:], "と") || r.Place == fit.Sentence && strings.HasPrefix(text[r.Offset:], "って") {
			t.Errorf("cut before %.20q (place %d), error %v", text[r.Offset:], r.Place, err)
		}
	}
}

// TestNoSentenceInAReading: a mark inside a ruby ends nothing.
func TestNoSentenceInAReading(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("あ", 50) + "|えっ。何《なに！か。》" + strings.Repeat("い", 80)
	r, err := fit.Cut(t.Context(), byPieces(runes), prompt(text), fit.Options{Limit: len(runes(prompt(text).From(0))) - 52})
	if err != nil || r.Place != fit.Character || !strings.HasPrefix(text[r.Offset:], "いい") {
		t.Errorf("the text is cut before %.20q (place %d), error %v", text[r.Offset:], r.Place, err)
	}
}
