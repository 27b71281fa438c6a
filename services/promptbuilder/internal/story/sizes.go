package story

import (
	"math/bits"
	"unicode/utf8"

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

// characters are code points: of UTF-8, the bytes that continue none. Eight bytes at a time, since a novel is counted for
// every prompt of its end.
func characters(text string) int {
	n, i := len(text), 0
	for ; i+8 <= len(text); i += 8 {
		w := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
		// A byte that continues is 10xxxxxx.
		n -= bits.OnesCount64(w >> 7 &^ (w >> 6) & 0x0101010101010101)
	}
	for ; i < len(text); i++ {
		if !utf8.RuneStart(text[i]) {
			n--
		}
	}
	return n
}
