package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// ErrNoPieces says that a counter cannot tell where tokens begin, and that it cost nothing to learn that.
var ErrNoPieces = errors.New("the counter does not tell token borders")

// ErrPiecesUntold is an ErrNoPieces that cost what a count costs.
var ErrPiecesUntold = fmt.Errorf("asked in vain: %w", ErrNoPieces)

// Counter says how large a text is, as the model server would read it.
type Counter interface {
	// Count gives the tokens of text.
	Count(ctx context.Context, text string) (int, error)
	// Pieces gives the bytes of each token of text, in order; they add up to len(text). It costs what Count costs. Where the
	// error wraps ErrNoPieces the counter cannot tell, and Count still works.
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

// FailedError is a count that the counter did not make, or that cannot be right.
type FailedError struct {
	// Count is which of the counts of this prompt, from 1; Characters is the size in code points of what was to be counted.
	Count, Characters int
	// Err is the counter's own, or a *CountError.
	Err error
}

// Error says which count failed, and why.
func (e *FailedError) Error() string {
	return fmt.Sprintf("count %d of this prompt, of %d characters: %v", e.Count, e.Characters, e.Err)
}

// Unwrap gives the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// meter counts, checks the counts, and counts how often it does.
type meter struct {
	counter  Counter
	counts   int
	noPieces bool
}

// size counts a text, with its token borders where the counter tells them. Never more than MaxCounts are spent: the last
// one is for a plain count, which needs no second try.
func (m *meter) size(ctx context.Context, text string) (Size, error) {
	size, err := m.ask(ctx, text)
	if err != nil {
		err = &FailedError{Count: m.counts, Characters: utf8.RuneCountInString(text), Err: err}
	}
	return size, err
}

func (m *meter) ask(ctx context.Context, text string) (Size, error) {
	if !m.noPieces && m.counts < MaxCounts-1 {
		pieces, err := m.counter.Pieces(ctx, text)
		m.noPieces = errors.Is(err, ErrNoPieces)
		if !m.noPieces || errors.Is(err, ErrPiecesUntold) {
			m.counts++
		}
		if !m.noPieces {
			return checkPieces(text, pieces, err)
		}
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
