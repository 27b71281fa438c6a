package search

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Limits of a search.
const (
	// DefaultPage is how many hits a page has where nothing is said, MaxPage the most.
	DefaultPage = 20
	MaxPage     = 100
	// DefaultReads is how many nodes are read at most where nothing is said, MaxReads the most: beyond that the total is
	// approximate, and a page may end early.
	DefaultReads = 300
	MaxReads     = 100_000
	// leastReads is how many nodes are read for the total before Enough is asked.
	leastReads = 50
)

// Source is the store, which has what the index does not.
type Source interface {
	// Texts gives the texts of a node in their order, and the stamp of Put where they are what was put with it; any other number where
	// nobody knows. found is false where the node is gone or cannot be read.
	Texts(ctx context.Context, id uuid.UUID) (texts []node.Text, stamp uint64, found bool, err error)
	// Members gives the nodes of a flow by its id, `flows/{uuid}` or the name that it alone has. FlowError.
	Members(ctx context.Context, flow string) ([]uuid.UUID, error)
}

// FlowError is what a Source says of a flow that it cannot tell. A search gives it as QueryError.
type FlowError struct {
	// Matches are the names of all flows that it may be; none where there is no such flow.
	Matches []string
}

func (e *FlowError) Error() string {
	if len(e.Matches) == 0 {
		return "names no flow; write its id, or the name that it alone has"
	}
	return "may be any of " + strings.Join(e.Matches, ", ") + "; write one of these"
}

// Page is which part of the hits is wanted, and what it may cost.
type Page struct {
	// Size is 1 to MaxPage hits; 0 for DefaultPage.
	Size int
	// After is Next of the page before; empty for the first page.
	After string
	// Reads bounds how many nodes are read to check what the index cannot know, 1 to MaxReads; 0 for DefaultReads. The
	// hits of the page are read besides, for their highlights.
	Reads int
	// Enough, where there is one, is asked before each node that is read for the total alone, but for the first of them. It says that the total
	// has to do with those that were read.
	Enough func() bool
}

// PageError says that a page cannot be given.
type PageError struct{ Field, Message string }

func (e *PageError) Error() string { return e.Field + " " + e.Message }

// Result is one page of what was found.
type Result struct {
	Hits []Hit
	// Total is how many nodes satisfied the query, on all pages, when the first page was made. Where Approximate, it takes it that of the
	// nodes that were not read as many do as of those that were, or the index did not have all nodes yet, or one went while it was read.
	Total       int
	Approximate bool
	// Next is where the next page begins; empty where there is none. It may follow a page with fewer hits than asked for: the
	// reads were used up.
	Next string
}

// Hit is a node that satisfies the query.
type Hit struct {
	ID uuid.UUID
	// Highlights are what the words of the query found, in the order of the texts, and not overlapping.
	Highlights []Highlight
	// More says that there are more than MaxHighlights.
	More bool
}

// candidate is a node that may be a hit.
type candidate struct {
	rank
	// check says that its texts have to be read.
	check bool
	// kept are those of its labels, for texts with this stamp.
	kept  kinds
	stamp uint64
}

// Search gives a page of the nodes that satisfy a query, in the order that the package tells. PageError, QueryError for a flow
// that is not known, and the errors of the source.
func (x *Index) Search(ctx context.Context, source Source, q *Query, page Page) (Result, error) {
	start, err := page.complete()
	if err != nil {
		return Result{}, err
	}
	flows, err := membersOf(ctx, source, q)
	if err != nil {
		return Result{}, err
	}
	s := search{source: source, query: q, page: page, first: start == nil}
	if !s.first {
		s.result.Total, s.result.Approximate = start.total, start.approximate
	}
	if x.candidates(&s, flows, start) {
		s.result.Approximate = true
	}
	err = s.run(ctx)
	return s.result, err
}

// complete fills in the defaults, and gives the place where the page begins.
func (p *Page) complete() (start *cursor, err error) {
	if p.Size == 0 {
		p.Size = DefaultPage
	}
	if p.Reads == 0 {
		p.Reads = DefaultReads
	}
	switch {
	case p.Size < 0 || p.Size > MaxPage:
		return nil, &PageError{"page_size", fmt.Sprintf("is %d; it must be 0 to %d", p.Size, MaxPage)}
	case p.Reads < 0 || p.Reads > MaxReads:
		return nil, &PageError{"reads", fmt.Sprintf("is %d; it must be 0 to %d", p.Reads, MaxReads)}
	case p.After == "":
		return nil, nil
	}
	return parseCursor(p.After)
}

