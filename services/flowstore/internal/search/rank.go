package search

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// rank is what decides the order of hits.
type rank struct {
	starts, tags uint8
	created      int64
	id           uuid.UUID
}

// before says that a node comes earlier than another one.
func (r rank) before(o rank) bool {
	switch {
	case r.starts != o.starts:
		return r.starts > o.starts
	case r.tags != o.tags:
		return r.tags > o.tags
	case r.created != o.created:
		return r.created > o.created
	}
	return string(r.id[:]) > string(o.id[:])
}

// cursor is where a page begins: behind a node, with the total that the first page told.
type cursor struct {
	rank
	total       int
	approximate bool
}

const cursorLen = 1 + 1 + 8 + 16 + 8 + 1

// String gives the cursor as Next of a page. It is no text.
func (c cursor) String() string {
	b := binary.BigEndian.AppendUint64([]byte{c.starts, c.tags}, uint64(c.created))
	b = binary.BigEndian.AppendUint64(append(b, c.id[:]...), uint64(c.total))
	if c.approximate {
		return string(append(b, 1))
	}
	return string(append(b, 0))
}

func parseCursor(text string) (*cursor, error) {
	if len(text) != cursorLen {
		return nil, &PageError{"page_token", "is not the end of a page; begin again without one"}
	}
	b := []byte(text)
	r := rank{b[0], b[1], int64(binary.BigEndian.Uint64(b[2:])), uuid.UUID(b[10:26])}
	return &cursor{r, int(binary.BigEndian.Uint64(b[26:])), b[34] != 0}, nil
}

// ranked is a heap: the first one comes first, and the others are in no order. Most of them are never asked for.
type ranked []candidate

func (h ranked) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *ranked) next() candidate {
	old := *h
	first := old[0]
	old[0] = old[len(old)-1]
	*h = old[:len(old)-1]
	h.sink(0)
	return first
}

func (h ranked) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].before(h[child].rank) {
			child++
		}
		if !h[child].before(h[i].rank) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
