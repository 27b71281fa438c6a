package gemini

import (
	"encoding/json"

	"google.golang.org/genai"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// turn is one turn. The library's has a map for the arguments of a call, in which the order of the keys is lost.
type turn struct {
	Parts []part `json:"parts"`
	Role  string `json:"role,omitempty"`
}

type part struct {
	Text      string            `json:"text,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// functionResponse is what a function gave, which must be an object: the text is its `output`.
type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response functionOutput `json:"response"`
}

type functionOutput struct {
	Output string `json:"output"`
}

// contents is a prompt as turns: that of a user, and behind it what its last suffix bytes are, as the beginning of a turn of
// the model, which goes on with it. A prompt that is nothing else stays the user's, since a model wants something to answer.
func contents(prompt string, suffix int) []turn {
	asked, begun := prompt[:len(prompt)-suffix], prompt[len(prompt)-suffix:]
	if asked == "" || begun == "" {
		return []turn{{[]part{{Text: prompt}}, genai.RoleUser}}
	}
	return []turn{{[]part{{Text: asked}}, genai.RoleUser}, {[]part{{Text: begun}}, genai.RoleModel}}
}

// talked is a conversation as turns, and what the system says before it; nil where that is all, or nothing. What one speaker
// says at once is one turn: the answers to calls made together must stand in one.
func talked(req llm.Request) (system *turn, turns []turn) {
	messages := req.Messages
	if len(messages) > 1 && messages[0].Role == llm.RoleSystem {
		if first := said(req, messages[0]); len(first) > 0 {
			system = &turn{Parts: first}
		}
		messages = messages[1:]
	}
	for _, m := range messages {
		parts, role := said(req, m), genai.RoleUser
		if m.Role == llm.RoleAssistant {
			role = genai.RoleModel
		}
		switch n := len(turns); {
		case len(parts) == 0: // the service takes none that is empty
		case n > 0 && turns[n-1].Role == role:
			turns[n-1].Parts = append(turns[n-1].Parts, parts...)
		default:
			turns = append(turns, turn{parts, role})
		}
	}
	return system, turns
}

// said are the parts of a message.
func said(req llm.Request, m llm.Message) (parts []part) {
	if m.Role == llm.RoleTool {
		call := req.CallOf(m.CallID)
		return []part{{Response: &functionResponse{call.ID, call.Name, functionOutput{m.Content}}}}
	}
	if m.Content != "" {
		parts = append(parts, part{Text: m.Content})
	}
	for _, c := range m.Calls {
		parts = append(parts, part{Call: &functionCall{c.ID, c.Name, json.RawMessage(c.Arguments)}, Signature: c.Signature})
	}
	return parts
}

// declared are the tools of a request.
func declared(tools []llm.Tool) []genai.Tool {
	if len(tools) == 0 {
		return nil
	}
	all := make([]*genai.FunctionDeclaration, len(tools))
	for i, t := range tools {
		all[i] = &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if t.Schema != "" {
			all[i].ParametersJsonSchema = json.RawMessage(t.Schema)
		}
	}
	return []genai.Tool{{FunctionDeclarations: all}}
}
