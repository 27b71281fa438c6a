package story

import (
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// scale tells the tokens of the blocks of a prompt that was counted.
type scale struct {
	starts map[Kind]int
	tokens map[Kind]int
	// begins are where tokens begin in the prompt, where that is known.
	begins fit.Begins
	text   string
	size   fit.Size
	// characters are those of the text.
	characters int
}

func newScale(stretches []stretch, size fit.Size) scale {
	s := scale{starts: map[Kind]int{}, tokens: map[Kind]int{}, size: size}
	for i, b := range sizes(stretches, size) {
		s.starts[b.Kind] = len(s.text)
		s.tokens[b.Kind] += b.Tokens
		s.text += stretches[i].text
	}
	s.characters, s.begins = characters(s.text), size.Begins()
	return s
}

// of is how many tokens a block has.
func (s scale) of(kind Kind) int { return s.tokens[kind] }

// without is how many tokens a pinned block has when only a stretch of its text is left; none when that is nothing.
func (s scale) without(p pin, from, to int) int {
	if from == to {
		return 0
	}
	text := s.starts[p.kind] + p.before
	return s.tokens[p.kind] - s.between(text, text+from) - s.between(text+to, text+len(p.text))
}

// between is how many tokens begin there; their share by characters, rounded down, where that is not known.
func (s scale) between(from, to int) int {
	if s.size.Pieces == nil {
		return characters(s.text[from:to]) * s.size.Tokens / max(1, s.characters)
	}
	return s.begins.Between(from, to)
}
