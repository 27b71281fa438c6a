package koboldcpp

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// noModel is what the server calls its model while it has none for text.
const noModel = "inactive"

// Window asks for the window, the model, and the tokens of a short text, whose numbers tell tokenizers apart. It counts each
// time, since the server says nothing of itself that changes when it is started again with another model of that name.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	window, err := c.window(ctx)
	if err != nil {
		return llm.Identity{}, err
	}
	var model struct {
		Result string `json:"result"`
	}
	if err := c.server.Ask(ctx, c.server.WindowLimit(), "/api/v1/model", nil, &model, wire.MaxDescription); err != nil {
		return llm.Identity{}, err
	}
	if model.Result == "" || model.Result == noModel || model.Result == "koboldcpp/"+noModel {
		return llm.Identity{}, c.server.Fault(llm.FaultProtocol, nil, "the server has no model for text (/api/v1/model tells %q)", wire.Clip(model.Result))
	}
	counted, err := c.tokencount(ctx, c.server.WindowLimit(), wire.Probe)
	if err != nil {
		return llm.Identity{}, err
	}
	if counted.Value <= 0 || len(counted.IDs) != counted.Value {
		return llm.Identity{}, c.server.Fault(llm.FaultCount, nil, "the server counts %d tokens in a text and names %d", counted.Value, len(counted.IDs))
	}
	return llm.Identity{
		Backend: c.server.Name, Kind: Kind, Address: c.server.Address,
		Model: model.Result, Window: window, Tokenizer: wire.Digest(counted.IDs),
	}, nil
}

// window is that of the running model. The one of /api/v1/config may be smaller, for clients of the Horde.
func (c *Client) window(ctx context.Context) (int, error) {
	var answer struct {
		Value int `json:"value"`
	}
	const path = "/api/extra/true_max_context_length"
	if err := c.server.Ask(ctx, c.server.WindowLimit(), path, nil, &answer, wire.MaxDescription); err != nil {
		return 0, err
	}
	return c.server.Window(answer.Value)
}
