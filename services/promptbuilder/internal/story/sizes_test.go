package story

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := characters(text); got != utf8.RuneCountInString(text) {
			t.Fatalf("%q has %d characters", text, got)
		}
	})
}
