package ollama

import (
	"cmp"
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// maxLine is the longest line of a stream, in bytes.
const maxLine = 4 << 20

// errEmpty: the server takes a request without a prompt for the order to load the model.
var errEmpty = errors.New("the prompt is empty, and an Ollama server only loads the model then")

// Generate asks /api/generate for a stream, after it has made sure that the prompt fits, and waits for its first line,
// which comes when the model is loaded and the prompt read.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := cmp.Or(req.Check(), req.Unknown(Kind, c.Knobs()), given(req.Prompt)); err != nil {
		return nil, c.server.Fault(llm.FaultRefused, err, "%v", err)
	}
	m, window, err := c.describe(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.fits(ctx, req.Prompt, window); err != nil {
		return nil, err
	}
	body := newGeneration(req, m.Name, window+c.server.Margin)
	stream, err := c.server.Stream(ctx, "/api/generate", body, maxLine, &answer{server: c.server})
	if err != nil {
		return nil, err // not the nil *wire.Stream
	}
	return stream, nil
}

func given(prompt string) error {
	if prompt == "" {
		return errEmpty
	}
	return nil
}

// fits refuses a prompt that leaves no room for one token of an answer. Builds before October 2025 know no `truncate` and
// would cut it.
func (c *Client) fits(ctx context.Context, prompt string, window int) error {
	n, err := c.Count(ctx, prompt)
	if err != nil || n < window {
		return err
	}
	e := c.server.Fault(llm.FaultTooLong, nil, "the prompt has %d tokens and the window %d, of which one at least must be left for the answer", n, window)
	e.Tokens, e.Window = n, window
	return e
}
