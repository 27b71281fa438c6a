package openai

import (
	"github.com/openai/openai-go/v3"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// said are the messages of a request; a prompt is one of the user. What a tool says has no call before it that the server
// could know: it is one of the user too.
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
		default:
			all[i] = openai.UserMessage(m.Content)
		}
	}
	return all
}
