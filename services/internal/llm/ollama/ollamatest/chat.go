package ollamatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// around is how many tokens the form of the model puts around a message.
const around = 4

type message struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	ToolName string `json:"tool_name"`
	Calls    []struct {
		Function struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"` // a string is refused
		} `json:"function"`
	} `json:"tool_calls"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string `json:"name"`
		Parameters object `json:"parameters"`
	} `json:"function"`
}

// chat is generate for a conversation.
func (s *Server) chat(w http.ResponseWriter, r *http.Request, o Options, f Faults, ask request) {
	texts := make([]string, len(ask.Messages))
	for i, m := range ask.Messages {
		texts[i] = m.Content
		if m.Role == "tool" && m.ToolName == "" {
			refuse(w, http.StatusBadRequest, "the template needs the name of a tool") // as that of many models does
			return
		}
	}
	if len(ask.Tools) > 0 && !o.Tools {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", o.Model))
		return
	}
	ask.Prompt = strings.Join(texts, "\n\n")
	s.generate(w, r, o, f, ask)
}

// calls are what the last message of a user wishes, and how the model spells it, a character a token; nil for none.
func (ask request) calls() (calls []object, spelt []string) {
	n := len(ask.Messages)
	if n == 0 || len(ask.Tools) == 0 || ask.Messages[n-1].Role != "user" {
		return nil, nil
	}
	for i, wish := range servertest.Wishes(ask.Messages[n-1].Content) {
		calls = append(calls, object{"id": fmt.Sprintf("call_%d", i), "function": object{"index": i, "name": wish.Name, "arguments": json.RawMessage(wish.Arguments)}})
		spelt = append(spelt, servertest.Runes(wish.Arguments)...)
	}
	return calls, spelt
}
