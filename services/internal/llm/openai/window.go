package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// model is one entry of /v1/models.
type model struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	// MaxLen is what vLLM and others tell.
	MaxLen int `json:"max_model_len"`
	// Meta is what llama.cpp tells: the window of a slot, and how many tokens the model has.
	Meta struct {
		Window     int `json:"n_ctx"`
		Vocabulary int `json:"n_vocab"`
	} `json:"meta"`
}

// Window asks for the models, and has a short text counted where the server counts: its tokens tell one vocabulary from
// another, and a vocabulary in the backends file is compared with them. In a chat the window is what is left for prompt
// and answer.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	m, err := c.model(ctx)
	if err != nil {
		return llm.Identity{}, err
	}
	fingerprint, told, err := c.probe(ctx, m)
	if err != nil {
		return llm.Identity{}, err
	}
	window, err := c.window(ctx, m.ID, told)
	if err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: c.config.Name, Kind: Kind, Address: c.config.Address, Model: m.ID, Window: window, Tokenizer: fingerprint,
	}, nil
}

// probe gives the tokenizer's fingerprint, and the window as far as the server tells it; 0 where it does not.
func (c *Client) probe(ctx context.Context, m model) (fingerprint string, window int, err error) {
	window = max(m.MaxLen, m.Meta.Window)
	if c.config.Program == OpenAI {
		if c.config.Tokenizer == nil {
			return "", 0, c.cannotCount()
		}
		return c.config.Tokenizer.Fingerprint(), window, nil
	}
	counted, err := c.tokenize(ctx, c.server.WindowLimit(), m.ID, wire.Probe)
	if err != nil {
		return "", 0, err
	}
	if err := c.server.Agrees(c.config.Tokenizer, counted.Tokens); err != nil {
		return "", 0, err
	}
	return wire.Digest(counted.Tokens), cmp.Or(counted.MaxLen, window), nil
}

// window is what prompt and answer may have, less what a chat costs.
func (c *Client) window(ctx context.Context, model string, told int) (int, error) {
	window, err := c.server.Window(told)
	if err != nil || c.config.API != Chat {
		return window, err
	}
	around, err := c.measure(ctx, c.server.WindowLimit(), model)
	if err != nil {
		return 0, err
	}
	if around >= window {
		return 0, c.server.Fault(llm.FaultProtocol, nil, "the form of a chat has %d tokens and the window %d", around, window)
	}
	return window - around, nil
}

// maxNamed is how many models an error names.
const maxNamed = 10

// model finds the model of the config, or the only one.
func (c *Client) model(ctx context.Context) (model, error) {
	var list struct {
		Data []model `json:"data"`
	}
	if err := c.server.Ask(ctx, c.server.WindowLimit(), "/v1/models", nil, &list, wire.MaxDescription); err != nil {
		return model{}, err
	}
	want := c.config.Model
	if want == "" && len(list.Data) == 1 && list.Data[0].ID != "" {
		return list.Data[0], nil
	}
	names := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if want != "" && (m.ID == want || slices.Contains(m.Aliases, want)) {
			m.ID = want
			return m, nil
		}
		if len(names) < maxNamed {
			names = append(names, m.ID)
		}
	}
	known := wire.Clip(strings.Join(names, ", "))
	switch {
	case len(list.Data) == 0:
		return model{}, c.server.Fault(llm.FaultProtocol, nil, "the server has no models (/v1/models)")
	case want == "":
		return model{}, c.server.Fault(llm.FaultRefused, nil, "the server has %d models; name one as `model` in the backends file: %s", len(list.Data), known)
	}
	return model{}, c.server.Fault(llm.FaultRefused, nil, "the server has no model %q; of the %d that it has: %s", want, len(list.Data), known)
}
