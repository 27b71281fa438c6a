package format

import "slices"

// Names gives new files of a kind their slots: behind the highest one that was ever in use, so that none is given twice
// (field/flowstore.md row 2). A slot that a hand took far ahead does not use up those before it: of the free slots before and behind it
// Names goes on with the more, and with the others behind it at last. A value may be copied; NewNames makes one.
type Names struct {
	// next is the first of the free slots, end is behind the last of them.
	next, end int
	// ahead are slots from end on that are in use, in any order.
	ahead []int
}

// spare is how many slots one writing may take at once, so that it never has to be told that there is no room while there is: the
// largest conversation that is imported. Fewer before a slot that is in use are left out.
const spare = 100_000

// NewNames begins with a slot that was never given, as Next told it. Where a hand drove an older counter to its end, it begins anew
// with what is taken then.
func NewNames(next int) Names {
	if next >= Slots {
		next = 0
	}
	return Names{next: next, end: Slots}
}

// NamesBehind are the names where these slots are in use, in any order.
func NamesBehind(taken []int) Names {
	n := NewNames(0)
	for _, slot := range slices.Sorted(slices.Values(taken)) {
		n.Take(slot)
	}
	n.GoOn()
	return n
}

// Take notes that a slot is in use.
func (n *Names) Take(slot int) {
	switch {
	case slot < n.next || slot >= Slots:
	case slot >= n.end:
		n.ahead = append(slices.Clip(n.ahead), slot)
	case slot-n.next > n.end-slot-1:
		n.ahead = append(slices.Clip(n.ahead), slot)
		n.end = slot
	default:
		n.next = slot + 1
	}
}

// GoOn leaves the free slots for those behind them, where few are left and more are there.
func (n *Names) GoOn() {
	if n.end == Slots || n.end-n.next >= spare {
		return
	}
	behind := Names{next: n.end, end: Slots}
	slices.Sort(n.ahead)
	for _, slot := range n.ahead {
		behind.Take(slot)
	}
	if behind.Room() > n.Room() {
		*n = behind
	}
}

// Next is the slot that is given next.
func (n *Names) Next() int { return n.next }

// Room is how many slots there are to give.
func (n *Names) Room() int { return n.end - n.next }

// Give gives the next slot; ok is false where there is none.
func (n *Names) Give() (slot int, ok bool) {
	if n.next >= n.end {
		return 0, false
	}
	n.next++
	return n.next - 1, true
}
