package story

import (
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
