package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	// Schema is the JSON Schema of its arguments, a JSON object whose keys are sent in their order, which is meaning (design 2).
	// Empty: it has no arguments.
	Schema string
}

// ToolCall is a model's wish to call a tool. ID is empty where the server tells none. Arguments are a JSON object as the model wrote it.
type ToolCall struct {
	ID, Name, Arguments string
	// Signature is what the server wants to have back with the call, as it came. Empty for most kinds.
	Signature string
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

// CallOf is the call with an id, which a message of a tool answers: the last one, since ids may come again in a later turn.
func (r Request) CallOf(id string) ToolCall {
	for _, m := range slices.Backward(r.Messages) {
		for _, c := range m.Calls {
			if c.ID == id {
				return c
			}
		}
	}
	return ToolCall{}
}

// CheckFor is Check, and refuses what a kind of server does not take of a conversation.
func (r Request) CheckFor(told Told) error {
	switch {
	case len(r.Messages) > 0 && !told.Conversations:
		return errors.New("conversations cannot be sent to this kind of server, only prompts")
	case len(r.Tools) > 0 && !told.Tools:
		return errors.New("tools cannot be sent to this model server")
	case r.Schema != "" && !told.Schema:
		return errors.New("an answer of this kind of server cannot be held to a schema")
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
	if err := r.checkSchema(); err != nil {
		return err
	}
	called := map[string]bool{}
	for i, m := range r.Messages {
		err := m.check()
		if err == nil && m.Role == RoleTool && !called[m.CallID] {
			err = fmt.Errorf("it answers the call %q, and no message before it makes that call", m.CallID)
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		for _, c := range m.Calls {
			called[c.ID] = true
		}
	}
	for i, t := range r.Tools {
		if err := t.check(); err != nil {
			return fmt.Errorf("tool %d: %w", i, err)
		}
	}
	return nil
}

// toolName is what the name of a tool looks like.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (t Tool) check() error {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("its name is %q; it must be 1 to 64 letters, digits, underscores, dots and dashes", t.Name)
	case !utf8.ValidString(t.Description + t.Schema):
		return ErrNotUTF8
	case t.Schema != "" && !object(t.Schema):
		return errors.New("its schema is no JSON object")
	}
	return nil
}

// CheckArguments says in one sentence that the arguments of a call are no JSON object: no server reads others back.
func CheckArguments(c ToolCall) error {
	if !utf8.ValidString(c.Arguments) || !object(c.Arguments) {
		return fmt.Errorf("the arguments of %q are no JSON object", c.Name)
	}
	return nil
}

// object says whether text is one JSON object.
func object(text string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &fields) == nil && fields != nil
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
	for _, c := range m.Calls {
		if err := CheckArguments(c); err != nil {
			return err
		}
	}
	return nil
}

// checkSchema says in one sentence what no server could do.
func (r Request) checkSchema() error {
	if r.Schema == "" {
		return nil
	}
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(r.Schema), &object); {
	case err != nil:
		return fmt.Errorf("the schema of the answer is no JSON object: %w", err)
	case len(r.Messages) == 0:
		return errors.New("a schema of the answer goes with messages; there are none")
	case len(r.Tools) > 0:
		return errors.New("there are tools and a schema of the answer; only one of them can be sent")
	case r.Sampling.Grammar != "":
		return errors.New("there are a grammar and a schema of the answer; only one of them can be sent")
	}
	return nil
}
