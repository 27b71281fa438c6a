package llamacpp

import (
	"context"
	"errors"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// props is what /props tells of the server.
type props struct {
	Defaults struct {
		Window int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Slots    int    `json:"total_slots"`
	Alias    string `json:"model_alias"`
	Path     string `json:"model_path"`
	Type     string `json:"model_ftype"`
	Template string `json:"chat_template"`
	BOS      string `json:"bos_token"`
	EOS      string `json:"eos_token"`
	Build    string `json:"build_info"`
	// Caps are what the model's template has a place for. Builds of 2025 do not tell.
	Caps struct {
		Tools bool `json:"supports_tools"`
		Calls bool `json:"supports_tool_calls"`
	} `json:"chat_template_caps"`
	// Marker is drawn anew at each start of the server, by builds of 2026 at least.
	Marker string `json:"media_marker"`
}

// Window asks /props, and for the tokenizer's fingerprint only when what /props says of server and model has changed since
// the last time. A server that restarts with other weights under the same path is noticed through its `media_marker`;
// older builds have none: there such a restart goes unnoticed until this process restarts too.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	var p props
	if err := c.server.Ask(ctx, c.server.WindowLimit(), "/props", nil, &p, wire.MaxDescription); err != nil {
		return llm.Identity{}, err
	}
	c.server.AnswersAtOnce(p.Slots)
	c.tools.Store(p.Caps.Tools && p.Caps.Calls)
	window, err := c.server.Window(p.Defaults.Window)
	if err != nil {
		return llm.Identity{}, err
	}
	fingerprint, err := c.fingerprintOf(ctx, p)
	if err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: c.config.Name, Kind: Kind, Address: c.config.Address,
		Model: p.model(), Window: window, Tokenizer: fingerprint,
	}, nil
}

// model is the alias. A server that was given none says its path, of which the file's name is enough.
func (p props) model() string {
	if p.Alias != "" && p.Alias != p.Path {
		return p.Alias
	}
	return p.Path[strings.LastIndexAny(p.Path, `/\`)+1:]
}

// fingerprintOf gives the fingerprint of the server that described itself as p.
func (c *Client) fingerprintOf(ctx context.Context, p props) (string, error) {
	self := wire.Digest(p)
	c.mu.Lock()
	known, knownFor := c.known, c.knownFor
	c.mu.Unlock()
	if self == knownFor {
		return known, nil
	}
	fresh, err := c.fingerprint(ctx)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.known, c.knownFor = fresh, self
	c.mu.Unlock()
	return fresh, nil
}

// fingerprint hashes the token ids of the probe and the size of the vocabulary, where the server tells it.
func (c *Client) fingerprint(ctx context.Context) (string, error) {
	ids, err := c.tokens(ctx, c.server.WindowLimit(), wire.Probe)
	if err != nil {
		return "", err
	}
	if err := c.server.Agrees(c.config.Tokenizer, ids); err != nil {
		return "", err
	}
	size, err := c.vocabulary(ctx)
	if err != nil {
		return "", err
	}
	return wire.Digest([]any{size, ids}), nil
}

// vocabulary is how many tokens the model has; 0 where the server does not tell.
func (c *Client) vocabulary(ctx context.Context) (int, error) {
	var models struct {
		Data []struct {
			Meta struct {
				Vocabulary int `json:"n_vocab"`
			} `json:"meta"`
		} `json:"data"`
	}
	err := c.server.Ask(ctx, c.server.WindowLimit(), "/v1/models", nil, &models, wire.MaxDescription)
	if err != nil && !missing(err) {
		return 0, err
	}
	if len(models.Data) == 0 {
		return 0, nil
	}
	return models.Data[0].Meta.Vocabulary, nil
}

// missing says whether an answer was not of the expected shape, as with servers that lack an endpoint.
func missing(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Fault == llm.FaultProtocol
}
