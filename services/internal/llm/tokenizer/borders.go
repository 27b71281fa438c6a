package tokenizer

import (
	"math/bits"
	"unicode/utf8"
)

// borderTable says between which neighbouring characters a token may lie. Where none can, whatever is joined, the text is
// cut: the parts have the same tokens for themselves, and short parts are quick.
type borderTable struct {
	// slots are the pairs of characters that stand next to each other inside of any token.
	slots []uint64
	shift uint
	// parts are the pairs of bytes across which a token holds no whole character on one side.
	parts [256][4]uint64
}

func (t *borderTable) fill(tokens []string) {
	pairs := map[uint64]struct{}{}
	for _, text := range tokens {
		left, leftSize := utf8.DecodeRuneInString(text)
		for i := leftSize; i < len(text); {
			right, size := utf8.DecodeRuneInString(text[i:])
			if whole(left, leftSize) && whole(right, size) {
				pairs[borderKey(left, right)] = struct{}{}
			} else {
				t.parts[text[i-1]][text[i]>>6] |= 1 << (text[i] & 63)
			}
			left, leftSize = right, size
			i += size
		}
	}
	size := 1 << bits.Len(uint(2*len(pairs)+1))
	t.slots = make([]uint64, size)
	t.shift = uint(64 - bits.Len(uint(size-1)))
	for key := range pairs {
		i := t.place(key)
		for t.slots[i] != 0 {
			i = (i + 1) & (size - 1)
		}
		t.slots[i] = key
	}
}

// whole says that a decoded character is one, and not a byte that belongs to none.
func whole(r rune, size int) bool { return r != utf8.RuneError || size > 1 }

func borderKey(a, b rune) uint64 { return uint64(uint32(a+1))<<32 | uint64(uint32(b+1)) }

func (t *borderTable) place(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> t.shift) }

// inside says whether a token may hold a and then b, of which the bytes last and first stand next to each other.
func (t *borderTable) inside(a, b rune, last, first byte) bool {
	if t.parts[last][first>>6]>>(first&63)&1 != 0 || a == utf8.RuneError || b == utf8.RuneError {
		return true
	}
	key := borderKey(a, b)
	mask := len(t.slots) - 1
	for i := t.place(key) & mask; ; i = (i + 1) & mask {
		switch t.slots[i] {
		case key:
			return true
		case 0:
			return false
		}
	}
}
