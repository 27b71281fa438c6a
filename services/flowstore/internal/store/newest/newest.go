// Package newest keeps what a namespace holds in the order of its lists: newest first by creation, of equally old ones the
// larger id first, or backwards. A page costs what is on it; something new goes to the end, where nearly everything new belongs.
package newest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// List is an ordered list. The zero List is empty. Writers exclude readers and each other.
type List struct {
	// entries are kept oldest first.
	entries []store.Entry
}

// Of makes a list of entries in any order, each once, and keeps the slice.
func Of(entries []store.Entry) *List {
	slices.SortFunc(entries, compare)
	return &List{entries}
}

// compare orders the older one first. Times count to the microsecond, as far as they are kept everywhere.
func compare(a, b store.Entry) int {
	return cmp.Or(cmp.Compare(a.Created.UnixMicro(), b.Created.UnixMicro()), bytes.Compare(a.ID[:], b.ID[:]))
}

// Put adds an entry; one that is there already stays.
func (l *List) Put(e store.Entry) {
	if at, found := slices.BinarySearchFunc(l.entries, e, compare); !found {
		l.entries = slices.Insert(l.entries, at, e)
	}
}

// Drop takes an entry away; one that is not there is no error.
func (l *List) Drop(e store.Entry) {
	if at, found := slices.BinarySearchFunc(l.entries, e, compare); found {
		l.entries = slices.Delete(l.entries, at, at+1)
	}
}

// Behind gives up to n entries that come behind one in an order; the zero entry stands before all. The entry itself need
// not be there.
func (l *List) Behind(order store.Order, after store.Entry, n int) []store.Entry {
	if order == store.OldestFirst {
		return l.newer(after, max(n, 0))
	}
	end := len(l.entries)
	if after != (store.Entry{}) {
		end, _ = slices.BinarySearchFunc(l.entries, after, compare)
	}
	page := slices.Clone(l.entries[end-min(max(n, 0), end) : end])
	slices.Reverse(page)
	return page
}

// newer gives up to n entries that are newer than one, oldest first.
func (l *List) newer(after store.Entry, n int) []store.Entry {
	begin := 0
	if after != (store.Entry{}) {
		at, found := slices.BinarySearchFunc(l.entries, after, compare)
		if begin = at; found {
			begin++
		}
	}
	return slices.Clone(l.entries[begin:min(begin+n, len(l.entries))])
}
