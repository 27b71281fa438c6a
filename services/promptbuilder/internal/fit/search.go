package fit

import (
	"sort"
	"strings"
	"unicode"
)

// search knows what was counted and says what to count next.
type search struct {
	prompt Prompt
	text   string
	limit  int
	// finest is how fine places are always looked at; finer ones only where the coarser are wasteful.
	finest Place
	// least is how many tokens a cut must use before a finer one is looked for.
	least int
	// lines are the cuts at lines, from the longest prompt to the shortest; the first is none.
	lines []int
	// over is the shortest prompt known to be over the limit, fits the one to return as things stand.
	over, fits *probe
	// misses and hits are how many prompts were over the limit and within it.
	misses, hits int
	// done: a counter that contradicts itself is asked no further.
	done bool
}

func newSearch(p Prompt, limit int, finest Place) *search {
	s := &search{prompt: p, text: p.Text(), limit: limit, finest: max(finest, Line), least: (limit*leastPercent + 99) / 100, lines: []int{0}}
	for _, at := range p.Lines {
		if at > 0 {
			s.lines = append(s.lines, at)
		}
	}
	return s
}

// note takes in what was counted.
func (s *search) note(p *probe) {
	if p.size.Tokens <= s.limit {
		s.hits++
		if s.fits == nil || p.at < s.fits.at || p.size.Tokens >= s.least {
			s.fits = p
		}
		return
	}
	s.misses++
	s.done = s.fits != nil && p.at > s.fits.at
	if !s.done {
		s.over = p
	}
}

// next is the cut to count next, when that many counts are left; ok is false when there is nothing more to learn.
func (s *search) next(left int) (at int, place Place, ok bool) {
	if s.settled() {
		return 0, Whole, false
	}
	at, place, ok = s.choose()
	switch {
	case s.fits == nil && (!ok || left == 1):
		at, place = s.shortest()
		return at, place, s.over == nil || s.over.at < at
	case s.fits == nil:
		return at, place, true
	case s.over == nil && (!ok || at >= s.fits.at):
		return s.lines[sort.SearchInts(s.lines, s.fits.at)-1], Line, true
	}
	coarser := at > s.fits.at && place < s.fits.place && s.fits.place > s.finest && s.expect(at) >= s.least
	return at, place, ok && (at < s.fits.at || coarser)
}

// settled says that the answer is known: all of the text fits, or, where the counter gives no token borders, enough
// of the limit is used.
func (s *search) settled() bool {
	if s.done || s.fits == nil {
		return s.done
	}
	return s.fits.at == 0 || s.over != nil && s.over.begins == nil && s.fits.size.Tokens >= s.least
}

// target is how large the next prompt should be.
func (s *search) target() int {
	step := func(percent, doubled int) int { return (s.limit*percent/100 + 1) << (2 * doubled) }
	switch {
	case s.over == nil && s.fits == nil:
		return s.limit
	case s.over == nil: // All that was counted fits: look over the limit, farther each time.
		return s.limit + step(5, s.hits-1)
	case s.over.begins == nil && s.fits == nil: // Guessed by size: step back farther each time.
		return s.limit - step(1, s.misses-1)
	case s.over.begins != nil && s.misses > 1: // Token borders were known and yet the prompt was over: the same.
		return s.limit - step(1, s.misses-2)
	}
	return s.limit
}

// choose is the longest prompt that is expected to keep to the target, at the coarsest place that is not wasteful.
func (s *search) choose() (at int, place Place, ok bool) {
	target, from := s.target(), s.tooEarly()
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > from && s.expect(s.lines[i]) <= target })
	if i > 0 {
		from = max(from, s.lines[i-1])
	}
	at, place = len(s.text), Line
	if ok = i < len(s.lines); ok {
		at = s.lines[i]
	}
	for finer := Sentence; finer <= Character; finer++ {
		if ok && finer > s.finest && (s.enough(at) || finer == Character) {
			break
		}
		if start, found := s.inside(finer, from, at, target); found {
			at, place, ok = start, finer, true
		}
	}
	return at, place, ok
}

// enough says that a finer place need not be looked for: the limit is used, or, while all that was counted fits, the
// cut is an earlier one.
func (s *search) enough(at int) bool {
	return s.expect(at) >= s.least && (s.over != nil || s.fits == nil || at < s.fits.at)
}

// tooEarly is the last offset that is known to be over the limit.
func (s *search) tooEarly() int {
	if s.over == nil {
		return -1
	}
	return s.over.at
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
		at = clusterStart(s.text, from, roughly)
		return at, at < to
	}
	all := starts(s.text, from, to, place)
	i := sort.Search(len(all), func(i int) bool { return keeps(all[i]) })
	if i == len(all) {
		return 0, false
	}
	return all[i], true
}

// shortest is the least that may be kept: the last character that is not blank, and what follows it.
func (s *search) shortest() (at int, place Place) {
	from, end := s.lines[len(s.lines)-1], s.ink()
	if sentences := starts(s.text, from, end, Sentence); len(sentences) > 0 {
		from = sentences[len(sentences)-1]
	}
	return lastCluster(s.text[:max(from, end)], from), Character
}

// ink is where the blanks at the end of the text begin.
func (s *search) ink() int { return len(strings.TrimRightFunc(s.text, unicode.IsSpace)) }

// expect is how large the prompt is expected to be with the text cut at an offset. It never grows with the offset.
func (s *search) expect(at int) int {
	switch {
	case s.fits != nil && at >= s.fits.at:
		return s.fits.expect(at)
	case s.over != nil && s.over.begins != nil:
		return s.over.expect(at)
	case s.over != nil && s.fits != nil:
		long, short := s.over, s.fits
		return long.size.Tokens - share(long.size.Tokens-short.size.Tokens, at-long.at, short.at-long.at)
	case s.over != nil:
		return s.over.expect(at)
	case s.fits != nil:
		return s.fits.size.Tokens + share(s.fits.size.Tokens, s.fits.at-at, s.prompt.length(s.fits.at))
	}
	// Nothing is known yet: 4.5 bytes a token, which for big vocabularies is near the truth in Japanese as in English.
	return s.prompt.length(at) * 2 / 9
}

// share is the part of tokens that falls to some of all bytes. In whole numbers, so that all machines agree.
func share(tokens, bytes, all int) int { return tokens * bytes / max(all, 1) }
