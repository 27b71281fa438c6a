package fit_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// counter is a tokenizer by rule that keeps what it was asked.
type counter struct {
	// pieces cuts a text; nil counts with size alone.
	pieces func(string) []int
	size   func(string) int
	asked  []string
	// refused is how often it was asked for pieces in vain.
	refused int
}

func (c *counter) Count(_ context.Context, text string) (int, error) {
	c.asked = append(c.asked, text)
	if c.size == nil { // the last of many counts is a plain one
		return len(c.pieces(text)), nil
	}
	return c.size(text), nil
}

func (c *counter) Pieces(_ context.Context, text string) ([]int, error) {
	if c.pieces == nil {
		return nil, fit.ErrNoPieces
	}
	pieces := c.pieces(text)
	if pieces == nil && c.size != nil {
		c.refused++
		return nil, fmt.Errorf("of this text: %w", fit.ErrPiecesUntold)
	}
	c.asked = append(c.asked, text)
	return pieces, nil
}

// byPieces knows token borders, bySize counts the same and does not.
func byPieces(pieces func(string) []int) *counter { return &counter{pieces: pieces} }

func bySize(pieces func(string) []int) *counter {
	return &counter{size: func(text string) int { return len(pieces(text)) }}
}

// runes is F1: a BOS, then one token for each code point.
func runes(text string) []int {
	all := []int{0}
	for len(text) > 0 {
		_, n := utf8.DecodeRuneInString(text)
		all, text = append(all, n), text[n:]
	}
	return all
}

// dense is a tokenizer that is coarse where a text is western and fine where it is not: up to four western letters to a
// token, one to three tokens to any other character.
func dense(text string) []int {
	all := []int{0}
	for len(text) > 0 {
		n := 0
		for n < 4 && n < len(text) && text[n] < utf8.RuneSelf && text[n] != '\n' {
			n++
		}
		if n > 0 {
			all, text = append(all, n), text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		for range int(r) % min(3, size) {
			all, text, size = append(all, 1), text[1:], size-1
		}
		all, text = append(all, size), text[size:]
	}
	return all
}

// noisy adds 0 to 8 empty tokens at the front, by a hash of the text: neither additive nor monotone.
func noisy(text string) []int {
	return append(make([]int, hash(text)%9), dense(text)...)
}

// moody tells token borders of some texts only, and never tells the truth.
func moody() *counter {
	return &counter{size: liar, pieces: func(text string) []int {
		if hash(text)%4 == 0 {
			return nil
		}
		return append(make([]int, liar(text)), len(text))
	}}
}

// liar says anything from 1 to twice the truth.
func liar(text string) int { return 1 + int(hash(text))%(2*len(text)+1) }

func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// failing cannot count.
type failing struct{ err error }

func (f failing) Count(context.Context, string) (int, error)    { return 0, f.err }
func (f failing) Pieces(context.Context, string) ([]int, error) { return nil, f.err }

// memory forgets nothing.
type memory map[string]int

func (m memory) Cost(line string) (cost int, known bool) {
	cost, known = m[line]
	return cost, known
}

func (m memory) Learn(line string, cost int) { m[line] = cost }
