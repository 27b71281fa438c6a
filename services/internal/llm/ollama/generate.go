package ollama

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Generate asks /api/generate for a stream, after it has made sure that the prompt fits, and waits for its first line,
// which comes when the model is loaded and the prompt read.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs()), wire.NotEmpty(req.Prompt, "an Ollama server only loads the model then")); err != nil {
		return nil, err
	}
	m, window, err := c.describe(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.fits(ctx, req.Prompt, window); err != nil {
		return nil, err
	}
	body := newGeneration(req, m.Name, window+c.server.Margin)
	stream, err := c.server.Stream(ctx, "/api/generate", body, wire.MaxLine, &answer{server: c.server})
	return stream, wire.Blame(err, req.Sampling, map[llm.Knob]string{llm.KnobRepeatRange: "repeat_last_n"})
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
