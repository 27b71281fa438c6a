package llamacpp

import (
	"cmp"
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// A line of a stream is at most base + each × the bytes of the request: the last event repeats the prompt and the stop
// strings, each byte of them escaped in the worst case, and a list of every setting.
const (
	lineBase = 4 << 20
	lineEach = 6
)

// Generate asks /completion for a stream and waits for its first line, which comes when the prompt has been read.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := cmp.Or(req.Check(), req.Unknown(Kind, c.Knobs())); err != nil {
		return nil, c.server.Fault(llm.FaultRefused, err, "%v", err)
	}
	most := lineBase + lineEach*len(req.Prompt)
	for _, stop := range req.Sampling.Stop {
		most += lineEach * len(stop)
	}
	stream, err := c.server.Stream(ctx, "/completion", newCompletion(req), most, &answer{server: c.server})
	if err != nil {
		return nil, err // not the nil *wire.Stream
	}
	return stream, nil
}
