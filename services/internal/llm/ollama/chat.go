package ollama

import (
	"context"
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// What the form of a conversation is taken to need beside its texts, in tokens: each model has a form of its own. A refusal
// that comes a little too early is better than a beginning that an old build drops without a word.
const (
	messageTokens = 16  // each message
	toolTokens    = 32  // each tool
	toolsTokens   = 128 // what tools are introduced with
)

// conversation is the body of /api/chat. The switches are those of generation.
type conversation struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Tools    []wire.Function `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
	Truncate bool            `json:"truncate"`
	Shift    bool            `json:"shift"`
	Think    bool            `json:"think"`
	// Format is a schema that the answer is held to.
	Format  json.RawMessage `json:"format,omitempty"`
	Options options         `json:"options"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	// Name and CallID are of the call that a tool answers: builds of 2025 know the name alone.
	Name   string `json:"tool_name,omitempty"`
	CallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

// function is a call; its arguments are a JSON object.
type function struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func newConversation(req llm.Request, model string, window int) conversation {
	c := conversation{Model: model, Tools: wire.Functions(req.Tools), Stream: true, Format: json.RawMessage(req.Schema), Options: newOptions(req.Sampling, window)}
	for _, m := range req.Messages {
		sent := message{Role: string(m.Role), Content: m.Content, CallID: m.CallID}
		if m.CallID != "" {
			sent.Name = req.CallOf(m.CallID).Name
		}
		for i, t := range m.Calls {
			sent.Calls = append(sent.Calls, call{t.ID, function{i, t.Name, json.RawMessage(t.Arguments)}})
		}
		c.Messages = append(c.Messages, sent)
	}
	return c
}

// talk asks /api/chat.
func (c *Client) talk(ctx context.Context, req llm.Request, model string, window int) (llm.Stream, error) {
	if err := c.fits(c.formed(req), window); err != nil {
		return nil, err
	}
	return c.server.Stream(ctx, "/api/chat", newConversation(req, model, window+c.server.Margin), wire.MaxLine, &answer{server: c.server})
}

// formed is how many tokens a conversation is taken to have.
func (c *Client) formed(req llm.Request) int {
	n := 0
	count := func(text string) { n += c.config.Tokenizer.Count(text, tokenizer.Options{Control: true}) }
	for _, m := range req.Messages {
		n += messageTokens
		count(m.Content)
		for _, t := range m.Calls {
			n += toolTokens
			count(t.Name + t.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += toolTokens
		count(t.Name + t.Description + t.Schema)
	}
	if len(req.Tools) > 0 {
		n += toolsTokens
	}
	return n
}
