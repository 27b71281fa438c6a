package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of what is admitted.
const (
	// maxTools is how many tools of one server a session may have.
	maxTools = 128
	// outputLimit is the length of an output as a model reads it, in bytes.
	outputLimit = 256 << 10
)

// declared is a tool as a server tells it. Schemas stay as they are written: the order of keys is told to the model.
type declared struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    *bool  `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  *bool  `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// admit gives those tools of a list that may be used, by name, and a sentence for each that may not. Of several with one name none is
// taken: nothing runs in another's place (cases/agent.md c34).
func admit(c Config, list []json.RawMessage) (tools []*tool.Tool, problems []string) {
	named := map[string]int{}
	var all []declared
	for i, raw := range list {
		var d declared
		if err := json.Unmarshal(raw, &d); err != nil {
			problems = append(problems, fmt.Sprintf("tool %d of the list cannot be read: %v", i+1, plain(err)))
			continue
		}
		named[strings.ToLower(d.Name)]++
		all = append(all, d)
	}
	for _, d := range all {
		if !c.takes(d.Name) {
			continue
		}
		if n := named[strings.ToLower(d.Name)]; n > 1 {
			problems = append(problems, fmt.Sprintf("the name %s stands %d times", word(d.Name), n))
			continue
		}
		t, err := tool.Admit(d.definition(c))
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		tools = append(tools, t)
	}
	for _, name := range c.Tools {
		if name != All && named[strings.ToLower(name)] == 0 {
			problems = append(problems, fmt.Sprintf("there is no tool %s", word(name)))
		}
	}
	slices.SortFunc(tools, func(a, b *tool.Tool) int { return strings.Compare(a.Name, b.Name) })
	if len(tools) > maxTools {
		problems = append(problems, fmt.Sprintf("it has %d tools, of which the first %d are taken; name those that are wanted", len(tools), maxTools))
		tools = tools[:maxTools]
	}
	slices.Sort(problems)
	return tools, slices.Compact(problems)
}

func (d declared) definition(c Config) tool.Definition {
	title := d.Title
	if title == "" {
		title = d.Annotations.Title
	}
	a := d.Annotations
	return tool.Definition{
		Name: d.Name, Title: title, Description: d.Description, Input: string(d.Input), Output: schema(d.Output),
		// They are pinned, and never make a call less risky.
		Annotations: tool.Annotations{ReadOnly: tool.HintOf(a.ReadOnly), Destructive: tool.HintOf(a.Destructive), Idempotent: tool.HintOf(a.Idempotent), OpenWorld: tool.HintOf(a.OpenWorld)},
		Origin:      tool.Origin{Kind: tool.MCP, Server: c.Name, ServerID: c.id()},
		Timeout:     c.timeout(), Limit: outputLimit,
	}
}

// schema is an output schema, which may be left out.
func schema(raw json.RawMessage) string {
	if null(raw) {
		return ""
	}
	return string(raw)
}
