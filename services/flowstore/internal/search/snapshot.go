package search

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// A snapshot is: magic, version, labels, nodes, and then, if there are nodes, their grams, their words and all lists as a
// segment has them; at the end the SHA-256 of all before. Numbers are varints, texts have their length before them; of grams
// the distances from one to the next.
const (
	magic = "tsumugi search\n"
	// version is another one, too, where Fold gives something else: words and grams are folded.
	version = 6
	// flushed is how much of a snapshot is gathered before it is written.
	flushed = 1 << 20
)

// Encode compacts the index and writes a snapshot, in which there is nothing of removed nodes. The errors of w. The same index
// gives the same bytes. Searches go on meanwhile; whoever puts or removes waits.
func (x *Index) Encode(w io.Writer) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.compact()
	e := encoder{to: w, sum: sha256.New()}
	e.b = append(append(e.b, magic...), version)
	e.nodes(x.nodes)
	for _, s := range x.segments {
		e.segment(s)
	}
	e.flush()
	if e.err != nil {
		return e.err
	}
	_, err := w.Write(e.sum.Sum(nil))
	return err
}

type encoder struct {
	to  io.Writer
	sum hash.Hash
	b   []byte
	err error
}

// nodes writes the labels in the order in which nodes have them, and then the nodes.
func (e *encoder) nodes(all []entry) {
	numbers := map[*labels]uint64{}
	var used []*labels
	for _, n := range all {
		if _, known := numbers[n.labels]; !known {
			numbers[n.labels] = uint64(len(used))
			used = append(used, n.labels)
		}
	}
	e.number(uint64(len(used)))
	for _, l := range used {
		e.labels(l)
	}
	e.number(uint64(len(all)))
	last := int64(0)
	for _, n := range all {
		e.b = append(e.b, n.id[:]...)
		e.b = binary.AppendVarint(e.b, n.created-last)
		last = n.created
		e.b = binary.BigEndian.AppendUint64(e.b, n.stamp)
		e.number(numbers[n.labels])
	}
}

func (e *encoder) labels(l *labels) {
	e.text(l.model)
	e.texts(l.tags)
	e.texts(l.roles)
	e.number(uint64(l.kept))
}

func (e *encoder) segment(s *segment) {
	e.number(uint64(len(s.grams)))
	last := gram(0)
	for _, g := range s.grams {
		e.number(uint64(g - last))
		last = g
	}
	e.number(uint64(len(s.words.starts)))
	for n := range s.words.starts {
		e.text(s.words.word(n))
	}
	e.number(uint64(len(s.lists)))
	e.flush()
	if e.err == nil {
		_, e.err = io.MultiWriter(e.to, e.sum).Write(s.lists)
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
