package llamacpp

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// A prompt made of messages is at most formBase + formEach × the bytes of their contents, each escaped in the worst case.
const (
	formBase = 1 << 20
	formEach = 6
)

// form asks for the prompt that the template of the model makes of messages.
type form struct {
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// formed gives the prompt of a conversation in which no tool was called, by /apply-template. So it is counted, cached and told
// like every other prompt.
func (c *Client) formed(ctx context.Context, all []llm.Message) (string, error) {
	var ask form
	most := int64(formBase)
	for _, m := range all {
		ask.Messages = append(ask.Messages, message{string(m.Role), m.Content})
		most += formEach * int64(len(m.Content))
	}
	var answer struct {
		Prompt string `json:"prompt"`
	}
	if err := c.server.Ask(ctx, c.server.CountLimit(), "/apply-template", ask, &answer, most); err != nil {
		return "", err
	}
	if answer.Prompt == "" {
		return "", c.server.Fault(llm.FaultProtocol, nil, "the server makes no prompt of %d messages", len(all))
	}
	return answer.Prompt, nil
}
