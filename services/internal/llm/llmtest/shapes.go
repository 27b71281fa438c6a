package llmtest

import (
	"encoding/json"
	"unicode/utf8"
)

// The bodies of the real server, with its fields in its order.

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Tokens  int    `json:"n_prompt_tokens,omitempty"`
	Window  int    `json:"n_ctx,omitempty"`
}

type failed struct {
	Error failure `json:"error"`
}

type props struct {
	Defaults struct {
		Params json.RawMessage `json:"params"`
		Window int             `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Slots      int             `json:"total_slots"`
	Alias      string          `json:"model_alias"`
	Type       string          `json:"model_ftype"`
	Path       string          `json:"model_path"`
	Modalities json.RawMessage `json:"modalities"`
	Marker     string          `json:"media_marker"`
	SlotsOn    bool            `json:"endpoint_slots"`
	PropsOn    bool            `json:"endpoint_props"`
	MetricsOn  bool            `json:"endpoint_metrics"`
	UI         bool            `json:"ui"`
	UISettings json.RawMessage `json:"ui_settings"`
	Template   string          `json:"chat_template"`
	Caps       json.RawMessage `json:"chat_template_caps"`
	BOS        string          `json:"bos_token"`
	EOS        string          `json:"eos_token"`
	Build      string          `json:"build_info"`
	Sleeping   bool            `json:"is_sleeping"`
	Proxy      bool            `json:"cors_proxy_enabled"`
}

type model struct {
	ID           string          `json:"id"`
	Aliases      []string        `json:"aliases"`
	Tags         []string        `json:"tags"`
	Object       string          `json:"object"`
	Architecture json.RawMessage `json:"architecture"`
	Created      int             `json:"created"`
	Owner        string          `json:"owned_by"`
	Meta         meta            `json:"meta"`
}

type meta struct {
	VocabularyType int    `json:"vocab_type"`
	Vocabulary     int    `json:"n_vocab"`
	Window         int    `json:"n_ctx"`
	Trained        int    `json:"n_ctx_train"`
	Width          int    `json:"n_embd"`
	Parameters     int    `json:"n_params"`
	Size           int    `json:"size"`
	Type           string `json:"ftype"`
}

type slot struct {
	ID          int  `json:"id"`
	Window      int  `json:"n_ctx"`
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
}

type token struct {
	ID    int `json:"id"`
	Piece any `json:"piece"`
}

// piece is a string where the bytes are UTF-8, else their numbers.
func piece(bytes string) any {
	if utf8.ValidString(bytes) {
		return bytes
	}
	numbers := make([]int, len(bytes))
	for i := range len(bytes) {
		numbers[i] = int(bytes[i])
	}
	return numbers
}

// part is an event of a stream before the last.
type part struct {
	Index     int             `json:"index"`
	Content   json.RawMessage `json:"content"`
	Tokens    []int           `json:"tokens"`
	Stop      bool            `json:"stop"`
	Slot      int             `json:"id_slot"`
	Predicted int             `json:"tokens_predicted"`
	Evaluated int             `json:"tokens_evaluated"`
}

// final is the last event of a stream, and the answer without one.
type final struct {
	Index        int             `json:"index"`
	Content      json.RawMessage `json:"content"`
	Tokens       []int           `json:"tokens"`
	Slot         int             `json:"id_slot"`
	Stop         bool            `json:"stop"`
	Model        string          `json:"model"`
	Predicted    int             `json:"tokens_predicted"`
	Evaluated    int             `json:"tokens_evaluated"`
	Settings     json.RawMessage `json:"generation_settings"`
	Prompt       string          `json:"prompt"`
	NewLine      bool            `json:"has_new_line"`
	Truncated    bool            `json:"truncated"`
	StopType     string          `json:"stop_type"`
	StoppingWord string          `json:"stopping_word"`
	Cached       int             `json:"tokens_cached"`
	Timings      timings         `json:"timings"`
}

type timings struct {
	CacheN             int     `json:"cache_n"`
	PromptN            int     `json:"prompt_n"`
	PromptMS           float64 `json:"prompt_ms"`
	PromptPerToken     float64 `json:"prompt_per_token_ms"`
	PromptPerSecond    float64 `json:"prompt_per_second"`
	PredictedN         int     `json:"predicted_n"`
	PredictedMS        float64 `json:"predicted_ms"`
	PredictedPerToken  float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond float64 `json:"predicted_per_second"`
}
