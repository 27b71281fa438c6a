package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A snapshot is: magic, version, mark, nodes, grams, words, nodes with long words, SHA-256 of all before. Numbers are
// varints, texts have their length before them. A list of places has its length, and then, up to fewest of them, the
// distances from one to the next, and above that a bitmap in the portable form of roaring.
const (
	magic   = "tsumugi search\n"
	version = 1
	// MaxMark is the longest mark of a snapshot, in bytes.
	MaxMark = 1 << 10
	// flushed is how much of a snapshot is gathered before it is written.
	flushed = 1 << 20
)

// Encode writes a snapshot, in which there is nothing of removed nodes. mark is for the owner, who learns from it what the
// snapshot is of: at most MaxMark bytes, else an error. The errors of w. The same index gives the same bytes. Searches go on meanwhile.
func (x *Index) Encode(w io.Writer, mark string) error {
	if len(mark) > MaxMark {
		return fmt.Errorf("the mark of a snapshot is %d bytes long; the limit is %d bytes", len(mark), MaxMark)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	e := encoder{to: w, sum: sha256.New()}
	e.b = append(append(e.b, magic...), version)
	e.text(mark)
	x.encode(&e)
	e.flush()
	if e.err != nil {
		return e.err
	}
	_, err := w.Write(e.sum.Sum(nil))
	return err
}

// Compact frees what removed nodes left behind. It needs as much memory again as the index has, and nothing is found or put
// meanwhile.
func (x *Index) Compact() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var b bytes.Buffer
	e := encoder{to: &b, sum: sha256.New()}
	x.encode(&e)
	e.flush()
	if e.err != nil {
		return e.err
	}
	d := decoder{b: b.Bytes()}
	c := d.contents()
	if d.err != nil {
		return d.err
	}
	x.contents = c
	return nil
}

func (c *contents) encode(e *encoder) {
	e.keep(c)
	e.number(c.live.GetCardinality())
	for place, n := range c.nodes {
		if !c.live.Contains(uint32(place)) {
			continue
		}
		e.b = append(e.b, n.id[:]...)
		e.b = binary.AppendVarint(e.b, n.created)
		e.text(n.model)
		e.texts(n.tags)
		e.texts(n.roles)
	}
	grams := slices.DeleteFunc(slices.Sorted(maps.Keys(c.gramNumber)), func(g gram) bool {
		return len(e.kept(&c.grams[c.gramNumber[g]], 1)) == 0
	})
	e.number(uint64(len(grams)))
	for _, g := range grams {
		e.number(uint64(g))
		e.postings(&c.grams[c.gramNumber[g]])
	}
	words := slices.DeleteFunc(slices.Sorted(maps.Keys(c.words.number)), func(w string) bool {
		return len(e.kept(&c.words.postings[c.words.number[w]], 1)) == 0
	})
	e.number(uint64(len(words)))
	for _, w := range words {
		e.text(w)
		e.postings(&c.words.postings[c.words.number[w]])
	}
	e.postings(&c.long)
}

type encoder struct {
	to  io.Writer
	sum hash.Hash
	b   []byte
	err error
	// moved is the new place of each node, and gone for one that is removed; nil where all stay where they are.
	moved []uint32
}

const gone = 1<<32 - 1

// keep finds the new places.
func (e *encoder) keep(c *contents) {
	if int(c.live.GetCardinality()) == len(c.nodes) {
		return
	}
	e.moved = make([]uint32, len(c.nodes))
	next := uint32(0)
	for place := range e.moved {
		e.moved[place] = gone
		if c.live.Contains(uint32(place)) {
			e.moved[place] = next
			next++
		}
	}
}

// kept gives the first places of a list that stay, at most so many, by their new numbers.
func (e *encoder) kept(p *postings, most int) []uint32 {
	var out []uint32
	note := func(place uint32) bool {
		if e.moved != nil {
			place = e.moved[place]
		}
		if place != gone {
			out = append(out, place)
		}
		return len(out) < most
	}
	if p.many != nil {
		p.many.Iterate(note)
		return out
	}
	for _, place := range p.few {
		if !note(place) {
			break
		}
	}
	return out
}

func (e *encoder) postings(p *postings) {
	many := p.many
	if e.moved != nil || many == nil {
		all := e.kept(p, len(e.moved)+fewest)
		if len(all) <= fewest {
			e.number(uint64(len(all)))
			last := uint32(0)
			for _, place := range all {
				e.number(uint64(place - last))
				last = place
			}
			return
		}
		many = roaring.BitmapOf(all...)
	}
	e.number(many.GetCardinality())
	e.number(many.GetSerializedSizeInBytes())
	e.flush()
	if e.err == nil {
		_, e.err = many.WriteTo(io.MultiWriter(e.to, e.sum))
	}
}

func (e *encoder) number(n uint64) {
	e.b = binary.AppendUvarint(e.b, n)
	if len(e.b) >= flushed {
		e.flush()
	}
}

func (e *encoder) text(t string) {
	e.number(uint64(len(t)))
	e.b = append(e.b, t...)
}

func (e *encoder) texts(all []string) {
	e.number(uint64(len(all)))
	for _, t := range all {
		e.text(t)
	}
}

func (e *encoder) flush() {
	if e.err == nil {
		e.sum.Write(e.b)
		_, e.err = e.to.Write(e.b)
	}
	e.b = e.b[:0]
}
