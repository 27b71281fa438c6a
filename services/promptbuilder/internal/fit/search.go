package fit

import (
	"fmt"
	"slices"
	"sort"
)

// search knows what was counted and says what to count next.
type search struct {
	prompt Prompt
	text   string
	Options
	// least is how many tokens a cut must use before a finer one is looked for, room how many with slack it must.
	least, room int
	// lines are the cuts at lines, from the longest prompt to the shortest; the first is none.
	lines []int
	// places are where in the document the lines stand.
	places []int
	// estimate is what lines are expected to cost before anything is counted.
	estimate *estimate
	// slope is how much of what it is expected to cost the text costs that was not counted, in percent.
	slope int
	// probes are what was counted, by their offsets.
	probes []*probe
	// over is the shortest prompt known to be over the limit, fits the one to return as things stand.
	over, fits *probe
	// excluded is the shortest prompt that is over the limit for sure, without a count.
	excluded *probe
	// misses is how many prompts were over the limit.
	misses int
	// recalled: the first prompt that was counted is cut where the same prompt was cut before.
	recalled bool
	// done: a counter that contradicts itself is asked no further.
	done bool
}

// How much less a line may cost than it is expected to, in percent of that: one that was never counted, and one that was.
const (
	doubt      = 20
	knownDoubt = 4
)

func newSearch(p Prompt, o Options) *search {
	o.Finest = max(o.Finest, Line)
	s := &search{
		prompt: p, text: p.Text(), Options: o, least: (o.Limit*leastPercent + 99) / 100, room: o.Limit * (100 - o.Slack) / 100,
		lines: []int{0}, places: []int{0}, slope: 100,
	}
	s.estimate = newEstimate(p, s.remembered())
	for i, at := range p.Lines {
		if at > 0 {
			s.lines = append(s.lines, at)
			if len(p.Places) > 0 {
				s.places = append(s.places, p.Places[i])
			}
		}
	}
	return s
}

// remembered is the memory for what may depend on it. Where the counter tells token borders, which line or sentence a cut
// lies at does not depend on what is counted on the way, and which character may: there nothing is remembered, so that the
// same request gets the same cut.
func (s *search) remembered() Memory {
	if s.Finest == Character && (len(s.probes) == 0 || s.probes[0].begins != nil) {
		return nil
	}
	return s.Memory
}

// note takes in what was counted.
func (s *search) note(p *probe) {
	s.probes = slices.Insert(s.probes, s.seek(p.at), p)
	if len(s.probes) == 1 && s.Finest == Character && p.begins == nil {
		s.estimate = newEstimate(s.prompt, s.Memory)
	}
	if p.size.Tokens <= s.Limit {
		s.fits = p
		return
	}
	s.misses++
	s.done = s.fits != nil && p.at > s.fits.at && s.Slack == 0
	if s.over == nil || p.at > s.over.at {
		s.over = p
	}
}

// exclude takes in a prompt that is over the limit for sure.
func (s *search) exclude(p *probe) {
	if s.excluded == nil || p.at > s.excluded.at {
		s.excluded = p
		return
	}
	s.done = true
}

// best is the prompt to return.
func (s *search) best() *probe {
	switch {
	case s.fits != nil:
		return s.fits
	case s.over != nil:
		return s.over
	}
	return s.excluded
}

// seek is which of the probes is the first at or behind an offset.
func (s *search) seek(at int) int {
	return sort.Search(len(s.probes), func(i int) bool { return s.probes[i].at >= at })
}

// next is the cut to count next, when that many counts are left; ok is false when there is nothing more to learn.
func (s *search) next(left int) (at int, place Place, ok bool) {
	if s.settled(left) {
		return 0, Whole, false
	}
	if len(s.probes) == 0 {
		if at, place, ok := s.recall(); ok {
			s.recalled = true
			return at, place, true
		}
	}
	at, place, ok = s.choose()
	if s.fits == nil {
		if !ok || left == 1 {
			at, place = s.shortest()
		}
		return at, place, s.tooEarly() < at
	}
	if i := s.seek(at); ok && i < len(s.probes) && s.probes[i].at == at {
		if s.probes[i].size.Tokens <= s.Limit {
			s.fits = s.probes[i]
		}
		ok = false
	}
	switch {
	case !ok:
		return s.doubtful()
	case at < s.fits.at || (s.Slack > 0 || s.Anchor > 0) && place <= Sentence:
		return at, place, true
	}
	return at, place, place < s.fits.place && s.fits.place > s.Finest && s.expect(at) >= s.least
}

