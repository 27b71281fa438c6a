package canon

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// AppendText appends a text as canonical JSON has it: a string. What is not UTF-8 in it becomes U+FFFD, byte by byte, as encoding/json has
// it: for texts of ours, since those of others are read by JSON, which refuses them.
func AppendText(b []byte, text string) []byte {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	return appendString(b, text)
}

// sortKeys sorts by UTF-16 units (RFC 8785, 3.2.3): Go's order, by bytes, differs beyond U+FFFF.
func sortKeys(keys []key) {
	slices.SortFunc(keys, func(a, b key) int { return slices.Compare(a.units, b.units) })
}

func appendValue(b []byte, v value) []byte {
	switch v.kind {
	case kindString:
		return appendString(b, v.text)
	case kindList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, k.text), ':')
			b = appendValue(b, k.item)
		}
		return append(b, '}')
	}
	return append(b, v.text...)
}

// appendString appends a string in quotes, escaped as RFC 8785, 3.2.2.2 has it: nothing but quotes, backslashes and
// controls.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if c < ' ' {
				b = fmt.Appendf(b, `\u%04x`, c)
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}
