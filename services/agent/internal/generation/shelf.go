package generation

import "slices"

// keep puts an ended generation where it can be watched again, for a while, and lets go of the oldest when there are too
// many of them. The caller holds mu.
func (s *Service) keep(g *generation, e ending) {
	g.bytes = g.size() + e.size()
	s.kept = append(s.kept, g)
	s.keptBytes += g.bytes
	g.expiry = s.clock.AfterFunc(s.limits.Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(g)
	})
	for len(s.kept) > s.limits.Kept || (s.keptBytes > s.limits.KeptBytes && len(s.kept) > 1) {
		s.forget(s.kept[0])
	}
}

// forget lets go of an ended generation. From then on it is known by its node, if it has one. The caller holds mu.
func (s *Service) forget(g *generation) {
	if s.unkeep(g) {
		delete(s.all, key{g.ns, g.id})
	}
}

// unkeep takes a generation from the kept ones; false where it is none of them. The caller holds mu.
func (s *Service) unkeep(g *generation) bool {
	i := slices.Index(s.kept, g)
	if i < 0 {
		return false
	}
	s.kept = slices.Delete(s.kept, i, i+1)
	s.keptBytes -= g.bytes
	g.expiry.Stop()
	return true
}

// size is the bytes of the log.
func (g *generation) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := cap(g.text) + 8*cap(g.ends)
	for _, d := range g.details {
		size += len(d.Text)
	}
	return size
}

// answer is the node of an answer, stored or not; nil where there is none.
func (e *ending) answer() *Node {
	if e.unstored != nil {
		return &e.unstored.addition.Node
	}
	return e.node
}

// size is the bytes of text that an ending holds on to.
func (e *ending) size() int {
	n := e.answer()
	if n == nil {
		return 0
	}
	size := 0
	for _, t := range n.Texts {
		size += len(t.Content)
	}
	return size
}
