package llamacpp

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamafields"
)

// Tells implements llm.Teller.
func (c *Client) Tells() llm.Told {
	return llm.Told{StopString: true, Cache: true, Conversations: true, Tools: c.tools.Load(), Schema: true}
}

// Knobs are what a server of this kind can be told about sampling (llama.cpp, tools/server/README.md, October 2026). It has
// no top_a, tail_free (taken out in 2024), repeat_slope and smoothing.
func (*Client) Knobs() []llm.Knob { return llamafields.Knobs() }

// completion is the body of /completion.
type completion struct {
	Prompt      string   `json:"prompt"`
	Stream      bool     `json:"stream"`
	CachePrompt bool     `json:"cache_prompt"`
	MaxTokens   int      `json:"n_predict"`
	Stop        []string `json:"stop,omitempty"`
	// Schema is what the answer is held to, as the server makes a grammar of it.
	Schema json.RawMessage `json:"json_schema,omitempty"`
	llamafields.Fields
}

func newCompletion(req llm.Request) completion {
	return completion{
		Prompt: req.Prompt, Stream: true, CachePrompt: true, MaxTokens: req.Sampling.MaxTokens, Stop: req.Sampling.Stop,
		Schema: json.RawMessage(req.Schema), Fields: llamafields.New(req.Sampling),
	}
}
