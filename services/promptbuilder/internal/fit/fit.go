// Package fit makes a prompt fit a window by cutting the head of the text in it.
//
// Only a prompt that was itself counted is returned, so the limit holds whatever the tokenizer does; sizes that are
// merely expected choose what to count next and nothing else (field/wannabe.md 5). At most MaxCounts counts.
//
// The cut lies at the first place at which the prompt fits: the start of a line that is not blank. Where that leaves
// more than 2 % of the limit unused, it lies at a sentence start inside the line before, and where that does too, at a
// clause start. Inside a clause it lies only when otherwise nothing of the text would be kept, and then between two
// characters as a reader sees them. Where the counter gives no token borders, the first count that uses 98 % settles it.
package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// MaxCounts is the most counts that one prompt costs.
const MaxCounts = 8

// leastPercent is how much of the limit a cut must use before a finer one is looked for.
const leastPercent = 98

// ErrNoPieces says that a counter cannot tell where tokens begin.
var ErrNoPieces = errors.New("the counter does not tell token borders")

// Counter says how large a text is, as the model server would read it.
type Counter interface {
	// Count gives the tokens of text.
	Count(ctx context.Context, text string) (int, error)
	// Pieces gives the bytes of each token of text, in order; they add up to len(text). It costs what Count costs, also
	// where the error wraps ErrNoPieces: then the counter cannot tell, and Count still works.
	Pieces(ctx context.Context, text string) ([]int, error)
}

// CountError is a count that cannot be right. It never passes for "fits" (field/wannabe.md 1.1 D7).
type CountError struct {
	// Tokens is what the counter said, Characters the size of the text in code points.
	Tokens, Characters int
}

// Error says what was counted.
func (e *CountError) Error() string {
	return fmt.Sprintf("the model server counted %d tokens for a text of %d characters, which cannot be right", e.Tokens, e.Characters)
}

// Part is a stretch of a prompt.
type Part struct {
	// Open and Close stand around Text, and go with it when all of it is cut.
	Open, Text, Close string
	// Fixed parts are always there, whole.
	Fixed bool
}

// Prompt is a prompt in its parts. The texts of those that are not fixed, one after the other, are the text that may
// lose its head; offsets are bytes in it. Something that is not blank is always kept of it.
type Prompt struct {
	Parts []Part
	// Lines are the offsets at which a line begins that is not blank, ascending.
	Lines []int
}

// Text is what may lose its head.
func (p Prompt) Text() string {
	var text strings.Builder
	for _, part := range p.Parts {
		if !part.Fixed {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

// From is the prompt with the text cut at an offset.
func (p Prompt) From(offset int) string {
	var prompt strings.Builder
	for _, part := range p.Parts {
		n := part.skip(&offset)
		if n == len(part.Text) && !part.Fixed {
			continue
		}
		prompt.WriteString(part.Open)
		prompt.WriteString(part.Text[n:])
		prompt.WriteString(part.Close)
	}
	return prompt.String()
}

// length is how many bytes From(offset) has.
func (p Prompt) length(offset int) int {
	length := 0
	for _, part := range p.Parts {
		n := part.skip(&offset)
		if n < len(part.Text) || part.Fixed {
			length += len(part.Open) + len(part.Text) - n + len(part.Close)
		}
	}
	return length
}

// skip takes from an offset what falls into this part, and gives it.
func (p Part) skip(offset *int) int {
	if p.Fixed {
		return 0
	}
	n := min(*offset, len(p.Text))
	*offset -= n
	return n
}

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
)

// Size is how large a text was counted.
type Size struct {
	Tokens int
	// Pieces are the bytes of each token; nil where the counter does not tell.
	Pieces []int
}

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

// Measure counts a prompt and cuts nothing.
func Measure(ctx context.Context, c Counter, p Prompt, limit int) (Result, error) {
	m := meter{counter: c}
	size, err := m.size(ctx, p.From(0))
	if err != nil {
		return Result{}, err
	}
	return Result{Prompt: p.From(0), Size: size, Counts: m.counts, Over: size.Tokens > limit}, nil
}

// Cut cuts as little of the text as makes the prompt fit limit tokens. Errors are those of the counter and *CountError.
func Cut(ctx context.Context, c Counter, p Prompt, limit int) (Result, error) {
	m := meter{counter: c}
	s := newSearch(p, limit)
	for m.counts < MaxCounts {
		at, place, ok := s.next(MaxCounts - m.counts)
		if !ok {
			break
		}
		size, err := m.size(ctx, p.From(at))
		if err != nil {
			return Result{}, err
		}
		s.note(newProbe(p, at, place, size))
	}
	best := s.fits
	if best == nil {
		best = s.over
	}
	r := Result{Prompt: p.From(best.at), Offset: best.at, Place: best.place, Size: best.size, Counts: m.counts, Over: s.fits == nil}
	if r.Offset == 0 {
		r.Place = Whole
	}
	return r, nil
}

// meter counts, checks the counts, and counts how often it does.
type meter struct {
	counter  Counter
	counts   int
	noPieces bool
}

// size counts a text, with its token borders where the counter tells them. Never more than MaxCounts are spent: the last
// one is for a plain count, which needs no second try.
func (m *meter) size(ctx context.Context, text string) (Size, error) {
	if !m.noPieces && m.counts < MaxCounts-1 {
		m.counts++
		pieces, err := m.counter.Pieces(ctx, text)
		if !errors.Is(err, ErrNoPieces) {
			return checkPieces(text, pieces, err)
		}
		m.noPieces = true
	}
	m.counts++
	tokens, err := m.counter.Count(ctx, text)
	if err != nil {
		return Size{}, err
	}
	return Size{Tokens: tokens}, CheckCount(text, tokens)
}

// CheckCount refuses a count that cannot be right: none for a text that is not blank, negative, or beyond reason.
func CheckCount(text string, tokens int) error {
	if tokens < 0 || tokens > math.MaxInt32 || tokens == 0 && strings.TrimSpace(text) != "" {
		return &CountError{Tokens: tokens, Characters: utf8.RuneCountInString(text)}
	}
	return nil
}

func checkPieces(text string, pieces []int, err error) (Size, error) {
	if err != nil {
		return Size{}, err
	}
	bytes := 0
	for _, n := range pieces {
		if n < 0 {
			bytes = -1
			break
		}
		bytes += n
	}
	if bytes != len(text) {
		return Size{}, &CountError{Tokens: len(pieces), Characters: utf8.RuneCountInString(text)}
	}
	return Size{Tokens: len(pieces), Pieces: pieces}, CheckCount(text, len(pieces))
}
