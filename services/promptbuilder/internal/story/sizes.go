package story

import (
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// sizes counts the blocks of a prompt. Tokens belong to the block in which they begin; where no borders are known they
// are shared out by characters, so that they add up.
func sizes(stretches []stretch, size fit.Size) []Block {
	blocks := make([]Block, len(stretches))
	all := 0
	for i, s := range stretches {
		blocks[i] = Block{Kind: s.kind, Characters: characters(s.text), Estimated: size.Pieces == nil}
		all += blocks[i].Characters
	}
	if size.Pieces == nil {
		seen, given := 0, 0
		for i := range blocks {
			seen += blocks[i].Characters
			blocks[i].Tokens = size.Tokens*seen/all - given
			given += blocks[i].Tokens
		}
		return blocks
	}
	i, begin, end := 0, 0, len(stretches[0].text)
	for _, bytes := range size.Pieces {
		for begin >= end && i < len(stretches)-1 {
			i++
			end += len(stretches[i].text)
		}
		blocks[i].Tokens++
		begin += bytes
	}
	return blocks
}
