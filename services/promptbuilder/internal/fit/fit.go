// Package fit makes a prompt fit a window by cutting the head of the text in it.
//
// Only a prompt that was itself counted is returned, so the limit holds whatever the tokenizer does; sizes that are
// merely expected choose what to count next and nothing else (field/wannabe.md 5). At most MaxCounts counts.
//
// The cut lies at the first place at which the prompt fits: the start of a line that is not blank. Where that leaves
// more than 2 % of the limit unused, it lies at a sentence start inside the line before, and where that does too, at a
// clause start. Where a clause is so long that more than 10 % would be unused, it lies between two characters as a
// reader sees them. Where the counter gives no token borders, the first count that uses 98 % settles it.
package fit

import (
	"context"
	"slices"
	"sort"
)

// MaxCounts is the most counts that one prompt costs.
const MaxCounts = 8

// After how many counts a prompt will do that uses most of the limit: in general, and where the counter tells no borders
// and memory knows the lines.
const (
	enoughCounts      = 5
	enoughKnownCounts = 2
)

// leastPercent is how much of the limit a cut must use before a finer one is looked for, leastBrokenPercent how much before
// one inside a clause is, and leastKnownPercent how much after enoughKnownCounts.
const (
	leastPercent       = 98
	leastBrokenPercent = 90
	leastKnownPercent  = 97
)

// A prompt is over the limit for sure, and not sent to be counted, where it is larger than a novel and has more bytes than so
// many to a token: more than tokens have on average in any script; a run of blanks has the longest.
const (
	longestToken = 64
	novelBytes   = 256 << 10
)

// Place is what kind of place a cut lies at, from the best to the last resort.
type Place int

// The places.
const (
	// Whole: nothing was cut.
	Whole Place = iota
	// Line: before a line.
	Line
	// Sentence: inside a line, after 。 and the like.
	Sentence
	// Clause: inside a sentence, after 、 and the like.
	Clause
	// Character: anywhere between two grapheme clusters.
	Character
	// places is how many there are.
	places = iota
)

// Size is how large a text was counted.
type Size struct {
	Tokens int
	// Pieces are the bytes of each token; nil where the counter does not tell.
	Pieces []int
}

// Begins are the bytes of a text at which its tokens begin, ascending.
type Begins []int

// Begins is where the tokens begin; nil where the counter does not tell.
func (s Size) Begins() Begins {
	if s.Pieces == nil {
		return nil
	}
	all := make(Begins, len(s.Pieces))
	begin := 0
	for i, bytes := range s.Pieces {
		all[i] = begin
		begin += bytes
	}
	return all
}

// Between is how many tokens begin from one byte on and before another.
func (b Begins) Between(from, to int) int { return sort.SearchInts(b, to) - sort.SearchInts(b, from) }

// Result is a prompt as it was counted last.
type Result struct {
	Prompt string
	// Offset is where Text was cut, in bytes, and Place what kind of place that is.
	Offset int
	Place  Place
	Size   Size
	// Counts is how often the counter was asked.
	Counts int
	// Over says that the prompt is over the limit: after Cut, that it is so with the least that may be kept.
	Over bool
}

// Measure counts a prompt whose text is cut at an offset, and cuts no further.
func Measure(ctx context.Context, c Counter, p Prompt, limit, offset int) (Result, error) {
	m := meter{counter: c}
	prompt := p.From(offset)
	size, err := m.size(ctx, prompt)
	if err != nil {
		return Result{}, err
	}
	r := Result{Prompt: prompt, Offset: offset, Place: Character, Size: size, Counts: m.counts, Over: size.Tokens > limit}
	switch _, isLine := slices.BinarySearch(p.Lines, offset); {
	case offset == 0:
		r.Place = Whole
	case isLine:
		r.Place = Line
	}
	return r, nil
}

// Options of Cut.
type Options struct {
	// Limit is the most tokens of the prompt.
	Limit int
	// Finest is how fine the places are that a cut may always lie at: Line, Sentence or Character; none is Line.
	Finest Place
	// Slack is how much of the limit may be left unused, in percent, for a cut that stays where it is while the text grows.
	Slack int
	// Anchor is the offset of a line at which the cut is to stay while the prompt fits there and uses half of the limit;
	// 0 for none.
	Anchor int
	// Memory makes the first guess good; nil where nothing is remembered.
	Memory Memory
	// Used are counts that were spent before, of MaxCounts; the result has them too.
	Used int
}

// Cut cuts as little of the text as makes the prompt fit. Errors are *FailedError.
func Cut(ctx context.Context, c Counter, p Prompt, o Options) (Result, error) {
	m := meter{counter: c, counts: o.Used}
	s := newSearch(p, o)
	for m.counts < MaxCounts {
		at, place, ok := s.next(MaxCounts - m.counts)
		if !ok {
			break
		}
		prompt := p.From(at)
		if least := len(prompt) / longestToken; least > o.Limit && len(prompt) > novelBytes {
			s.exclude(newProbe(p, at, place, Size{Tokens: least})) // nobody is sent a novel to count
			continue
		}
		size, err := m.size(ctx, prompt)
		if err != nil {
			return Result{}, err
		}
		s.note(newProbe(p, at, place, size))
	}
	best := s.best()
	r := Result{Prompt: p.From(best.at), Offset: best.at, Place: best.place, Size: best.size, Counts: m.counts, Over: s.fits == nil}
	if r.Offset == 0 {
		r.Place = Whole
	}
	learn(o.Memory, p, s.probes)
	s.remember(r)
	return r, nil
}