// settled says that the answer is known, or known well enough for what was asked already.
func (s *search) settled(left int) bool {
	if s.done || s.fits == nil {
		return s.done
	}
	counts, use := MaxCounts-left, s.fits.size.Tokens*100
	switch {
	case s.fits.at == 0, s.recalled && len(s.probes) == 1:
		return true
	case s.fits.begins == nil && s.knows():
		return counts >= enoughKnownCounts && use >= s.Limit*(leastKnownPercent-s.Slack)
	}
	return counts >= enoughCounts && s.fits.size.Tokens >= s.least
}

// before is the line before the cut to return.
func (s *search) before() int { return s.lines[max(sort.SearchInts(s.lines, s.fits.at)-1, 0)] }

// knows says that memory knew the line before the cut to return.
func (s *search) knows() bool { return s.estimate.known(s.before()) }

// doubtful is an earlier cut that may fit although it is not expected to; ok is false where there is none.
func (s *search) doubtful() (at int, place Place, ok bool) {
	switch {
	case s.over != nil && s.over.begins != nil:
		return 0, Whole, false
	case s.over == nil && s.fits.begins != nil && !s.knows():
		at, place = s.farther()
		return at, place, at < s.fits.at
	case s.knows():
		s.slope = 100 - knownDoubt
	default:
		s.slope = 100 - doubt
	}
	at, place, ok = s.choose()
	s.slope = 100
	if i := s.seek(at); i < len(s.probes) && s.probes[i].at == at {
		ok = false
	}
	return at, place, ok && at < s.fits.at
}

// farther is a place that is expected to be a little over the limit, when none over the limit was counted: a line, or, in a
// line that is far over it, any place.
func (s *search) farther() (at int, place Place) {
	little := s.Limit + s.Limit/100
	i := sort.Search(len(s.lines), func(i int) bool { return s.expect(s.lines[i]) <= little })
	line := min(s.before(), s.lines[max(i-1, 0)])
	if s.expect(line) <= 2*s.Limit {
		return line, Line
	}
	at, _ = s.inside(Character, line, s.fits.at, little)
	return at, Character
}

// target is how large the next prompt should be.
func (s *search) target() int {
	step := func(doubled int) int { return (s.Limit/100 + 1) << (2 * doubled) }
	switch {
	case len(s.probes) == 0:
		return s.Limit - s.caution()
	case s.over == nil && s.fits.begins != nil && !s.knows():
		// The counter tells borders: once a prompt over the limit was counted, all shorter ones are known.
		return s.Limit + step(0)
	case s.over == nil || s.fits != nil:
		return s.Limit
	case s.over.begins == nil: // Guessed: step back farther each time.
		return s.Limit - step(s.misses-1)/2
	case s.misses > 1: // Token borders were known and yet the prompt was over: the same.
		return s.Limit - step(s.misses-2)
	}
	return s.Limit
}

// expect is how large the prompt is expected to be with the text cut at an offset.
func (s *search) expect(at int) int {
	cost := s.estimate.from(at)
	i := s.seek(at)
	var longer, shorter *probe
	if i < len(s.probes) {
		shorter = s.probes[i]
	}
	if i > 0 {
		longer = s.probes[i-1]
	}
	switch {
	case shorter != nil && shorter.at == at:
		return shorter.size.Tokens
	case longer != nil && longer.begins != nil:
		return longer.expect(at)
	case longer != nil && shorter != nil:
		least := shorter.size.Tokens
		from, to := s.estimate.from(longer.at), s.estimate.from(shorter.at)
		return least + scale(max(0, longer.size.Tokens-least), cost-to, from-to)*s.slope/100
	case longer != nil:
		return scale(longer.size.Tokens, cost, s.estimate.from(longer.at))
	case shorter != nil:
		counted := s.estimate.from(shorter.at)
		return shorter.size.Tokens + scale(shorter.size.Tokens, cost-counted, counted)*s.slope/100
	}
	return (cost + token - 1) / token
}

// The cut of a prompt is remembered under the prompt and all that decides, so that the same request gets the same cut
// where memory has learnt since.
func (s *search) name() string {
	return fmt.Sprint("\x00", s.Limit, s.Slack, s.Finest, s.Anchor, "\x00", s.prompt.From(0))
}

func (s *search) remember(r Result) {
	if s.Memory != nil && !r.Over {
		s.Memory.Learn(s.name(), r.Offset*places+int(r.Place))
	}
}

// recall is the cut of the same prompt, if one is remembered.
func (s *search) recall() (at int, place Place, ok bool) {
	if s.remembered() == nil {
		return 0, Whole, false
	}
	cut, ok := s.Memory.Cost(s.name())
	return cut / places, Place(cut % places), ok
}
