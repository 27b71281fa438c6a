package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unique"

	"github.com/google/uuid"
)

// DamagedError says that a snapshot cannot be used. The index has to be made anew from the nodes.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string {
	return "the snapshot of the search index cannot be used: " + e.Reason
}

// Decode reads a snapshot. It keeps nothing of data. DamagedError.
func Decode(data []byte) (*Index, error) {
	const head = len(magic) + 1
	if len(data) < head+sha256.Size || string(data[:len(magic)]) != magic {
		return nil, &DamagedError{"it does not begin as one"}
	}
	if v := data[len(magic)]; v != version {
		return nil, &DamagedError{fmt.Sprintf("it is of version %d, and this program reads version %d", v, version)}
	}
	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, &DamagedError{"its checksum is not right"}
	}
	d := decoder{b: body[head:]}
	c := d.contents()
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes are left behind its end", len(d.b))
	}
	if d.err != nil {
		return nil, d.err
	}
	return &Index{contents: c}, nil
}

// stampLen is how many bytes a stamp has.
const stampLen = 8

// decoder reads what is left of a snapshot. After an error it reads nothing any more, and gives zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &DamagedError{fmt.Sprintf(format, args...)}
	}
	d.b = nil
}

func (d *decoder) contents() contents {
	c := empty()
	known := make([]*labels, d.count(len(d.b), 1))
	for i := range known {
		known[i] = &labels{d.name(), d.names(), d.names(), kinds(d.count(int(keptKinds), 0))}
	}
	last := int64(0)
	for range d.count(MaxNodes, len(uuid.UUID{})+stampLen) {
		e := d.entry(known, &last)
		if _, twice := c.place[e.id]; twice {
			d.fail("a node is there twice")
		}
		if d.err != nil {
			return c
		}
		c.enter(e)
	}
	if len(c.nodes) > 0 {
		c.segments = []*segment{d.segment(len(c.nodes))}
	}
	return c
}

func (d *decoder) entry(known []*labels, last *int64) entry {
	var e entry
	copy(e.id[:], d.bytes(len(e.id)))
	step, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("it ends too early")
		return e
	}
	d.b = d.b[n:]
	*last += step
	e.created = *last
	if stamp := d.bytes(stampLen); len(stamp) == stampLen {
		e.stamp = binary.BigEndian.Uint64(stamp)
	}
	number := d.number()
	if number >= uint64(len(known)) {
		d.fail("a node has labels that are not there")
		return e
	}
	e.labels = known[number]
	return e
}

func (d *decoder) segment(nodes int) *segment {
	s := &segment{nodes: nodes, grams: make([]gram, d.count(len(d.b), 1))}
	last := gram(0)
	for i := range s.grams {
		step := gram(d.number())
		if i > 0 && step == 0 || last+step < last { // The first may be that of U+0000.
			d.fail("a character is not in order")
		}
		last += step
		s.grams[i] = last
	}
	d.words(&s.words)
	lists := d.bytes(d.count(MaxBytes, 1))
	s.at = make([]uint32, 0, s.terms()+2)
	rest := listReader{lists, nodes}
	for range s.terms() + 1 {
		s.at = append(s.at, uint32(len(lists)-len(rest.b)))
		if d.err == nil && !rest.next(len(s.at) <= s.terms()) {
			d.fail("a list of places is not as it says")
		}
	}
	if len(rest.b) > 0 {
		d.fail("there are more lists than terms")
	}
	s.at, s.lists = append(s.at, uint32(len(lists))), bytes.Clone(lists)
	return s
}

func (d *decoder) words(w *words) {
	last := ""
	for range d.count(len(d.b), 1) {
		word := d.text(maxWord)
		if word <= last || strings.IndexByte(word, wordEnd) >= 0 {
			d.fail("a word is not in order, or is none")
		}
		if d.err != nil {
			return
		}
		w.add(word)
		last = word
	}
	w.text, w.starts = bytes.Clone(w.text), slices.Clone(w.starts)
}

// listReader looks at lists that somebody else may have written.
type listReader struct {
	b     []byte
	nodes int
}

// next goes over a list, and says whether it is one as appendList writes them; some, whether it may not be empty.
func (r *listReader) next(some bool) bool {
	head, size := binary.Uvarint(r.b)
	count := head >> 1
	if size <= 0 || count > uint64(r.nodes) || count == 0 && some || dense(int(count), r.nodes) != (head&1 != 0) {
		return false
	}
	r.b = r.b[size:]
	if head&1 != 0 {
		return r.fields(int(count))
	}
	last := uint64(0)
	for i := range count {
		step, size := binary.Uvarint(r.b)
		if size <= 0 || i > 0 && step < 2 || step > uint64(2*r.nodes) {
			return false
		}
		last = last&^1 + step
		if last>>1 >= uint64(r.nodes) {
			return false
		}
		r.b = r.b[size:]
	}
	return true
}

// fields goes over two fields of bits.
func (r *listReader) fields(count int) bool {
	size := field(r.nodes)
	if len(r.b) < 2*size {
		return false
	}
	places, starting := r.b[:size], r.b[size:2*size]
	for i, b := range places {
		count -= bits.OnesCount8(b)
		if starting[i]&^b != 0 {
			return false
		}
	}
	r.b = r.b[2*size:]
	return count == 0 && places[size-1]>>((r.nodes-1)%8+1) == 0
}

func (d *decoder) names() []string {
	out := make([]string, d.count(len(d.b), 1))
	for i := range out {
		out[i] = d.name()
		if i > 0 && out[i] <= out[i-1] {
			d.fail("names are not in order")
		}
	}
	return out
}

func (d *decoder) name() string { return unique.Make(d.text(len(d.b))).Value() }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail("it ends too early")
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count reads how many there are of what takes at least so many bytes each.
func (d *decoder) count(most, bytes int) int {
	n := d.number()
	if n > uint64(most) || n*uint64(bytes) > uint64(len(d.b)) {
		d.fail("it says that there are %d of what it cannot have", n)
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) {
		d.fail("it ends too early")
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) text(most int) string { return string(d.bytes(d.count(most, 1))) }
