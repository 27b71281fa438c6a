package ollama

import "github.com/tsumugi-dev/tsumugi/services/internal/llm"

// Tells implements llm.Teller.
func (c *Client) Tells() llm.Told {
	return llm.Told{Cache: true, Conversations: true, Tools: c.tools.Load(), Schema: true}
}

// Knobs are what this kind of server can be told about sampling (docs/api.md of Ollama, `options`). It drops what it does
// not know.
func (*Client) Knobs() []llm.Knob {
	return []llm.Knob{
		llm.KnobTemperature, llm.KnobTopK, llm.KnobTopP, llm.KnobMinP, llm.KnobTypicalP, llm.KnobRepeatPenalty, llm.KnobRepeatRange,
		llm.KnobPresencePenalty, llm.KnobFrequencyPenalty, llm.KnobSeed,
	}
}

// generation is the body of /api/generate. The server takes a switch that is left out for on, so each stands there.
type generation struct {
	Model    string  `json:"model"`
	Prompt   string  `json:"prompt"`
	Raw      bool    `json:"raw"`
	Stream   bool    `json:"stream"`
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Think    bool    `json:"think"`
	Options  options `json:"options"`
}

// options are the settings of one answer. A field that is left out leaves what the model's Modelfile says.
type options struct {
	Window           int      `json:"num_ctx"`
	MaxTokens        int      `json:"num_predict"`
	Stop             []string `json:"stop,omitempty"`
	Temperature      *float64 `json:"temperature,omitempty"`
	TopK             *int     `json:"top_k,omitempty"`
	TopP             *float64 `json:"top_p,omitempty"`
	MinP             *float64 `json:"min_p,omitempty"`
	TypicalP         *float64 `json:"typical_p,omitempty"`
	RepeatPenalty    *float64 `json:"repeat_penalty,omitempty"`
	RepeatRange      *int     `json:"repeat_last_n,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
	Seed             *uint32  `json:"seed,omitempty"`
}

// newGeneration maps a prompt to a model that is to have a window.
func newGeneration(req llm.Request, model string, window int) generation {
	return generation{Model: model, Prompt: req.Prompt, Raw: true, Stream: true, Options: newOptions(req.Sampling, window)}
}

func newOptions(s llm.Sampling, window int) options {
	return options{
		Window: window, MaxTokens: s.MaxTokens, Stop: s.Stop, Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP,
		TypicalP: s.TypicalP, RepeatPenalty: s.RepeatPenalty, RepeatRange: s.RepeatRange, PresencePenalty: s.PresencePenalty,
		FrequencyPenalty: s.FrequencyPenalty, Seed: s.Seed,
	}
}
