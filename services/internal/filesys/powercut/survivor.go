package powercut

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// Survivor is what is found after a cut: a new file system, with the power on. Each seed is another of the ways in which it
// may have come out; the same seed is the same way.
func (f *FS) Survivor(seed uint64, hook Hook) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := survivors{rng: rand.New(rand.NewPCG(seed, 0)), files: map[*file]*file{}}
	return &FS{root: s.folder(f.root), hook: hook, clock: f.clock}
}

type survivors struct {
	rng *rand.Rand
	// files: a file that has two names after the cut is still one file.
	files map[*file]*file
}

func (s *survivors) folder(d *folder) *folder {
	names := maps.Clone(d.durable)
	for _, op := range d.pending {
		if s.rng.IntN(2) == 0 {
			op.apply(names)
		}
	}
	out := newFolder()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out.durable[name] = s.entry(names[name])
	}
	out.names = maps.Clone(out.durable)
	return out
}

func (s *survivors) entry(n entry) entry {
	switch n := n.(type) {
	case *folder:
		return s.folder(n)
	case *file:
		if s.files[n] == nil {
			data := s.bytes(n)
			s.files[n] = &file{data: data, durable: data, modTime: n.modTime}
		}
		return s.files[n]
	}
	return nil
}

// bytes decides what is left of a file: what was durable for sure, and of what was written since: nothing, a part, a part
// with zeros to the end of it, or all.
func (s *survivors) bytes(n *file) []byte {
	if bytes.Equal(n.data, n.durable) {
		return n.durable
	}
	grown := commonPrefix(n.data, n.durable)
	cut := grown + s.rng.IntN(len(n.data)-grown+1)
	switch s.rng.IntN(4) {
	case 0:
		return n.durable
	case 1:
		return slices.Clone(n.data[:cut])
	case 2:
		return append(slices.Clone(n.data[:cut]), make([]byte, len(n.data)-cut)...)
	}
	return n.data
}

func commonPrefix(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
