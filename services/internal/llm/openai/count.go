package openai

import (
	"cmp"
	"context"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// An answer of /tokenize is at most base + each × the bytes of the text: one token a byte, as `128000, `.
const (
	tokensBase = 64 << 10
	tokensEach = 16
)

const (
	// openAIAround is what OpenAI puts around the only message of a chat: 3 tokens for a message, 1 for its role, 3 before the
	// answer.
	openAIAround = 7
	// seams is by how much a text may have more tokens between the form of a chat than alone, at both ends together, where it
	// is counted here.
	seams = 2
)

// tokenized is an answer of /tokenize: of vLLM with all fields, of llama.cpp with the tokens.
type tokenized struct {
	Count  *int  `json:"count"`
	MaxLen int   `json:"max_model_len"`
	Tokens []int `json:"tokens"`
}

// CountsHere says that the backends file names the model's vocabulary.
func (c *Client) CountsHere() bool { return c.config.Tokenizer != nil }

// Estimates says that the config names no vocabulary for a server that does not count.
func (c *Client) Estimates() bool { return c.config.Tokenizer != nil && c.config.Tokenizer.Estimates() }

// Count gives the tokens of text: of a raw prompt with what the server puts around it, such as BOS; of a chat without,
// since that is not of the window that Window tells.
func (c *Client) Count(ctx context.Context, text string) (int, error) {
	if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
		return 0, err
	}
	if t := c.config.Tokenizer; t != nil {
		return t.Count(text, c.reading()), nil
	}
	if c.config.Program == OpenAI {
		return 0, c.cannotCount()
	}
	model, err := c.named(ctx)
	if err != nil {
		return 0, err
	}
	n, err := c.counted(ctx, model, text)
	if err != nil {
		return 0, err
	}
	if n == 0 && c.config.API == Chat && strings.TrimSpace(text) == "" && text != "" {
		return 1, nil // forms trim what is around a text, and of blanks nothing is left: one token is not too few
	}
	if n < 0 || n == 0 && text != "" {
		return 0, c.server.Fault(llm.FaultCount, nil, "the server counts %d tokens in a text of %d bytes", n, len(text))
	}
	return n, nil
}

// counted asks the server.
func (c *Client) counted(ctx context.Context, model, text string) (int, error) {
	if c.config.API != Chat {
		answer, err := c.tokenize(ctx, c.server.CountLimit(), model, text)
		return len(answer.Tokens), err
	}
	around, err := c.form(ctx, model)
	if err != nil {
		return 0, err
	}
	n, err := c.chat(ctx, c.server.CountLimit(), model, text)
	return n - around, err
}

// Pieces gives them where texts are counted here.
func (c *Client) Pieces(ctx context.Context, text string) ([]int, error) {
	if err := cmp.Or(c.server.Ended(ctx), c.server.Sendable(text)); err != nil {
		return nil, err
	}
	if t := c.config.Tokenizer; t != nil {
		return t.Lengths(text, c.reading()), nil
	}
	return nil, c.server.Fault(llm.FaultProtocol, llm.ErrNoPieces, "the server is not asked for the pieces of a text; name the model's vocabulary as `tokenizer` in the backends file")
}

// reading is how a text is counted here.
func (c *Client) reading() tokenizer.Options {
	return tokenizer.Options{Around: c.config.API != Chat, Control: true}
}

func (c *Client) cannotCount() error {
	return c.server.Fault(llm.FaultCount, nil, "this server does not count; name the model's vocabulary as `tokenizer` in the backends file (such as o200k_base, or the path of a tokenizer.json), or say what answers there with `server: vllm` or `server: llamacpp`")
}

// named is the model of the config. vLLM wants it with each request.
func (c *Client) named(ctx context.Context) (string, error) {
	if c.config.Model != "" {
		return c.config.Model, nil
	}
	m, err := c.model(ctx)
	return m.ID, err
}

// tokenize asks for the tokens of a raw prompt.
func (c *Client) tokenize(ctx context.Context, l wire.Limit, model, text string) (tokenized, error) {
	ask := map[string]any{"model": model, "prompt": text, "add_special_tokens": true}
	if c.config.Program == LlamaCpp {
		ask = map[string]any{"content": text, "add_special": true, "parse_special": true}
	}
	var answer tokenized
	if err := c.server.Count(ctx, l, "/tokenize", text, ask, &answer, tokensBase+tokensEach*int64(len(text))); err != nil {
		return tokenized{}, err
	}
	if text != "" && len(answer.Tokens) == 0 || answer.Count != nil && *answer.Count != len(answer.Tokens) {
		return tokenized{}, c.server.Fault(llm.FaultCount, nil, "the server names %d tokens of a text of %d bytes", len(answer.Tokens), len(text))
	}
	return answer, nil
}

// chat asks for the tokens of a prompt in the form of a chat.
func (c *Client) chat(ctx context.Context, l wire.Limit, model, text string) (int, error) {
	path := "/tokenize"
	ask := map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": text}}}
	if c.config.Program == LlamaCpp {
		path = "/v1/chat/completions/input_tokens"
	}
	var answer struct {
		Count       *int `json:"count"`
		InputTokens *int `json:"input_tokens"`
	}
	if err := c.server.Count(ctx, l, path, text, ask, &answer, tokensBase+tokensEach*int64(len(text))); err != nil {
		return 0, err
	}
	n := cmp.Or(answer.Count, answer.InputTokens)
	if n == nil {
		return 0, c.server.Fault(llm.FaultProtocol, nil, "the answer to %s has no count", path)
	}
	return *n, nil
}

// form is what a chat costs, measured unless it is known.
func (c *Client) form(ctx context.Context, model string) (int, error) {
	c.mu.Lock()
	around := c.around
	c.mu.Unlock()
	if around > 0 {
		return around, nil
	}
	return c.measure(ctx, c.server.CountLimit(), model)
}

// measure finds what a chat costs: the tokens of one with an empty prompt.
func (c *Client) measure(ctx context.Context, l wire.Limit, model string) (int, error) {
	around := openAIAround
	if c.config.Program != OpenAI {
		var err error
		if around, err = c.chat(ctx, l, model, ""); err != nil {
			return 0, err
		}
	}
	if around <= 0 {
		return 0, c.server.Fault(llm.FaultCount, nil, "the server counts %d tokens in the form of a chat", around)
	}
	if c.config.Tokenizer != nil {
		around += seams
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.around = around
	return around, nil
}
