package nodecontext

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// state is a draft after some of the steps that make it shorter: its weight, and that of what went and of what came instead since the
// first one.
type state struct{ weight, gone, come int }

// quarters is what a token weighs by the estimate est-1.
const quarters = 4

// weigh goes through all states of a draft, and back to the first. The error is that of ctx.
func (d *Draft) weigh(ctx context.Context) ([]state, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, _ := d.Text()
	states := []state{{weight: weight(text)}}
	add := func(gone, come int) {
		s := states[len(states)-1]
		states = append(states, state{s.weight - gone + come, s.gone + gone, s.come + come})
	}
	for t := d.shrink(); t != nil; t = d.shrink() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		add(weight(t.gone...), weight(t.come...))
	}
	d.shrinks = len(states) - 1
	if last := d.last(); last != nil {
		ends := hundreds(last.node.Answer)
		d.longest = len(ends)
		add(weight(last.node.Prompt), weight(begun(last.node.Prompt), passage.CutMark))
		for _, w := range slices.Backward(ends[1:]) {
			add(w, 0)
		}
	}
	d.rewind()
	return states, nil
}

// weight estimates texts, in quarters of a token.
func weight(texts ...string) int {
	n := 0
	for _, text := range texts {
		for _, r := range text {
			n += weightOf(r)
		}
	}
	return n
}

func weightOf(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return quarters
}

// hundreds are the weights of each hundred characters of a text, from its end; at least one.
func hundreds(text string) []int {
	all := []int{0}
	for n := 0; text != ""; n++ {
		if n > 0 && n%maxOpening == 0 {
			all = append(all, 0)
		}
		r, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		all[len(all)-1] += weightOf(r)
	}
	return all
}

// at puts a draft into one of the states that weigh told of.
func (d *Draft) at(n int) {
	d.rewind()
	for range min(n, d.shrinks) {
		d.shrink()
	}
	if cuts := n - d.shrinks; cuts > 0 {
		last := d.last()
		last.Form = Cut
		last.keep(d.longest - cuts + 1)
	}
}

// rewind brings back all that went.
func (d *Draft) rewind() {
	d.lines, d.parents, d.refs, d.dropped, d.droppedRefs = d.whole.lines, d.whole.parents, d.whole.refs, 0, 0
	for n, i := range d.all {
		*i.Entry = d.whole.entries[n]
	}
}

// whole is a draft from which nothing went.
type whole struct {
	lines, parents, refs []*item
	entries              []Entry
}

// last is the last parent; nil where there is none.
func (d *Draft) last() *item {
	if n := len(d.parents); n > 0 {
		return d.parents[n-1]
	}
	return nil
}

// taken is what a step took away: the lines that went, and those that stand there instead.
type taken struct{ gone, come []string }

// shrink takes the next step; nil where only the last parent is left.
func (d *Draft) shrink() *taken {
	if n := len(d.refs); n > 0 {
		gone := d.printed(d.refs[n-1])
		d.TakeRef()
		return &taken{gone: []string{gone}}
	}
	if lines := d.lines; len(lines) > 0 {
		t := &taken{}
		for _, i := range lines[:d.step()] {
			t.gone = append(t.gone, d.printed(i))
		}
		first := d.dropped == 0
		d.TakeAncestors()
		if first {
			t.come = d.leftOut()
		}
		return t
	}
	for _, i := range d.parents[:max(0, len(d.parents)-1)] {
		if i.Form == Full {
			gone := d.printed(i)
			i.Form = Line
			return &taken{[]string{gone}, []string{d.printed(i)}}
		}
	}
	return nil
}
