package tokenizer

import (
	"hash/maphash"
	"math"
	"math/bits"
)

// none is the rank of a pair that is not joined.
const none = math.MaxUint32

// pairTable finds the rank of a pair of tokens and what it becomes: open addressing, at most half full.
type pairTable struct {
	slots []pairSlot
	shift uint
}

type pairSlot struct {
	key    uint64 // the two ids, each one higher than it is, so that 0 is an empty slot
	rank   uint32
	joined int32
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a+1))<<32 | uint64(uint32(b+1)) }

func (t *pairTable) fill(merges []merge) {
	size := 1 << bits.Len(uint(2*len(merges)+1))
	t.slots = make([]pairSlot, size)
	t.shift = uint(64 - bits.Len(uint(size-1)))
	for _, m := range merges {
		key := pairKey(m.a, m.b)
		i := t.place(key)
		for t.slots[i].key != 0 && t.slots[i].key != key {
			i = (i + 1) & (size - 1)
		}
		if t.slots[i].key == 0 || m.rank < t.slots[i].rank {
			t.slots[i] = pairSlot{key, m.rank, m.joined}
		}
	}
}

func (t *pairTable) place(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> t.shift) }

// find gives the rank of a pair, none where it is not joined.
func (t *pairTable) find(a, b int32) (rank uint32, joined int32) {
	key := pairKey(a, b)
	mask := len(t.slots) - 1
	for i := t.place(key) & mask; ; i = (i + 1) & mask {
		switch slot := &t.slots[i]; slot.key {
		case key:
			return slot.rank, slot.joined
		case 0:
			return none, 0
		}
	}
}

// maxWhole is the longest token, in bytes, that is looked for as a whole.
const maxWhole = 64

// wholeTable finds the token that a text is: open addressing, at most half full. A slot holds half of the text's hash and
// the id, one higher than it is, so that most misses touch no text.
type wholeTable struct {
	slots []uint64
	texts []string // by id
}

func newWholeTable(texts []string) wholeTable {
	return wholeTable{make([]uint64, 1<<bits.Len(uint(2*len(texts)))), texts}
}

func (t *wholeTable) put(id int32) {
	hash, mask := maphash.String(seed, t.texts[id]), len(t.slots)-1
	i := int(hash) & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = hash&^math.MaxUint32 | uint64(id+1)
}

func (t *wholeTable) find(text string) (id int32, ok bool) {
	hash, mask := maphash.String(seed, text), len(t.slots)-1
	for i := int(hash) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if id := int32(uint32(t.slots[i])) - 1; t.slots[i]>>32 == hash>>32 && t.texts[id] == text {
			return id, true
		}
	}
	return 0, false
}

// seed is that of this process; nothing but the places in the tables depends on it.
var seed = maphash.MakeSeed()
