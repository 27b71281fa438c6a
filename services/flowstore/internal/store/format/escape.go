package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// XML knows no way to write some characters: most control characters, U+FFFE and U+FFFF. An element that holds one has
// the attribute esc="u"; its text and its other attributes then say `\u{1B}` for such a character and `\\` for a
// backslash (field/flowstore.md row 9). Elements without the attribute say what they say.

// needsEscape says whether XML cannot hold text as it is.
func needsEscape(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case b < 0x20 && b != '\t' && b != '\n' && b != '\r':
			return true
		case b == 0xEF && (strings.HasPrefix(text[i:], "\ufffe") || strings.HasPrefix(text[i:], "\uffff")):
			return true
		}
	}
	return false
}

// escape writes text so that XML can hold it.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == '\ufffe', r == '\uffff':
			fmt.Fprintf(&b, `\u{%04X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unescape reads what escape wrote. A backslash that begins nothing of this kind, in a file edited by hand, is one.
func unescape(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		r, length := escapedRune(after)
		b.WriteRune(r)
		text = after[length:]
	}
}

// escapedRune reads what stands behind a backslash, and says how long it is.
func escapedRune(text string) (r rune, length int) {
	if strings.HasPrefix(text, `\`) {
		return '\\', 1
	}
	if code, rest, ok := strings.Cut(text, "}"); ok && strings.HasPrefix(code, "u{") {
		n, err := strconv.ParseUint(code[len("u{"):], 16, 32)
		if err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
			return rune(n), len(text) - len(rest)
		}
	}
	return '\\', 0
}
