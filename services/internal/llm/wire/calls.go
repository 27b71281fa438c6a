package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxCalls is how many tools one answer may ask for, and maxArguments how many bytes of arguments all of them may have: a
	// model that repeats itself must not fill the memory.
	maxCalls, maxArguments = 128, 1 << 20
	// NoIndex is the index of a part whose server tells none.
	NoIndex = -1
)

// Calls joins the tool calls of an answer, which come whole or in parts. The zero value has none.
type Calls struct {
	all  []*call
	size int // of all arguments, in bytes
}

type call struct {
	index     int
	id, name  string
	signature string
	arguments []byte
	text      Assembler
}

// Part is what one event of a stream tells of a call.
type Part struct {
	// Index says which call it belongs to; NoIndex: the last one, or with a name another one.
	Index int
	// ID and Name come with the first part. Another ID is another call also at an index that was used before, as some
	// servers have it.
	ID, Name string
	// Arguments is a JSON string with the next piece of them; empty or null for none.
	Arguments json.RawMessage
}

// Add takes the next part. The error says in a sentence what is wrong with the answer.
func (c *Calls) Add(p Part) error {
	one := c.find(p)
	if one == nil {
		one = &call{index: p.Index, id: p.ID, name: p.Name}
		if err := c.begin(one); err != nil {
			return err
		}
	}
	if one.id == "" {
		one.id = p.ID
	}
	if one.name == "" {
		one.name = p.Name
	}
	if len(p.Arguments) == 0 || string(p.Arguments) == "null" {
		return nil
	}
	text, err := one.text.Add(p.Arguments)
	if err != nil {
		return fmt.Errorf("the arguments of the tool %q are damaged: %w", Clip(one.name), err)
	}
	return c.argue(one, text)
}

// AddWhole takes a call that comes as a whole.
func (c *Calls) AddWhole(t llm.ToolCall) error {
	one := &call{index: NoIndex, id: t.ID, name: t.Name, signature: t.Signature}
	if err := c.begin(one); err != nil {
		return err
	}
	return c.argue(one, t.Arguments)
}

func (c *Calls) begin(one *call) error {
	if len(c.all) == maxCalls {
		return fmt.Errorf("the model asks for more than %d tools at once", maxCalls)
	}
	c.all = append(c.all, one)
	return nil
}

// argue adds to the arguments of a call.
func (c *Calls) argue(one *call, text string) error {
	if c.size += len(text); c.size > maxArguments {
		return fmt.Errorf("the arguments of the tools that the model asks for are longer than %d bytes", maxArguments)
	}
	one.arguments = append(one.arguments, text...)
	return nil
}

// find gives the call that a part belongs to, nil for another one.
func (c *Calls) find(p Part) *call {
	for i := len(c.all) - 1; i >= 0; i-- {
		one := c.all[i]
		switch {
		case p.Index != NoIndex && one.index != p.Index:
			continue
		case p.ID != "" && one.id != "" && p.ID != one.id, p.Index == NoIndex && p.Name != "":
			return nil
		}
		return one
	}
	return nil
}

// Any says whether there are calls.
func (c *Calls) Any() bool { return len(c.all) > 0 }

// Whole gives the calls of an answer that has ended, in the model's order. Arguments that are no JSON object are an error:
// nobody knows what the model meant. No arguments at all are `{}`, as servers leave them out for a tool that has none.
func (c *Calls) Whole() ([]llm.ToolCall, error) {
	var whole []llm.ToolCall
	for _, one := range c.all {
		t := llm.ToolCall{ID: one.id, Name: one.name, Arguments: string(one.arguments), Signature: one.signature}
		if t.Arguments == "" {
			t.Arguments = "{}"
		}
		if t.Name == "" {
			return nil, errors.New("the model asks for a tool and does not name it")
		}
		if err := llm.CheckArguments(t); err != nil {
			return nil, fmt.Errorf("the model asks for a tool, and %w", err)
		}
		whole = append(whole, t)
	}
	return whole, nil
}

// Function is a tool as OpenAI's API and those that follow it have it.
type Function struct {
	Type     string       `json:"type"`
	Function functionBody `json:"function"`
}

type functionBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Functions are the tools of a request. The keys of a schema keep their order.
func Functions(tools []llm.Tool) []Function {
	var all []Function
	for _, t := range tools {
		all = append(all, Function{"function", functionBody{t.Name, t.Description, json.RawMessage(t.Schema)}})
	}
	return all
}
