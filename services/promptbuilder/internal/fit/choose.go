package fit

import (
	"math/bits"
	"sort"
	"strings"
	"unicode"
)

// caution is by how much the first prompt is to be smaller where memory knows most of it, so that it fits for sure: a
// tenth of what it does not know, or a fifth where that is of a kind that it never saw. Where it knows little, the first
// count is there to learn from.
func (s *search) caution() int {
	cost := s.estimate.from(0)
	whole := s.Limit * token
	guesswork := 0
	if cost > whole {
		i := sort.Search(len(s.lines), func(i int) bool { return s.estimate.from(s.lines[i]) <= whole })
		if i < len(s.lines) {
			guesswork = s.estimate.guesswork(s.lines[i])
		}
	}
	if guesswork > whole/4 {
		return 0
	}
	if s.estimate.strange {
		guesswork *= 2
	}
	return min(guesswork/token/10, s.Limit/100)
}

// choose is the longest prompt that is expected to keep to the target, at the coarsest place that is not wasteful.
func (s *search) choose() (at int, place Place, ok bool) {
	target, from := s.target(), s.tooEarly()
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > from && s.expect(s.lines[i]) <= target })
	if i > 0 {
		if at, place, ok := s.steady(i, target); ok {
			return at, place, true
		}
		from = max(from, s.lines[i-1])
	}
	at, place = len(s.text), Line
	if ok = i < len(s.lines); ok {
		at = s.lines[i]
	}
	for finer := Sentence; finer <= Character; finer++ {
		least := s.least
		if finer == Character {
			least = s.Limit * leastBrokenPercent / 100
		}
		if ok && finer > s.Finest && s.expect(at) >= least {
			break
		}
		if start, found := s.inside(finer, from, at, target); found && strings.TrimSpace(s.text[start:at]) != "" {
			at, place, ok = start, finer, true
		}
	}
	return at, place, ok
}

// steady is a cut from a line on that stays while a text grows: the anchor; where that has no room any more, the last line
// that the slack allows; without one, of the lines that it allows the one at the roundest place of the document, which is the
// first behind a multiple of the largest power of two. Where the slack begins and ends moves a little with every turn, and
// that one stays (field/wannabe.md 5, KV stability: a grid of fixed steps, here as large as the slack has room for). In a
// line that is longer than the slack, the same of its sentences.
func (s *search) steady(from, target int) (at int, place Place, ok bool) {
	anchor := sort.SearchInts(s.lines, s.Anchor)
	if s.Anchor > 0 && anchor >= from && anchor < len(s.lines) && s.lines[anchor] == s.Anchor && s.expect(s.Anchor) >= min(s.Limit/2, s.room) {
		return s.Anchor, Line, true
	}
	if s.Slack == 0 {
		return 0, Whole, false
	}
	allowed := sort.Search(len(s.lines)-from, func(i int) bool { return s.expect(s.lines[from+i]) < s.room })
	switch lines := s.lines[from : from+allowed]; {
	case len(lines) > 0 && s.Anchor > 0: // the farther, the longer it stays
		return lines[len(lines)-1], Line, true
	case len(s.places) < len(s.lines):
		return 0, Whole, false
	case len(lines) > 0:
		return lines[roundest(s.places[from-1], s.places[from:from+allowed])], Line, true
	}
	return s.steadySentence(from-1, target)
}

// steadySentence is steady in a line.
func (s *search) steadySentence(line, target int) (at int, place Place, ok bool) {
	to := len(s.text)
	if line+1 < len(s.lines) {
		to = s.lines[line+1]
	}
	all := starts(s.text, s.lines[line], to, Sentence)
	first := sort.Search(len(all), func(i int) bool { return all[i] > s.tooEarly() && s.expect(all[i]) <= target })
	end := first + sort.Search(len(all)-first, func(i int) bool { return s.expect(all[first+i]) < s.room })
	if first == end {
		return 0, Whole, false
	}
	inDocument := make([]int, end-first)
	for i, at := range all[first:end] {
		inDocument[i] = s.places[line] + at - s.lines[line]
	}
	before := s.places[line]
	if first > 0 {
		before += all[first-1] - s.lines[line]
	}
	return all[first+roundest(before, inDocument)], Sentence, true
}

// roundest is which of some places, ascending, is the first behind a multiple of the largest power of two.
func roundest(before int, places []int) int {
	best, most := 0, -1
	for i, at := range places {
		if round := bits.Len(uint(before ^ at)); round > most {
			best, most = i, round
		}
		before = at
	}
	return best
}

// tooEarly is the last offset that is known to be over the limit.
func (s *search) tooEarly() int {
	at := -1
	for _, p := range []*probe{s.over, s.excluded} {
		if p != nil {
			at = max(at, p.at)
		}
	}
	return at
}

// inside is the first place of a kind between two offsets that is expected to keep to the target.
func (s *search) inside(place Place, from, to, target int) (at int, found bool) {
	if from < 0 || from >= to {
		return 0, false
	}
	keeps := func(at int) bool { return s.expect(at) <= target }
	if place == Character {
		to = min(to, s.ink())
		roughly := from + 1 + sort.Search(max(0, to-from-1), func(i int) bool { return keeps(from + 1 + i) })
		at = s.atBorder(clusterStart(s.text, from, roughly), to)
		return at, at < to
	}
	all := starts(s.text, from, to, place)
	i := sort.Search(len(all), func(i int) bool { return keeps(all[i]) })
	if i == len(all) {
		return 0, false
	}
	return all[i], true
}

// nearBorder is how far behind a place between two characters one is taken at which a token begins.
const nearBorder = 64

// atBorder is the first place between two characters, from one on, at which a token begins as far as is known: a token that
// is cut in two costs more than what is left of it is expected to. The place itself where there is none near, before an end.
func (s *search) atBorder(at, end int) int {
	i := s.seek(at)
	if i == 0 || s.probes[i-1].begins == nil {
		return at
	}
	for near := at; near < min(end, at+nearBorder); near += unit(s.text[near:]) {
		if s.probes[i-1].beginsToken(near) {
			return near
		}
	}
	return at
}

// shortest is the least that may be kept: the last character that is not blank, and what follows it.
func (s *search) shortest() (at int, place Place) {
	end := s.ink()
	from := s.lines[max(sort.SearchInts(s.lines, end)-1, 0)] // a line may begin among the blanks, where the tail does
	if sentences := starts(s.text, from, end, Sentence); len(sentences) > 0 {
		from = sentences[len(sentences)-1]
	}
	return lastCluster(s.text[:max(from, end)], from), Character
}

// ink is where the blanks at the end of the text begin. A text of blanks alone has as good a place anywhere.
func (s *search) ink() int {
	if ink := len(strings.TrimRightFunc(s.text, unicode.IsSpace)); ink > 0 {
		return ink
	}
	return len(s.text)
}
