package passage

import (
	"strconv"
	"strings"
)

// Frame stands around a text: `<tag attrs>`, the text and `</tag>` on lines of their own. The tag gets the first number with
// which the text cannot close it, whatever its case. attrs is escaped already, and may be empty.
func Frame(tag, attrs, s string) string {
	name := tag
	if bare, numbers := closed(tag, s); bare {
		n := 1
		for numbers[n] {
			n++
		}
		name += "-" + strconv.Itoa(n)
	}
	if attrs != "" {
		attrs = " " + attrs
	}
	return "<" + name + attrs + ">\n" + s + "\n</" + name + ">"
}

// closed says whether a text closes a tag, and the tag with which numbers. It goes through the text once, since a text may close
// as many of them as it has room for. `</tag-12` closes 1, too, as `</tag` closes all that begins with it.
func closed(tag, s string) (bare bool, numbers map[int]bool) {
	numbers = map[int]bool{}
	_, rest, bare := strings.Cut(lowerASCII(s), "</"+tag)
	for found := bare; found; _, rest, found = strings.Cut(rest, "</"+tag) {
		digits, numbered := strings.CutPrefix(rest, "-")
		if !numbered || strings.HasPrefix(digits, "0") {
			continue
		}
		n := 0
		for i := 0; i < len(digits) && digits[i] >= '0' && digits[i] <= '9' && n <= len(s); i++ {
			n = 10*n + int(digits[i]-'0')
			numbers[n] = true
		}
	}
	return bare, numbers
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
