package search

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// MaxHighlights is the most highlights of a hit.
const MaxHighlights = 64

// Highlight is a piece of a text that a word of the query found.
type Highlight struct {
	// Text is the number of the text in the node, from 0. Start and End are bytes of it, verbatim as it is stored.
	Text, Start, End int
}

// search is one call of Search. It holds no lock: what it reads takes long.
type search struct {
	source Source
	query  *Query
	page   Page
	// first says that this is the first page, which counts the hits of all.
	first bool
	// ahead may be on this page or a later one: as many as this page can take. Behind them are so many that satisfy the query,
	// and so many that may.
	ahead        ranked
	sure, unsure int
	// reads are the nodes that were read to be checked, held those of them that satisfy the query.
	reads, held int
	result      Result
}

func (s *search) run(ctx context.Context) error {
	last, err := s.fill(ctx)
	if err != nil {
		return err
	}
	more := len(s.ahead) > 0
	if s.first {
		err = s.count(ctx)
	}
	if more && last != nil {
		s.result.Next = cursor{*last, s.result.Total, s.result.Approximate}.String()
	}
	return err
}

// fill reads the nodes of the page, and gives the last of them.
func (s *search) fill(ctx context.Context) (last *rank, err error) {
	s.ahead.order()
	for len(s.ahead) > 0 && len(s.result.Hits) < s.page.Size && (!s.ahead[0].check || s.reads < s.page.Reads) {
		c := s.ahead.next()
		last = &c.rank
		texts, found, err := s.texts(ctx, c)
		switch {
		case err != nil:
			return nil, err
		case !found:
			s.result.Approximate = true
		case !c.check || s.query.holds(texts):
			if c.check {
				s.held++
			}
			s.result.Hits = append(s.result.Hits, s.query.hit(c.id, texts))
		}
	}
	return last, nil
}

// count makes the total of this page and all behind it, and reads nodes for it for as long as it may.
func (s *search) count(ctx context.Context) error {
	s.result.Total = len(s.result.Hits) + s.sure
	unread := s.unsure
	for _, c := range s.ahead {
		switch {
		case !c.check:
			s.result.Total++
			continue
		case s.enough():
			unread++
			continue
		}
		texts, found, err := s.texts(ctx, c)
		switch {
		case err != nil:
			return err
		case !found:
			s.result.Approximate = true
		case s.query.holds(texts):
			s.held++
			s.result.Total++
		}
	}
	if unread > 0 {
		s.result.Approximate = true
		s.result.Total += estimate(unread, s.held, s.reads)
	}
	return nil
}

// enough says that the total has to do with what was read.
func (s *search) enough() bool {
	return s.reads >= s.page.Reads || s.page.Enough != nil && s.reads >= leastReads && s.page.Enough()
}

// estimate is how many of the unread nodes satisfy a query, as many of them as held of those that were read. The next one counts as if it
// held, so that there is never said to be none.
func estimate(unread, held, read int) int {
	return (unread*(held+1) + read) / (read + 1)
}

// texts are those of a node in which a query looks for its words.
type texts struct {
	all []node.Text
	// kept are those of the labels of a node.
	kept kinds
}

func (s *search) texts(ctx context.Context, c candidate) (texts, bool, error) {
	if err := ctx.Err(); err != nil {
		return texts{}, false, err
	}
	if c.check {
		s.reads++
	}
	all, stamp, found, err := s.source.Texts(ctx, c.id)
	if stamp != c.stamp {
		c.kept = 0
	}
	return texts{all, c.kept}, found, err
}

// counts says that the words are looked for in a text of this role.
func (q *Query) counts(role string) bool { return len(q.roles) == 0 || slices.Contains(q.roles, role) }

// holds says whether texts hold every word, and none that they must not.
func (q *Query) holds(t texts) bool {
	folded := make([]string, len(t.all)) // where that was needed
	for _, w := range q.words {
		held := false
		for i := 0; i < len(t.all) && !held; i++ {
			if q.counts(t.all[i].Role) {
				held = w.in(t.all[i].Content, t.kept, &folded[i])
			}
		}
		if held == w.not {
			return false
		}
	}
	return true
}

// in says whether a text holds the word. What tells without folding is tried first, for folding takes several times as long.
func (w word) in(text string, kept kinds, folded *string) bool {
	if w.asIs(kept) {
		for range w.places(text) {
			return true
		}
		return false
	}
	if w.simple {
		if at := strings.Index(text, w.text); at >= 0 && !joined(text[at+len(w.text):]) {
			return true
		}
	}
	if *folded == "" {
		*folded = Fold(text)
	}
	return strings.Contains(*folded, w.text)
}

func (q *Query) hit(id uuid.UUID, t texts) Hit {
	h := Hit{ID: id}
	words := slices.DeleteFunc(slices.Clone(q.words), func(w word) bool { return w.not })
	asIs := !slices.ContainsFunc(words, func(w word) bool { return !w.asIs(t.kept) })
	for i, text := range t.all {
		if len(words) == 0 || !q.counts(text.Role) {
			continue
		}
		l := unfolded(text.Content)
		if !asIs {
			l = locate(text.Content)
		}
		for _, place := range l.find(words, MaxHighlights-len(h.Highlights)+1) {
			if len(h.Highlights) == MaxHighlights {
				h.More = true
				return h
			}
			h.Highlights = append(h.Highlights, Highlight{i, place.start, place.end})
		}
	}
	return h
}

type span struct{ start, end int }

// find gives the first places, at most so many, in which words stand, in the bytes of the original.
func (l located) find(words []word, most int) []span {
	var all []span
	for _, w := range words {
		// One more for each that another word covers is not looked for: then there are enough.
		found := 0
		for at := range w.places(l.text) {
			if found++; found > most {
				break
			}
			all = append(all, span{at, at + len(w.text)})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	var out []span
	for _, s := range all {
		s.start, s.end = l.origin(s.start, s.end)
		if last := len(out) - 1; last >= 0 && s.start < out[last].end {
			out[last].end = max(out[last].end, s.end)
		} else if out = append(out, s); len(out) > most {
			return out[:most]
		}
	}
	return out
}