// membersOf asks for the nodes of the flows, filter by filter.
func membersOf(ctx context.Context, source Source, q *Query) ([][]uuid.UUID, error) {
	var (
		out   [][]uuid.UUID
		wrong QueryError
	)
	for _, f := range q.flows {
		var all []uuid.UUID
		for _, v := range f.any {
			ids, err := source.Members(ctx, v.text)
			if unknown := (*FlowError)(nil); errors.As(err, &unknown) {
				wrong.Violations = append(wrong.Violations, Violation{v.at, v.text, unknown.Error()})
			} else if err != nil {
				return nil, err
			}
			all = append(all, ids...)
		}
		out = append(out, all)
	}
	if len(wrong.Violations) > 0 {
		return nil, &wrong
	}
	return out, nil
}

// candidates gives a search the nodes that it has to look at, and says whether there may be more of them.
func (x *Index) candidates(s *search, flows [][]uuid.UUID, start *cursor) (partial bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	members := make([]set, len(flows))
	for i, ids := range flows {
		members[i] = x.newSet()
		for _, id := range ids {
			if place, known := x.place[id]; known {
				members[i].add(place)
			}
		}
	}
	p := x.plan(s.query, members)
	// A page takes no more of those that are sure than it has hits, and no more of the others than it may read.
	sure, unsure := nearest{most: s.page.Size + 1}, nearest{most: s.page.Reads + 1}
	for i, may := range slices.Backward(p.may) { // most often the newer ones come first
		if may == 0 {
			continue
		}
		best := rank{inBlock(p.starts, i, may), inBlock(p.tags, i, may), x.latest[i], uuid.Max}
		for _, part := range []struct {
			to    *nearest
			check bool
			block uint64
		}{{&sure, false, may &^ p.check[i]}, {&unsure, true, may & p.check[i]}} {
			if !part.to.takes(best) {
				part.to.left += bits.OnesCount64(part.block)
				continue
			}
			for block := part.block; block != 0; block &= block - 1 {
				place := uint32(i*64 + bits.TrailingZeros64(block))
				e := &x.nodes[place]
				c := candidate{rank{count(p.starts, place), count(p.tags, place), e.created, e.id}, part.check, e.kept, e.stamp}
				if start == nil || start.before(c.rank) {
					part.to.add(c)
				}
			}
		}
	}
	sure.trim()
	unsure.trim()
	s.ahead, s.sure, s.unsure = slices.Concat(sure.all, unsure.all), sure.left, unsure.left
	return x.partial
}

// count is in how many of the sets a place is.
func count(sets []set, place uint32) uint8 {
	n := uint8(0)
	for _, s := range sets {
		if s.has(place) {
			n++
		}
	}
	return n
}

// inBlock is how many of the sets have any of the places of a block.
func inBlock(sets []set, i int, block uint64) uint8 {
	n := uint8(0)
	for _, s := range sets {
		if s[i]&block != 0 {
			n++
		}
	}
	return n
}

// nearest keeps of candidates those that come first, and counts the others.
type nearest struct {
	most int
	all  []candidate
	// left is how many were left out: none of them comes before last.
	left int
	last *rank
}

// takes says that a candidate may be one of them.
func (n *nearest) takes(r rank) bool { return n.last == nil || !n.last.before(r) }

func (n *nearest) add(c candidate) {
	if !n.takes(c.rank) {
		n.left++
		return
	}
	if n.all = append(n.all, c); len(n.all) == 2*n.most {
		n.trim()
	}
}

// trim leaves no more than wanted.
func (n *nearest) trim() {
	if len(n.all) < n.most {
		return
	}
	slices.SortFunc(n.all, func(a, b candidate) int {
		switch {
		case a.before(b.rank):
			return -1
		case b.before(a.rank):
			return 1
		}
		return 0
	})
	n.left += len(n.all) - n.most
	n.all = n.all[:n.most]
	last := n.all[n.most-1].rank
	n.last = &last
}
