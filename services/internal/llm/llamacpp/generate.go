package llamacpp

import (
	"context"
	"math"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamafields"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openaiwire"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// A line of a stream is at most base + each × the bytes of the request: the last event repeats the prompt and the stop
// strings, each byte of them escaped in the worst case, and a list of every setting.
const (
	lineBase = 4 << 20
	lineEach = 6
)

// Generate asks for a stream and waits for its first line, which comes when the prompt has been read: /completion, and for a
// conversation with tools, or in which some were called, /v1/chat/completions.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs())); err != nil {
		return nil, err
	}
	if err := c.biases(ctx, req.Sampling); err != nil {
		return nil, err
	}
	if len(req.Tools) > 0 || slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 }) {
		stream, err := openaiwire.Llama(ctx, c.server, req)
		return stream, wire.Blame(err, req.Sampling, llamafields.Names())
	}
	if len(req.Messages) > 0 {
		prompt, err := c.formed(ctx, req.Messages)
		if err != nil {
			return nil, err
		}
		req.Prompt = prompt
	}
	most := lineBase + lineEach*len(req.Prompt)
	for _, stop := range req.Sampling.Stop {
		most += lineEach * len(stop)
	}
	stream, err := c.server.Stream(ctx, "/completion", newCompletion(req), most, &answer{server: c.server})
	return stream, wire.Blame(err, req.Sampling, llamafields.Names())
}

// biases refuses those of tokens that the model does not have: the server takes them and does nothing with them.
func (c *Client) biases(ctx context.Context, s llm.Sampling) error {
	if len(s.LogitBias) == 0 {
		return nil
	}
	size, err := c.vocabulary(ctx)
	if err != nil {
		return err
	}
	var bad llm.BadKnobsError
	bad.Biases(s, math.Inf(1), size)
	return c.server.Refuse(bad.Found())
}
