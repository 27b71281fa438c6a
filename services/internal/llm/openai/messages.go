package openai

import (
	"github.com/openai/openai-go/v3"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

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
