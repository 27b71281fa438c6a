// Package tokens counts texts: by estimates that need no model, and by whatever else counts. Pure.
package tokens

import (
	"context"
	"unicode/utf8"
)

// Counter says how large a text is. Safe for concurrent use.
type Counter interface {
	// Count gives the tokens of a text.
	Count(ctx context.Context, text string) (int, error)
	// Name is what a report calls the counter.
	Name() string
	// Exact says that a tokenizer counts.
	Exact() bool
	// Spent is how many texts a tokenizer was given so far, and their characters (code points). What it counted before is remembered.
	Spent() (counts, characters int)
}

// The names of the estimates.
const (
	NameEst1   = "est-1"
	NameChars4 = "chars4"
)

// Estimate gives the estimate of a name; ok is false where there is none. The empty name is est-1.
func Estimate(name string) (c Counter, ok bool) {
	switch name {
	case "", NameEst1:
		return estimate{NameEst1, est1}, true
	case NameChars4:
		return estimate{NameChars4, chars4}, true
	}
	return nil, false
}

type estimate struct {
	name  string
	count func(string) int
}

func (e estimate) Name() string { return e.name }

func (estimate) Exact() bool { return false }

func (estimate) Spent() (counts, characters int) { return 0, 0 }

// Count fails with the error of ctx alone: who counts many large texts must not go on when nobody waits any more.
func (e estimate) Count(ctx context.Context, text string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return e.count(text), nil
}

// est1 is a quarter of the ASCII characters, rounded up, and one for each other (field/systemprompt-rules.md 0).
func est1(text string) int {
	other := 0
	ascii := 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// chars4 is a quarter of the characters, rounded up (seed 001, 11.1).
func chars4(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
