package tokenizer

import "unicode/utf8"

// scratch is what a call works in; it is used again by the next.
type scratch struct {
	out     []token
	symbols []symbol
	heap    []candidate
	links   []int32
}

// symbol is a token in the making: the bytes of the piece up to end, from where the symbol before ends.
type symbol struct {
	id   int32
	end  int32
	rank uint32 // of the pair with the next one
	next int32  // the id that this pair becomes
}

func (s *scratch) add(ids []int32, end int32) {
	for _, id := range ids {
		s.out = append(s.out, token{id, end})
	}
}

// unknownSymbol is a character, or a byte, that is no token.
const unknownSymbol = -1

// begin gives the first symbols of a piece.
func (v *vocabulary) begin(s *scratch, piece string) []symbol {
	symbols := s.symbols[:0]
	if !v.characters {
		for i := range len(piece) {
			symbols = append(symbols, symbol{id: v.bytes[piece[i]], end: int32(i + 1)})
		}
	} else {
		for i, r := range piece {
			if r == ' ' {
				r = lowerOneEighth
			}
			id, known := v.runes[r]
			if !known {
				id = unknownSymbol
			}
			size := 1 // of a blank, or of a byte that is no UTF-8
			if piece[i] >= utf8.RuneSelf {
				_, size = utf8.DecodeRuneInString(piece[i:])
			}
			symbols = append(symbols, symbol{id: id, end: int32(i + size)})
		}
	}
	s.symbols = symbols
	for i := range symbols {
		v.pair(symbols, i)
	}
	return symbols
}

// pair notes what a symbol and the next become.
func (v *vocabulary) pair(symbols []symbol, i int) {
	if i+1 == len(symbols) || symbols[i].id < 0 || symbols[i+1].id < 0 {
		symbols[i].rank = none
		return
	}
	symbols[i].rank, symbols[i].next = v.pairs.find(symbols[i].id, symbols[i+1].id)
}

// manySymbols is from where on looking for the best pair among all of them costs more than a heap.
const manySymbols = 96

// join joins the symbols of a piece until no pair is left that becomes a token.
func (v *vocabulary) join(s *scratch, piece string) []symbol {
	symbols := v.begin(s, piece)
	if len(symbols) > manySymbols {
		return v.joinMany(s, symbols)
	}
	for {
		best, rank := 0, uint32(none)
		for i := range symbols {
			if symbols[i].rank < rank {
				best, rank = i, symbols[i].rank
			}
		}
		if rank == none {
			return symbols
		}
		symbols[best].id, symbols[best].end = symbols[best].next, symbols[best+1].end
		symbols = append(symbols[:best+1], symbols[best+2:]...)
		v.pair(symbols, best)
		if best > 0 {
			v.pair(symbols, best-1)
		}
	}
}
