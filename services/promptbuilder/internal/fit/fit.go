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
	// Pieces gives the bytes of each token of text, in order; they add up to len(text). It costs what Count costs.
	// ErrNoPieces, at no cost, where the counter cannot tell.
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

// Prompt is a prompt around a text that may lose its head.
type Prompt struct {
	// Before and After are always there; Open and Close only around a text that is not empty.
	Before, Open, Text, Close, After string
	// Lines are the byte offsets in Text at which a line begins that is not blank, ascending.
	Lines []int
	// KeepSome forbids to cut all of Text.
	KeepSome bool
}

// From is the prompt with the text cut at a byte offset.
func (p Prompt) From(offset int) string {
	if offset == len(p.Text) {
		return p.Before + p.After
	}
	return p.Before + p.Open + p.Text[offset:] + p.Close + p.After
}

// length is how many bytes From(offset) has.
func (p Prompt) length(offset int) int {
	n := len(p.Before) + len(p.After)
	if offset < len(p.Text) {
		n += len(p.Open) + len(p.Text) - offset + len(p.Close)
	}
	return n
}

// Place is what kind of place a cut lies at, from the best to the last resort.
type Place int

// The places.
const (
	// Whole: nothing was cut.
	Whole Place = iota
	// Line: before a line that is not blank, or after the last one.
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
		prompt := p.From(at)
		size, err := m.size(ctx, prompt)
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

func (m *meter) size(ctx context.Context, text string) (Size, error) {
	if !m.noPieces {
		pieces, err := m.counter.Pieces(ctx, text)
		if !errors.Is(err, ErrNoPieces) {
			m.counts++
			return checkPieces(text, pieces, err)
		}
		m.noPieces = true
	}
	m.counts++
	tokens, err := m.counter.Count(ctx, text)
	if err == nil && tokens <= 0 {
		err = &CountError{Tokens: tokens, Characters: utf8.RuneCountInString(text)}
	}
	return Size{Tokens: tokens}, err
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
	if len(pieces) == 0 || bytes != len(text) {
		return Size{}, &CountError{Tokens: len(pieces), Characters: utf8.RuneCountInString(text)}
	}
	return Size{Tokens: len(pieces), Pieces: pieces}, nil
}
