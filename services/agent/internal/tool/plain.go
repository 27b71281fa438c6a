package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// invisible says that a character shows nothing, or changes how others are shown, which includes the joiners and the selectors of variants,
// in which whole texts can be hidden; or that nobody knows what it shows: private and unknown characters. U+2800 is the blank of Braille.
func invisible(r rune) bool { return passage.Invisible(r) || !unicode.IsGraphic(r) || r == 0x2800 }

// Plain gives a text of somebody else as plain text (field/review-agent.md S19, S24): what cannot be seen is written as
// `\u{200B}`, but for ends of lines and tabs, and at most so many code points of it are kept, with … for the rest.
func Plain(s string, most int) (text string, cut bool) {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > most {
			return b.String() + "…", true
		}
		switch {
		case r == utf8.RuneError && s[i] != "\uFFFD"[0]:
			fmt.Fprintf(&b, `\x{%02X}`, s[i])
		case invisible(r) && r != '\n' && r != '\t':
			fmt.Fprintf(&b, `\u{%04X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), false
}

// PlainLine is Plain for a text that stands inside a sentence: ends of lines and tabs are written out too.
func PlainLine(s string, most int) string {
	s, _ = Plain(s, most)
	return strings.NewReplacer("\n", `\u{000A}`, "\t", `\u{0009}`).Replace(s)
}

// visibleJSON gives a text of JSON with the same value, in which what cannot be seen is escaped as JSON does.
func visibleJSON(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// hidden is invisible, but for what JSON has between its tokens, and cannot have inside strings.
func hidden(r rune) bool { return r >= 0x7f && invisible(r) }
