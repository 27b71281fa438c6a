package llm

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Role is who says a message.
type Role string

// The roles of a conversation. A server that has no system or tool role gets such a message as one of the user.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation. Its content is sent as it is.
type Message struct {
	Role    Role
	Content string
	// Calls are what an assistant asked for in this message.
	Calls []ToolCall
	// CallID is the ToolCall.ID that a tool answers.
	CallID string
}

// Tool is what a model may ask for.
type Tool struct {
	// Name is 1 to 64 of [A-Za-z0-9_.-].
	Name, Description string
	// Schema is the JSON Schema of its arguments, sent byte for byte: the order of its keys is meaning (design 2).
	Schema string
}

// ToolCall is a model's wish to call a tool. Arguments are JSON text as the model wrote it, which may be broken.
type ToolCall struct {
	ID, Name, Arguments string
}

// Text is the prompt, or the contents of the messages with a blank line between them.
func (r Request) Text() string {
	if len(r.Messages) == 0 {
		return r.Prompt
	}
	all := make([]string, len(r.Messages))
	for i, m := range r.Messages {
		all[i] = m.Content
	}
	return strings.Join(all, "\n\n")
}

// CheckFor is Check, and refuses what a kind of server does not take of a conversation.
func (r Request) CheckFor(told Told) error {
	switch {
	case len(r.Messages) > 0 && !told.Conversations:
		return errors.New("conversations cannot be sent to this kind of server, only prompts")
	case len(r.Tools) > 0 && !told.Tools:
		return errors.New("tools cannot be sent to this kind of server")
	}
	return r.Check()
}

// checkMessages says in one sentence what no server could do.
func (r Request) checkMessages() error {
	switch {
	case len(r.Messages) == 0 && len(r.Tools) > 0:
		return errors.New("tools go with messages; there are none")
	case len(r.Messages) > 0 && r.Prompt != "":
		return errors.New("there is a prompt and there are messages; only one of them can be sent")
	}
	for i, m := range r.Messages {
		if err := m.check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func (m Message) check() error {
	switch m.Role {
	case RoleSystem, RoleUser, RoleAssistant, RoleTool:
	default:
		return fmt.Errorf("its role is %q; it must be system, user, assistant or tool", m.Role)
	}
	switch {
	case !utf8.ValidString(m.Content):
		return ErrNotUTF8
	case len(m.Calls) > 0 && m.Role != RoleAssistant:
		return errors.New("only an assistant calls tools")
	case (m.Role == RoleTool) != (m.CallID != ""):
		return errors.New("a message of a tool, and no other, names the call that it answers")
	}
	return nil
}
