package ollama

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// model is an entry of the lists of /api/tags and /api/ps.
type model struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// RemoteHost is where the model runs, if not here.
	RemoteHost string `json:"remote_host"`
	// Window is told by /api/ps alone: what the model is loaded with.
	Window int `json:"context_length"`
}

// standardTag is what a name without a tag means.
const standardTag = ":latest"

// listed looks for the model of the config in one of the lists; nil where it is not there.
func (c *Client) listed(ctx context.Context, path string) (*model, error) {
	var list struct {
		Models []model `json:"models"`
	}
	if err := c.server.Ask(ctx, c.server.WindowLimit(), path, nil, &list, wire.MaxDescription); err != nil {
		return nil, err
	}
	for i, m := range list.Models {
		if m.Name == c.config.Model || m.Name == c.config.Model+standardTag {
			return &list.Models[i], nil
		}
	}
	return nil, nil
}

// Window asks for the model and for its window, and loads nothing. The fingerprint is of the vocabulary here and of the
// model's digest: another model under the same name is another backend.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	m, window, err := c.describe(ctx)
	if err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: c.server.Name, Kind: Kind, Address: c.server.Address, Model: m.Name, Window: window,
		Tokenizer: wire.Digest([]string{m.Digest, c.config.Tokenizer.Fingerprint()}),
	}, nil
}

// describe finds the model, and what prompt and answer may have.
func (c *Client) describe(ctx context.Context) (*model, int, error) {
	m, err := c.listed(ctx, "/api/tags")
	switch {
	case err != nil:
		return nil, 0, err
	case m == nil:
		return nil, 0, c.server.Fault(llm.FaultRefused, nil, "the server has no model %q (/api/tags); fetch it with `ollama pull`, or correct `model` in the backends file", c.config.Model)
	case m.RemoteHost != "":
		return nil, 0, c.server.Fault(llm.FaultRefused, nil, "the model %q runs at %s, and the server would send its prompts there; name one that runs on the server", c.config.Model, wire.Clip(m.RemoteHost))
	}
	s, err := c.shown(ctx, m.Digest)
	if err != nil {
		return nil, 0, err
	}
	c.tools.Store(slices.Contains(s.Capabilities, "tools"))
	told, err := c.told(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	window, err := c.server.Window(told)
	return m, window, err
}

// told is the window as the server tells it: what the model was trained for, where the backends file says what a request asks
// for; else what the model is loaded with, since few machines have the memory for the other.
func (c *Client) told(ctx context.Context, s shown) (int, error) {
	if c.server.Endpoint.Window > 0 {
		return s.trained(), nil
	}
	m, err := c.listed(ctx, "/api/ps")
	if err == nil && m == nil {
		err = c.server.Fault(llm.FaultRefused, nil, "the model %q is not loaded, and only a loaded one has a window; set `window` in the backends file, and each request asks for it", c.config.Model)
	}
	if err != nil {
		return 0, err
	}
	return m.Window, nil
}

// shown is what /api/show tells of a model.
type shown struct {
	Info map[string]json.RawMessage `json:"model_info"`
	// Capabilities are not told by builds before April 2025.
	Capabilities []string `json:"capabilities"`
}

// trained is the window that the model was trained for, 0 where the server does not tell.
func (s shown) trained() (window int) {
	var architecture string
	_ = json.Unmarshal(s.Info["general.architecture"], &architecture)   // what is not told stays empty
	_ = json.Unmarshal(s.Info[architecture+".context_length"], &window) // as above
	return window
}

// shown asks for the model once for each digest: the answer holds the licence and the template, too.
func (c *Client) shown(ctx context.Context, digest string) (shown, error) {
	c.mu.Lock()
	known, knownFor := c.known, c.knownFor
	c.mu.Unlock()
	if digest == knownFor && digest != "" {
		return known, nil
	}
	var fresh shown
	ask := map[string]string{"model": c.config.Model}
	if err := c.server.Ask(ctx, c.server.WindowLimit(), "/api/show", ask, &fresh, wire.MaxDescription); err != nil {
		return shown{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.knownFor = fresh, digest
	return fresh, nil
}
