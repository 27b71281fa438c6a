package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// blank are characters that Unicode counts among the graphic ones, and that show nothing: fillers, and the selectors of
// variants, in which whole texts can be hidden.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, {Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}},
}

// invisible says that a character shows nothing, or changes how others are shown: controls and the escapes of terminals, marks
// of direction, joiners, private and unknown characters.
func invisible(r rune) bool { return !unicode.IsGraphic(r) || unicode.Is(blank, r) }

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
