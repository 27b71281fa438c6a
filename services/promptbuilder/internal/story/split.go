package story

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// halves is where a text that is continued is parted: lines[:tail] are the older text, lines[tail:end] the tail.
type halves struct {
	tail, end int
	// suffix is what the model continues directly; empty after a whole sentence.
	suffix line
	// spaceLost says that blank lines or spaces stand nowhere in the three.
	spaceLost bool
}

// split parts a text with at least continueFrom content lines, with a tail of so many. The whole text is parted and not the rest without the
// suffix (D1: the seed's own example), which has no blanks around it, but for its indent where that is kept.
func split(body string, lines []line, tail func(suffix bool) int, indent bool) halves {
	content := contentLines(lines)
	last := content[len(content)-1]
	if complete(body) {
		return halves{tail: max(0, last+1-tail(false)), end: last + 1, spaceLost: last+1 < len(lines)}
	}
	before := content[len(content)-2]
	raw := lines[last]
	h := halves{tail: max(0, before+1-tail(true)), end: before + 1, suffix: raw}
	if h.suffix.text = strings.TrimRightFunc(raw.text, textline.IsBlank); !indent {
		h.suffix.text = strip(raw.text)
		h.suffix.start += strings.Index(raw.text, h.suffix.text)
	}
	h.spaceLost = last+1 < len(lines) || before+1 < last || h.suffix.text != raw.text
	return h
}

// complete says that the text ends with a whole sentence: 。 or 」 before spaces of ASCII, or an end of line
// (seed 000, 2.6.2; field/wannabe.md 1.4).
func complete(body string) bool {
	end := strings.TrimRight(body, " \t")
	return strings.HasSuffix(end, "。") || strings.HasSuffix(end, "」") || strings.HasSuffix(body, "\n")
}
