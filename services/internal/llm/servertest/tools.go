package servertest

import (
	"encoding/json"
	"regexp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Tool is the tool that tests offer.
var Tool = llm.Tool{
	Name: "node_detail", Description: "Show a node in full.",
	Schema: `{"type":"object","properties":{"node_id":{"type":"string"}},"required":["node_id"]}`,
}

// Arguments are those with which Calling has Tool called.
const Arguments = `{"node_id": "a1b2c304"}`

// Wish is a call of Tool as models of the Hermes family write it: the fakes call what stands so in the last message of a user,
// and the small real model does, too, where it is told to write it.
const Wish = "<tool_call>\n{\"name\": \"node_detail\", \"arguments\": " + Arguments + "}\n</tool_call>"

// Calling is a request that is answered with a call of Tool.
func Calling() llm.Request {
	cold := 0.0
	return llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "Write exactly this and nothing else:\n" + Wish}},
		Tools:    []llm.Tool{Tool}, Sampling: llm.Sampling{MaxTokens: 60, Temperature: &cold},
	}
}

// Answered is a conversation in which a call was made and answered with text.
func Answered(r llm.Request, call llm.ToolCall, text string) llm.Request {
	if call.ID == "" {
		call.ID = "call-1"
	}
	r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)],
		llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{call}}, llm.Message{Role: llm.RoleTool, CallID: call.ID, Content: text})
	return r
}

var wishes = regexp.MustCompile(`(?s)<tool_call>\n(.*?)\n</tool_call>`)

// Wishes are the calls in a text, in order, without ids.
func Wishes(text string) (all []llm.ToolCall) {
	for _, found := range wishes.FindAllStringSubmatch(text, -1) {
		var call struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal([]byte(found[1]), &call) == nil {
			all = append(all, llm.ToolCall{Name: call.Name, Arguments: string(call.Arguments)})
		}
	}
	return all
}
