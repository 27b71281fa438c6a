package koboldcpp

import (
	"context"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// countable is one more than the most tokens that the server counts: from there on it says 0.
const countable = 50_000

// An answer of tokencount is at most base + each × the bytes of the text: one token a byte, as `128000, `.
const (
	countBase = 64 << 10
	countEach = 16
)

// counted is an answer of tokencount.
type counted struct {
	Value int   `json:"value"`
	IDs   []int `json:"ids"`
}

// Count asks tokencount, which adds the BOS that generation adds and reads the names of control tokens as it does. A text
// of 50,000 tokens or more is counted in parts (see parts).
func (c *Client) Count(ctx context.Context, text string) (int, error) {
	if err := c.server.Sendable(text); err != nil {
		return 0, err
	}
	return c.count(ctx, text)
}

// Pieces gives llm.ErrNoPieces: the server does not tell them.
func (c *Client) Pieces(context.Context, string) ([]int, error) {
	return nil, c.server.Fault(llm.FaultProtocol, llm.ErrNoPieces, "a KoboldCpp server does not tell the pieces of a text")
}

// count gives the tokens of text, or for a text that is too large to be counted at once, a number that is not below them.
func (c *Client) count(ctx context.Context, text string) (int, error) {
	answer, err := c.tokencount(ctx, c.server.CountLimit(), text)
	switch {
	case err != nil:
		return 0, err
	case answer.Value < 0:
		return 0, c.server.Fault(llm.FaultCount, nil, "the server counts %d tokens", answer.Value)
	case answer.Value > 0 && answer.Value < countable, text == "":
		return answer.Value, nil
	case len(text) < countable-1: // a byte is never more than one token, and the BOS is one
		return 0, c.server.Fault(llm.FaultCount, nil, "the server counts %d tokens in a text of %d bytes", answer.Value, len(text))
	}
	return c.parts(ctx, text)
}

// parts counts a text in two halves that meet at a line end. Their sum is not below the tokens of the whole: at a line end
// two counts are off by one token at most (field/wannabe.md 4), and one is added for each border, besides the BOS that
// each part brings along.
func (c *Client) parts(ctx context.Context, text string) (int, error) {
	border := lineEnd(text)
	if border == 0 {
		return 0, c.server.Fault(llm.FaultCount, nil,
			"a line of %d bytes cannot be counted: the server counts less than %d tokens at once, and a text is divided at line ends alone", len(text), countable)
	}
	front, err := c.count(ctx, text[:border])
	if err != nil {
		return 0, err
	}
	back, err := c.count(ctx, text[border:])
	if err != nil {
		return 0, err
	}
	return front + back + 1, nil
}

// lineEnd gives where the line begins that is nearest to the middle of a text and not blank at its very start, where
// counts would not add up; 0 where there is none.
func lineEnd(text string) int {
	middle, best := len(text)/2, 0
	for from := 0; from < len(text); {
		i := strings.IndexByte(text[from:], '\n')
		if i < 0 {
			break
		}
		from += i + 1
		if from == len(text) || text[from] == '\n' || text[from] == '\r' {
			continue
		}
		if best == 0 || max(from-middle, middle-from) < max(best-middle, middle-best) {
			best = from
		}
	}
	return best
}

// tokencount asks for the tokens of a text.
func (c *Client) tokencount(ctx context.Context, l wire.Limit, text string) (counted, error) {
	var answer counted
	ask := struct {
		Prompt string `json:"prompt"`
	}{text}
	err := c.server.Count(ctx, l, "/api/extra/tokencount", text, ask, &answer, countBase+countEach*int64(len(text)))
	return answer, err
}
