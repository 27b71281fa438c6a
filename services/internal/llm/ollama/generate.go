package ollama

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Generate asks for a stream, after it has made sure that the prompt fits, and waits for its first line, which comes when the
// model is loaded and the prompt read.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs()), wire.NotEmpty(req.Text(), "an Ollama server only loads the model then")); err != nil {
		return nil, err
	}
	m, window, err := c.describe(ctx)
	if err != nil {
		return nil, err
	}
	ask := c.write
	if len(req.Messages) > 0 {
		ask = c.talk
	}
	stream, err := ask(ctx, req, m.Name, window)
	return stream, wire.Blame(err, req.Sampling, map[llm.Knob]string{llm.KnobRepeatRange: "repeat_last_n"})
}

// write asks /api/generate.
func (c *Client) write(ctx context.Context, req llm.Request, model string, window int) (llm.Stream, error) {
	n, err := c.Count(ctx, req.Prompt)
	if err != nil {
		return nil, err
	}
	if err := c.fits(n, window); err != nil {
		return nil, err
	}
	return c.server.Stream(ctx, "/api/generate", newGeneration(req, model, window+c.server.Margin), wire.MaxLine, &answer{server: c.server})
}

// fits refuses a prompt that leaves no room for one token of an answer. Builds before October 2025 know no `truncate` and
// would cut it.
func (c *Client) fits(n, window int) error {
	if n < window {
		return nil
	}
	e := c.server.Fault(llm.FaultTooLong, nil, "the prompt has %d tokens and the window %d, of which one at least must be left for the answer", n, window)
	e.Tokens, e.Window = n, window
	return e
}
