package llamacpp

import (
	"cmp"
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// An answer of /tokenize is at most base + each × the bytes of the text: one token a byte, as `{"id":262143,"piece":[229]},`
// or with a piece of one escaped byte, and room for control tokens whose piece is not in the text.
const (
	tokensBase = 64 << 10
	tokensEach = 64
)

// tokenize asks for the tokens of a text as /completion would read it: with BOS where the model wants one, and with the
// names of control tokens read as control tokens.
type tokenize struct {
	Content string `json:"content"`
	Special bool   `json:"add_special"`
	Parse   bool   `json:"parse_special"`
	Pieces  bool   `json:"with_pieces"`
}

// CountsHere says that the backends file names the model's vocabulary. Window makes sure that it is this server's.
func (c *Client) CountsHere() bool { return c.config.Tokenizer != nil }

// Count asks /tokenize, unless texts are counted here.
func (c *Client) Count(ctx context.Context, text string) (int, error) {
	if t := c.config.Tokenizer; t != nil {
		if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
			return 0, err
		}
		return t.Count(text, tokenizer.Prompt), nil
	}
	ids, err := c.tokens(ctx, c.server.CountLimit(), text)
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

// tokens gives the token ids of a text.
func (c *Client) tokens(ctx context.Context, l wire.Limit, text string) ([]int, error) {
	var answer struct {
		Tokens []int `json:"tokens"`
	}
	ask := tokenize{Content: text, Special: true, Parse: true}
	if err := c.tokenize(ctx, l, ask, &answer); err != nil {
		return nil, err
	}
	return answer.Tokens, c.plausible(text, answer.Tokens)
}

// tokenize asks /tokenize.
func (c *Client) tokenize(ctx context.Context, l wire.Limit, ask tokenize, answer any) error {
	if err := c.server.Sendable(ask.Content); err != nil {
		return err
	}
	return c.server.Count(ctx, l, "/tokenize", ask.Content, ask, answer, tokensBase+tokensEach*int64(len(ask.Content)))
}

// plausible refuses counts that cannot be right. An answer without tokens, or with none, is one of them: a server that
// does not find the text in the request answers so, with status 200.
func (c *Client) plausible(text string, ids []int) error {
	if text != "" && len(ids) == 0 {
		return c.server.Fault(llm.FaultCount, nil, "the server counts 0 tokens in a text of %d bytes", len(text))
	}
	for _, id := range ids {
		if id < 0 {
			return c.server.Fault(llm.FaultCount, nil, "the server gives a token the number %d", id)
		}
	}
	return nil
}
