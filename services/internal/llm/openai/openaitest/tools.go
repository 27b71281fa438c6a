package openaitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// tool is one that the model is offered.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// said is a conversation as one text.
func (a ask) said() string {
	texts := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n\n")
}

// calls are the fragments by which the model calls what the last message of a user wishes: the name first, then the arguments,
// a character each.
func (a ask) calls() (parts []object) {
	n := len(a.Messages)
	if len(a.Tools) == 0 || a.Messages[n-1].Role != "user" {
		return nil
	}
	for i, wish := range servertest.Wishes(a.Messages[n-1].Content) {
		parts = append(parts, object{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": wish.Name, "arguments": ""}})
		for _, r := range wish.Arguments {
			parts = append(parts, object{"index": i, "function": object{"arguments": string(r)}})
		}
	}
	return parts
}

// functionName is what OpenAI takes for a name.
var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// toolsRefused turns away what no model can be told, in the words of each.
func (c call) toolsRefused(a ask) bool {
	open := map[string]bool{}
	for i, m := range a.Messages {
		if m.Role == "tool" && !open[m.CallID] {
			c.refuse(http.StatusBadRequest, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "invalid_request_error", nil) //nolint:misspell // its own words
			return true
		}
		for _, one := range m.Calls {
			if open[one.ID] = true; one.Type != "function" || !json.Valid([]byte(one.Function.Arguments)) {
				c.refuse(http.StatusInternalServerError, "Failed to parse tool call arguments as JSON: "+one.Function.Arguments, "server_error", nil)
				return true
			}
		}
		if len(m.Calls) > 0 && (i+1 == len(a.Messages) || a.Messages[i+1].Role != "tool") {
			c.refuse(http.StatusBadRequest, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", "invalid_request_error", nil)
			return true
		}
	}
	for i, t := range a.Tools {
		if t.Type != "function" || !functionName.MatchString(t.Function.Name) {
			c.refuse(http.StatusBadRequest, fmt.Sprintf("Invalid 'tools[%d].function.name': string does not match pattern.", i), "invalid_request_error", "invalid_value")
			return true
		}
	}
	switch {
	case len(a.Tools) > 0 && c.options.NoTools:
		c.refuse(http.StatusBadRequest, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, "BadRequestError", nil)
	case len(a.Tools) > 0 && a.Grammar != "" && c.options.Program == LlamaCpp:
		c.refuse(http.StatusBadRequest, "Cannot use custom grammar constraints with tools.", "invalid_request_error", nil)
	default:
		return false
	}
	return true
}

// delta sends an event of a chat that has no text.
func (j *work) delta(d, more object) {
	e := object{"choices": []object{{"index": 0, "delta": d, "finish_reason": nil}}}
	maps.Copy(e, more)
	j.event(e)
}
