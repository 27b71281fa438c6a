package story

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// lineTexts draws texts with many ends of line, each of them ending with one.
var lineTexts = rapid.Custom(func(t *rapid.T) string {
	text := ""
	for _, piece := range rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"夜の港", "\n", "\r\n", "\r", "\t", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\u0085", "\u2028", "\u2029", "……", "¢", "\x7f", "é",
	}))).Draw(t, "pieces") {
		text += piece
	}
	return text + "\n"
})

func TestCensus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := lineTexts.Draw(t, "text")
		lines, points := countLines(text)
		if points != utf8.RuneCountInString(text) || points != characters(text) {
			t.Fatalf("%q has %d characters", text, points)
		}
		if want := len(splitLines(text)); lines != want {
			t.Fatalf("%q has %d lines, counted %d", text, want, lines)
		}
	})
}

// TestCensusOfLongTexts: what is summed up byte by byte does not run over.
func TestCensusOfLongTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("\n", 100_003), strings.Repeat("あ\x1c", 50_001), strings.Repeat("\x80", 9_999)} {
		controls := 0
		for i := range len(text) {
			if text[i] < ' ' {
				controls++
			}
		}
		points := 0
		for i := range len(text) {
			if utf8.RuneStart(text[i]) {
				points++
			}
		}
		if gotPoints, gotControls := census(text); gotPoints != points || gotControls != controls {
			t.Errorf("%d characters and %d controls, want %d and %d", gotPoints, gotControls, points, controls)
		}
	}
}
