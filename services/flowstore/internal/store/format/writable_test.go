package format

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is looked at in steps of several bytes says the same as each character does, at every place in a step.
func TestWritable(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"\x00", "\x1f", "\t", "\n", "\r", " ", "\x7f", "\u0080", "é", "\u07ff", "\u0800", "\xe0\x9f\xbf", "紡", "\ud7ff", "\xed\xa0\x80", "\ue000",
		"\ufeff", "\ufffd", "\ufffe", "\uffff", "𠮷", "\U0010ffff", "\xf4\x90\x80\x80", "\x80", "\xc3", "\xe7\xb4", "\xff", "\xc0\x80", "！",
	}
	for _, piece := range pieces {
		want := utf8.ValidString(piece) && !needsEscape(piece)
		for _, around := range []string{"", "a", "abcdefg", "abcdefgh", "紡", "紡ぎ", "a紡ぎ糸", "é", "紡ぎ糸の物語を", "紡ぎ糸の物語を書"} {
			for n := range 4 {
				text := strings.Repeat(around, n) + piece + strings.Repeat(around, n)
				if got := writable(text); got != want || writable([]byte(text)) != want {
					t.Errorf("%q: %v", text, got)
				}
			}
		}
	}
}

// Of eight characters in one step any one can be none.
func TestWritableEight(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"\xe0\x9f\xbf", "\xed\xa0\x80", "\ufffe", "\uffff", "\xe3\x81a", "\xc3\x81\x81"} {
		for n := range 8 {
			text := strings.Repeat("糸", n) + piece + strings.Repeat("糸", 7-n)
			if writable(text) {
				t.Errorf("%q is taken for text", text)
			}
		}
	}
}
