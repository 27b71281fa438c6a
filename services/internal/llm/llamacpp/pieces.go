package llamacpp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// piece is the bytes of one token: a string where they are valid UTF-8, else an array of numbers.
type piece string

// UnmarshalJSON reads both forms.
func (p *piece) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(p))
	}
	var numbers []int
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	bytes := make([]byte, len(numbers))
	for i, n := range numbers {
		if n < 0 || n > 255 {
			return fmt.Errorf("a piece has a byte %d", n)
		}
		bytes[i] = byte(n)
	}
	*p = piece(bytes)
	return nil
}

// TellsBorders implements llm.Bordered.
func (c *Client) TellsBorders() bool { return true }

// Pieces asks /tokenize with_pieces, unless texts are counted here. The error wraps llm.ErrNoPieces for servers that do not know that field, and where
// the pieces do not add up to the text, as with tokenizers that rewrite it.
func (c *Client) Pieces(ctx context.Context, text string) ([]int, error) {
	if t := c.config.Tokenizer; t != nil {
		if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
			return nil, err
		}
		return t.Lengths(text, tokenizer.Prompt), nil
	}
	var answer struct {
		Tokens []struct {
			ID    int    `json:"id"`
			Piece *piece `json:"piece"`
		} `json:"tokens"`
	}
	ask := tokenize{Content: text, Special: true, Parse: true, Pieces: true}
	var shape *json.UnmarshalTypeError
	switch err := c.tokenize(ctx, c.server.CountLimit(), ask, &answer); {
	case errors.As(err, &shape):
		return nil, c.server.Fault(llm.FaultProtocol, llm.ErrPiecesUntold, "this build of the server does not tell the pieces of a text")
	case err != nil:
		return nil, err
	}
	ids, pieces := make([]int, len(answer.Tokens)), make([]string, len(answer.Tokens))
	for i, t := range answer.Tokens {
		if t.Piece == nil {
			return nil, c.server.Fault(llm.FaultProtocol, llm.ErrPiecesUntold, "the server leaves out the piece of a token")
		}
		ids[i], pieces[i] = t.ID, string(*t.Piece)
	}
	if err := c.plausible(text, ids); err != nil {
		return nil, err
	}
	lengths, ok := align(text, pieces)
	if !ok {
		return nil, c.server.Fault(llm.FaultProtocol, llm.ErrPiecesUntold, "the pieces that the server tells do not add up to the text")
	}
	return lengths, nil
}

// align says how many bytes of text each piece stands for. Pieces may hold what is not in the text: one token in front
// (BOS) and one behind (EOS) that a model wants around every text, and single blanks that SentencePiece models add at
// the start and behind control tokens. ok is false where the borders are not certain.
func align(text string, pieces []string) (lengths []int, ok bool) {
	for _, around := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		front, back := around[0], around[1]
		if front+back > len(pieces) {
			continue
		}
		inner := pieces[front : len(pieces)-back]
		for _, blank := range []bool{false, true} {
			if found, ok := walk(text, inner, blank); ok {
				lengths = make([]int, len(pieces))
				copy(lengths[front:], found)
				return lengths, true
			}
		}
	}
	return nil, false
}

// walk lays pieces along text; blank says that the first piece begins with a blank of the tokenizer's own.
//
// Later own blanks show as a mismatch: a piece that begins with a blank where the text has none. Their place is certain
// unless the text has a blank just before, for then the blank of an earlier piece may have been the tokenizer's own.
func walk(text string, pieces []string, blank bool) (lengths []int, ok bool) {
	lengths = make([]int, len(pieces))
	rest := text
	for i, p := range pieces {
		own := blank && i == 0
		if !own && !strings.HasPrefix(rest, p) {
			done := text[:len(text)-len(rest)]
			own = done != "" && !strings.HasSuffix(done, " ")
			if !own {
				return nil, false
			}
		}
		if own {
			if p, ok = strings.CutPrefix(p, " "); !ok || !strings.HasPrefix(rest, p) {
				return nil, false
			}
		}
		lengths[i], rest = len(p), rest[len(p):]
	}
	return lengths, rest == ""
}
