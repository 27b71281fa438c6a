package openaiwire

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// ChatPath is where conversations are answered.
const ChatPath = "/v1/chat/completions"

// Usage has the server tell at the end what an answer had in tokens.
var Usage = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}

// Conversation is the body of a request for the answer to messages, or to a prompt as one of them, with its tools. fields are
// those that the library does not know; it takes them over. The limit of tokens, which has two names, is still to be set.
func Conversation(req llm.Request, model string, stops []string, fields map[string]any) openai.ChatCompletionNewParams {
	if len(req.Tools) > 0 {
		fields["tools"] = wire.Functions(req.Tools) // the library's own have no order of keys in a schema
	}
	if req.Schema != "" {
		fields["response_format"] = format{"json_schema", held{"answer", true, json.RawMessage(req.Schema)}}
	}
	p := openai.ChatCompletionNewParams{
		Model: model, StreamOptions: Usage, Messages: said(req), Stop: openai.ChatCompletionNewParamsStopUnion{OfStringArray: stops},
	}
	p.SetExtraFields(fields)
	return p
}

// format has the answer held to a schema. The library's own has no order of keys in it.
type format struct {
	Type   string `json:"type"`
	Schema held   `json:"json_schema"`
}

type held struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// said are the messages of a request; a prompt is one of the user.
func said(req llm.Request) []openai.ChatCompletionMessageParamUnion {
	if len(req.Messages) == 0 {
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(req.Prompt)}
	}
	all := make([]openai.ChatCompletionMessageParamUnion, len(req.Messages))
	for i, m := range req.Messages {
		switch m.Role {
		case llm.RoleSystem:
			all[i] = openai.SystemMessage(m.Content)
		case llm.RoleAssistant:
			all[i] = openai.AssistantMessage(m.Content)
			all[i].OfAssistant.ToolCalls = called(m.Calls)
		case llm.RoleTool:
			all[i] = openai.ToolMessage(m.Content, m.CallID)
		default:
			all[i] = openai.UserMessage(m.Content)
		}
	}
	return all
}

// called are the calls of an assistant.
func called(calls []llm.ToolCall) []openai.ChatCompletionMessageToolCallUnionParam {
	var all []openai.ChatCompletionMessageToolCallUnionParam
	for _, c := range calls {
		all = append(all, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: c.Arguments},
		}})
	}
	return all
}
