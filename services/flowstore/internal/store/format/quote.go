package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote writes a text in double quotes.
func quote(text string) string { return string(appendQuoted(nil, text)) }

func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0
	for i, r := range text {
		if r != '"' && r != '\\' && printable(r) {
			continue
		}
		dst = append(dst, text[start:i]...)
		_, size := utf8.DecodeRuneInString(text[i:])
		start = i + size
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', byte(r))
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		}
	}
	return append(append(dst, text[start:]...), '"')
}

// unquote is the inverse of quote. ok is false for a text that is quoted in any other way.
func unquote(quoted string) (text string, ok bool) {
	inside, ok := strings.CutPrefix(quoted, `"`)
	inside, ends := strings.CutSuffix(inside, `"`)
	if !ok || !ends {
		return "", false
	}
	if !strings.ContainsAny(inside, `"\`) {
		return inside, plain(inside)
	}
	var b strings.Builder
	for inside != "" {
		piece, rest, escaped := strings.Cut(inside, `\`)
		if strings.Contains(piece, `"`) || !plain(piece) {
			return "", false
		}
		b.WriteString(piece)
		if !escaped {
			break
		}
		r, size := quotedRune(rest)
		if size == 0 {
			return "", false
		}
		b.WriteRune(r)
		inside = rest[size:]
	}
	return b.String(), true
}

func plain(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !printable(r) }) < 0
}

// quotedRune reads what stands behind a backslash, in size bytes; none for what quote does not write.
func quotedRune(text string) (r rune, size int) {
	switch {
	case text == "":
		return 0, 0
	case text[0] == '"' || text[0] == '\\':
		return rune(text[0]), 1
	case text[0] == 'n':
		return '\n', 1
	case text[0] == 't':
		return '\t', 1
	case text[0] != 'u' || len(text) < 5:
		return 0, 0
	}
	code, err := strconv.ParseUint(text[1:5], 16, 16)
	if r = rune(code); err != nil || !utf8.ValidRune(r) || printable(r) || r == '\n' || r == '\t' {
		return 0, 0
	}
	return r, 5
}
