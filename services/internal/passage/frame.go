package passage

import (
	"strconv"
	"strings"
)

// Frame stands around a text: `<tag attrs>`, the text and `</tag>` on lines of their own. The tag gets the first number with
// which the text cannot close it, whatever its case. attrs is escaped already, and may be empty.
func Frame(tag, attrs, s string) string {
	lower := lowerASCII(s)
	name := tag
	for i := 1; strings.Contains(lower, "</"+name); i++ {
		name = tag + "-" + strconv.Itoa(i)
	}
	if attrs != "" {
		attrs = " " + attrs
	}
	return "<" + name + attrs + ">\n" + s + "\n</" + name + ">"
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
