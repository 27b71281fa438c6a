package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// matches is what the index knows of a word of a query.
type matches struct {
	// may are the nodes that may hold it, sure those of them that do. Removed nodes may be among all of these.
	may, sure set
	// starts are the nodes in which a word begins as it does: with its first two characters, with its first word, or, where it
	// ends within a word of a text, with what there is of it. A sign begins where it stands.
	starts set
}

// match looks a folded text up. Of nodes that are not within a set it may tell anything.
func (c *contents) match(text string, within set) matches {
	all := pieces(text)
	var m matches
	for i, p := range all {
		first, last := i == 0, i == len(all)-1
		var may, sure set
		switch p.script {
		case blank:
			continue
		case letter:
			sure, may = c.matchWord(p.text, first, last, within)
		default:
			may = c.all(p.grams(), false, within)
			sure = may
		}
		if m.may == nil {
			m.may, m.sure = may, sure
		} else {
			m.may.and(may)
		}
	}
	if known := len(all) == 1 && (all[0].script != han || len([]rune(text)) <= 2); !known {
		m.sure = c.newSet()
	}
	m.starts = c.starting(all, m.may)
	return m
}

// starting gives those of the nodes in which a word begins as the term does.
func (c *contents) starting(all []piece, may set) set {
	p := all[0]
	switch p.script {
	case blank:
		return may
	case letter:
		text := ends + p.text
		if len(all) > 1 {
			text += ends
		}
		return c.holding(text, may)
	}
	return c.all(p.grams()[:1], p.script == han, may)
}

// matchWord looks up a word, or the part of one with which a text begins or ends.
func (c *contents) matchWord(word string, first, last bool, within set) (sure, may set) {
	text := word
	if !first {
		text = ends + text
	}
	if !last {
		text += ends
	}
	sure = c.holding(text, within)
	may = slices.Clone(sure)
	if (first || last) || len(word) > maxWord {
		c.long(may)
	}
	return sure, may
}

// holding gives the nodes within a set that have a word that holds a text; a wordEnd at its beginning or end ties it to that of the word.
func (c *contents) holding(text string, within set) set {
	found := c.newSet()
	for _, s := range c.segments {
		if !s.among(within) {
			continue
		}
		s.words.holding([]byte(text), func(n int) { found.gather(s.ofWord(n), s.first, false) })
	}
	for i, t := range c.tail {
		if place := c.settled() + uint32(i); within.has(place) && strings.Contains(t.words, text) {
			found.add(place)
		}
	}
	return found
}

// long adds the nodes with words that the lists do not take.
func (c *contents) long(to set) {
	for _, s := range c.segments {
		to.gather(s.long(), s.first, false)
	}
	for i, t := range c.tail {
		if t.long {
			to.add(c.settled() + uint32(i))
		}
	}
}

// all gives the nodes within a set that have all of the grams; starting, those in which words begin with them.
func (c *contents) all(grams []gram, starting bool, within set) set {
	type term struct {
		gram
		lists []list
		count int
	}
	found := make([]term, len(grams))
	for i, g := range grams {
		t := term{g, make([]list, len(c.segments)), 0}
		for j, s := range c.segments {
			if t.lists[j] = s.ofGram(g); t.lists[j] != nil {
				n, _, _ := t.lists[j].head()
				t.count += n
			}
		}
		found[i] = t
	}
	slices.SortFunc(found, func(a, b term) int { return cmp.Compare(a.count, b.count) })
	var out set
	for _, t := range found {
		places := c.newSet()
		for j, l := range t.lists {
			if l != nil {
				places.gather(l, c.segments[j].first, starting)
			}
		}
		for j, n := range c.tail {
			if place := c.settled() + uint32(j); within.has(place) && n.has(t.gram, starting) {
				places.add(place)
			}
		}
		if out == nil {
			out = places
		} else {
			out.and(places)
		}
	}
	return out
}

// plan is what the index knows of a query.
type plan struct {
	// may are the live nodes that may satisfy it, check those of them whose texts must be read.
	may, check set
	// starts and tags are sets of nodes: the more of them a node is in, the earlier it comes.
	starts, tags []set
}

// plan looks a query up. members are the nodes of each of its flow filters.
func (c *contents) plan(q *Query, members []set) plan {
	p := plan{may: c.newSet(), check: c.newSet()}
	copy(p.may, c.live)
	c.filter(&p, q, members)
	// Nodes are to be read for words that they may hold, whether they have to or must not.
	for _, w := range q.words {
		m := c.match(w.text, p.may)
		if len(q.roles) > 0 { // the index does not know which of the texts it was
			m.sure = c.newSet()
		}
		if w.not {
			p.may.andNot(m.sure)
		} else {
			p.may.and(m.may)
			p.starts = append(p.starts, m.starts)
			if t := c.tags[strings.TrimSpace(w.text)]; t != nil {
				p.tags = append(p.tags, c.setOf(t))
			}
		}
		for i := range p.check {
			p.check[i] |= m.may[i] &^ m.sure[i]
		}
	}
	p.check.and(p.may)
	return p
}

// filter applies everything but the words.
func (c *contents) filter(p *plan, q *Query, members []set) {
	apply := func(not bool, nodes set) {
		if not {
			p.may.andNot(nodes)
		} else {
			p.may.and(nodes)
		}
	}
	for _, f := range q.tags {
		nodes := c.newSet()
		for _, v := range f.any {
			if t := c.tags[v.text]; t != nil {
				tagged := c.setOf(t)
				nodes.or(tagged)
				if !f.not {
					p.tags = append(p.tags, tagged)
				}
			}
		}
		apply(f.not, nodes)
	}
	for _, f := range q.models {
		apply(f.not, c.ofModels(f))
	}
	for i, f := range q.flows {
		apply(f.not, members[i])
	}
	if len(q.roles) > 0 {
		nodes := c.newSet()
		for _, r := range q.roles {
			if b := c.roles[r]; b != nil {
				nodes.or(c.setOf(b))
			}
		}
		apply(false, nodes)
	}
	c.bound(p.may, q.after, q.before)
}

// ofModels gives the nodes of the models that a filter names.
func (c *contents) ofModels(f filter) set {
	nodes := c.newSet()
	for model, b := range c.models {
		name := tagKey(model)
		if slices.ContainsFunc(f.any, func(v value) bool {
			return name == v.text || !v.quoted && strings.Contains(name, v.text)
		}) {
			nodes.or(c.setOf(b))
		}
	}
	return nodes
}

// bound leaves the nodes that were made in a span of time.
func (c *contents) bound(may set, after, before *bound) {
	if after == nil && before == nil {
		return
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if after != nil {
		from = after.at.UnixMicro()
	}
	if before != nil {
		to = before.at.UnixMicro()
	}
	for place := range may.places() {
		if created := c.nodes[place].created; created < from || created >= to {
			may.take(place)
		}
	}
}
