package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unique"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"
)

// DamagedError says that a snapshot cannot be used. The index has to be made anew from the nodes.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string {
	return "the snapshot of the search index cannot be used: " + e.Reason
}

// Decode reads a snapshot, and gives the index with the mark that it was written with. It keeps nothing of data. DamagedError.
func Decode(data []byte) (*Index, string, error) {
	const head = len(magic) + 1
	if len(data) < head+sha256.Size || string(data[:len(magic)]) != magic {
		return nil, "", &DamagedError{"it does not begin as one"}
	}
	if v := data[len(magic)]; v != version {
		return nil, "", &DamagedError{fmt.Sprintf("it is of version %d, and this program reads version %d", v, version)}
	}
	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, "", &DamagedError{"its checksum is not right"}
	}
	d := decoder{b: body[head:]}
	mark := d.text(MaxMark)
	c := d.contents()
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes are left behind its end", len(d.b))
	}
	if d.err != nil {
		return nil, "", d.err
	}
	return &Index{contents: c}, mark, nil
}

// decoder reads what is left of a snapshot. After an error it reads nothing any more, and gives zero values.
type decoder struct {
	b   []byte
	err error
	// nodes is how many places there are.
	nodes int
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &DamagedError{fmt.Sprintf(format, args...)}
	}
	d.b = nil
}

func (d *decoder) contents() contents {
	c := empty()
	for range d.count(MaxNodes, len(uuid.UUID{})) {
		e := d.entry()
		if _, twice := c.place[e.id]; twice {
			d.fail("a node is there twice")
		}
		if d.err != nil {
			return c
		}
		c.enter(e)
	}
	d.nodes = len(c.nodes)
	for range d.count(len(d.b), 1) {
		g := gram(d.number())
		if _, twice := c.gramNumber[g]; twice {
			d.fail("a character is there twice")
		}
		p := d.postings()
		if d.err != nil {
			return c
		}
		*c.postingsOf(g) = p
	}
	d.words(&c.words)
	c.long = d.postings()
	return c
}

func (d *decoder) words(w *words) {
	for range d.count(len(d.b), 1) {
		word := d.text(maxWord)
		if _, twice := w.number[word]; twice || word == "" || bytes.IndexByte([]byte(word), wordEnd) >= 0 {
			d.fail("a word is there twice, or is none")
		}
		if len(w.text)+len(word) >= MaxWordBytes {
			d.fail("it has too many words")
		}
		p := d.postings()
		if d.err != nil {
			return
		}
		*w.of(word) = p
	}
}

func (d *decoder) entry() entry {
	var e entry
	copy(e.id[:], d.bytes(len(e.id)))
	created, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("it ends too early")
		return e
	}
	d.b = d.b[n:]
	e.created = created
	e.model = d.name()
	e.tags, e.roles = d.names(), d.names()
	return e
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

// postings reads a list of places.
func (d *decoder) postings() postings {
	n := d.count(d.nodes, 0)
	if n > fewest {
		return postings{many: d.bitmap(n)}
	}
	p := postings{few: make([]uint32, n)}
	last := uint64(0)
	for i := range p.few {
		step := d.number()
		last += step
		if i > 0 && step == 0 || step >= uint64(d.nodes) || last >= uint64(d.nodes) {
			d.fail("a place is not in order")
			return postings{}
		}
		p.few[i] = uint32(last)
	}
	return p
}

func (d *decoder) bitmap(n int) *roaring.Bitmap {
	b := roaring.New()
	raw := d.bytes(d.count(len(d.b), 1))
	if d.err != nil {
		return b
	}
	if read, err := b.ReadFrom(bytes.NewReader(raw)); err != nil || int(read) != len(raw) {
		d.fail("a list of places cannot be read")
		return roaring.New()
	}
	if b.Validate() != nil || int(b.GetCardinality()) != n || int(b.Maximum()) >= d.nodes {
		d.fail("a list of places is not as it says")
		return roaring.New()
	}
	return b
}

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
