package gemini

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// generates is the method that a model must have.
const generates = "generateContent"

// Window asks for the model. Its window is what a prompt may have, so that one that was measured for prompt and answer
// together always fits. The fingerprint is of name and version, as the service tells no tokens.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	var m struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Window  int      `json:"inputTokenLimit"`
		Methods []string `json:"supportedGenerationMethods"`
	}
	if err := c.server.Ask(ctx, c.server.WindowLimit(), c.path, nil, &m, wire.MaxDescription); err != nil {
		return llm.Identity{}, err
	}
	switch {
	case m.Name == "":
		return llm.Identity{}, c.server.Fault(llm.FaultProtocol, nil, "the answer to %s does not name the model", c.path)
	case m.Methods != nil && !slices.Contains(m.Methods, generates):
		return llm.Identity{}, c.server.Fault(llm.FaultRefused, nil, "the model %q writes no text (it has no %s)", c.config.Model, generates)
	}
	window, err := c.server.Window(m.Window)
	if err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: c.server.Name, Kind: Kind, Address: c.server.Address, Model: strings.TrimPrefix(m.Name, "models/"),
		Window: window, Tokenizer: wire.Digest([]string{m.Name, m.Version}),
	}, nil
}

// Count asks countTokens. The empty text has no tokens: the service takes no empty turn.
func (c *Client) Count(ctx context.Context, text string) (int, error) {
	if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil || text == "" {
		return 0, err
	}
	ask := struct {
		Contents []turn `json:"contents"`
	}{contents(text, 0)}
	var answer genai.CountTokensResponse
	if err := c.server.Count(ctx, c.server.CountLimit(), c.path+":countTokens", text, ask, &answer, wire.MaxDescription); err != nil {
		return 0, err
	}
	if answer.TotalTokens <= 0 {
		return 0, c.server.Fault(llm.FaultCount, nil, "the service counts %d tokens in a text of %d bytes", answer.TotalTokens, len(text))
	}
	return int(answer.TotalTokens), nil
}

// Pieces gives llm.ErrNoPieces: the service does not tell them.
func (c *Client) Pieces(context.Context, string) ([]int, error) {
	return nil, c.server.Fault(llm.FaultProtocol, llm.ErrNoPieces, "the Gemini API does not tell the pieces of a text")
}
