package ollama

import (
	"cmp"
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// CountsHere says that texts are counted here: the server cannot.
func (c *Client) CountsHere() bool { return true }

// Estimates says that the config names no vocabulary.
func (c *Client) Estimates() bool { return c.config.Tokenizer.Estimates() }

// Count counts with the vocabulary of the config.
func (c *Client) Count(ctx context.Context, text string) (int, error) {
	if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
		return 0, err
	}
	return c.config.Tokenizer.Count(text, tokenizer.Prompt), nil
}

// Pieces cuts with the vocabulary of the config.
func (c *Client) Pieces(ctx context.Context, text string) ([]int, error) {
	if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
		return nil, err
	}
	return c.config.Tokenizer.Lengths(text, tokenizer.Prompt), nil
}
