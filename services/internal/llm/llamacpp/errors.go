package llamacpp

import (
	"encoding/json"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// wireError is the body of a refusal, and of an error inside a stream.
type wireError struct {
	Code         int    `json:"code"`
	Message      string `json:"message"`
	Type         string `json:"type"`
	PromptTokens int    `json:"n_prompt_tokens"`
	Window       int    `json:"n_ctx"`
}

// words reads the body of a refusal.
func words(body []byte) wire.Words {
	var told struct {
		Error wireError `json:"error"`
	}
	if json.Unmarshal(body, &told) != nil {
		return wire.Words{}
	}
	return told.Error.words()
}

// words knows the type of today and the words of builds up to 2025.
func (e wireError) words() wire.Words {
	w := wire.Words{Status: e.Code, Message: e.Message}
	switch {
	case e.Type == "exceed_context_size_error", strings.Contains(e.Message, "exceeds the available context size"):
		w.Fault, w.Tokens, w.Window = llm.FaultTooLong, e.PromptTokens, e.Window
	case strings.Contains(strings.ToLower(e.Message), "loading"):
		w.Fault = llm.FaultLoading
	}
	return w
}
