package ollama

import (
	"encoding/json"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// words reads the body of a refusal, which is one sentence (docs.ollama.com/api/errors).
func words(body []byte) wire.Words {
	var refusal struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &refusal) != nil {
		return wire.Words{}
	}
	return told(refusal.Error)
}

// told looks for what only the sentence tells. Which sentence says that a prompt is too long depends on what runs the
// model; all of them speak of the context and of what exceeds it.
func told(sentence string) wire.Words {
	w := wire.Words{Message: sentence}
	lower := strings.ToLower(sentence)
	switch {
	case strings.Contains(lower, "context") && (strings.Contains(lower, "exceed") || strings.Contains(lower, "longer than") || strings.Contains(lower, "too long")):
		w.Fault = llm.FaultTooLong
	case strings.HasPrefix(lower, "model ") && strings.Contains(lower, "not found"):
		w.Fault = llm.FaultRefused
	}
	return w
}
