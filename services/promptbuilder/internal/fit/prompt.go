package fit

import "strings"

// Part is a stretch of a prompt.
type Part struct {
	// Open and Close stand around Text, and go with it when all of it is cut.
	Open, Text, Close string
	// Fixed parts are always there, whole.
	Fixed bool
}

// Prompt is a prompt in its parts. The texts of those that are not fixed, one after the other, are the text that may
// lose its head; offsets are bytes in it. Something that is not blank is always kept of it.
type Prompt struct {
	Parts []Part
	// Lines are the offsets at which a line begins that is not blank, ascending.
	Lines []int
	// Places are where each of the lines stands in the document, in bytes, ascending: a line keeps its place while the
	// document grows. Used for Slack only.
	Places []int
}

// Text is what may lose its head.
func (p Prompt) Text() string {
	var text strings.Builder
	for _, part := range p.Parts {
		if !part.Fixed {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

// From is the prompt with the text cut at an offset.
func (p Prompt) From(offset int) string {
	var prompt strings.Builder
	for _, part := range p.Parts {
		n := part.skip(&offset)
		if n == len(part.Text) && !part.Fixed {
			continue
		}
		prompt.WriteString(part.Open)
		prompt.WriteString(part.Text[n:])
		prompt.WriteString(part.Close)
	}
	return prompt.String()
}

// skip takes from an offset what falls into this part, and gives it.
func (p Part) skip(offset *int) int {
	if p.Fixed {
		return 0
	}
	n := min(*offset, len(p.Text))
	*offset -= n
	return n
}
