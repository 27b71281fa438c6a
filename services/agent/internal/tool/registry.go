package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// MaxTools is how many tools a session may have.
const MaxTools = 512

// Tool is a definition that was admitted.
type Tool struct {
	Definition
	// Hash pins the definition.
	Hash   canon.Hash
	schema *schema
}

// Wire is the name of the tool in the tool calls of model servers, which take no separator.
func (t *Tool) Wire() string { return wireName(t.Full()) }

// Admit checks a definition. The error is a *DefinitionError with everything that is wrong.
func Admit(d Definition) (*Tool, error) {
	problems := d.check()
	s, err := compile(d.Input)
	if err != nil {
		problems = append(problems, Problem{"input_schema", err.Error()})
	}
	if len(problems) > 0 {
		return nil, &DefinitionError{Tool: d.Full(), Problems: problems}
	}
	h, err := d.Hash()
	if err != nil {
		return nil, &DefinitionError{Tool: d.Full(), Problems: []Problem{{"input_schema", err.Error()}}}
	}
	return &Tool{Definition: d, Hash: h, schema: s}, nil
}

// DefinitionError says why a tool is not admitted.
type DefinitionError struct {
	Tool     string
	Problems []Problem
}

// Problem is what is wrong with a field of a definition: name, input_schema, annotations.read_only.
type Problem struct{ Field, Text string }

// Error gives all reasons, in a line.
func (e *DefinitionError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Text
	}
	return "the tool " + quote(e.Tool) + " is refused: " + strings.Join(texts, "; ")
}

// Registry are the tools of a session, in a stable order: those built in, those of the client, those of MCP servers, each by
// name, so that the same tools always make the same prompt. It never changes; With makes another one.
type Registry struct {
	tools  []*Tool
	byName map[string]*Tool
	byWire map[string]*Tool
}

// NewRegistry holds tools that were admitted. The error is a *RegistryError with every name that stands twice: nothing is
// replaced, or run in another's place (cases/agent.md c34). Names that differ in case alone are one, as a person reads them.
func NewRegistry(tools ...*Tool) (*Registry, error) {
	r := &Registry{tools: slices.Clone(tools), byName: map[string]*Tool{}, byWire: map[string]*Tool{}}
	slices.SortStableFunc(r.tools, func(a, b *Tool) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Full(), b.Full()))
	})
	var problems []string
	if len(tools) > MaxTools {
		problems = append(problems, fmt.Sprintf("there are %d tools, at most %d are taken", len(tools), MaxTools))
	}
	seen := map[string]*Tool{}
	for _, t := range r.tools {
		key := strings.ToLower(t.Full())
		if other, twice := seen[key]; twice {
			problems = append(problems, fmt.Sprintf("the name %s stands twice: %s and %s", quote(t.Full()), from(other), from(t)))
		}
		if other, twice := r.byWire[t.Wire()]; twice && seen[key] == nil {
			problems = append(problems, fmt.Sprintf("model servers could not tell %s from %s: both are called %s there", quote(t.Full()), quote(other.Full()), t.Wire()))
		}
		seen[key], r.byName[t.Full()], r.byWire[t.Wire()] = t, t, t
	}
	if len(problems) > 0 {
		return nil, &RegistryError{Problems: problems}
	}
	return r, nil
}

// RegistryError says which tools cannot stand beside each other.
type RegistryError struct{ Problems []string }

// Error gives all of them, in a line.
func (e *RegistryError) Error() string { return strings.Join(e.Problems, "; ") }

func rank(t *Tool) int { return slices.Index([]Kind{BuiltIn, Client, MCP}, t.Origin.Kind) }

func from(t *Tool) string {
	switch t.Origin.Kind {
	case BuiltIn:
		return "built in"
	case Client:
		return "declared by the client"
	}
	return "of the server " + quote(t.Origin.Server)
}

// With gives these tools and more. The error is that of NewRegistry.
func (r *Registry) With(tools ...*Tool) (*Registry, error) {
	return NewRegistry(append(slices.Clone(r.tools), tools...)...)
}

// Tools gives all, in order.
func (r *Registry) Tools() []*Tool { return slices.Clone(r.tools) }

// Find gives a tool by its full name, or by the one that it has in the tool calls of model servers. Case counts.
func (r *Registry) Find(name string) (*Tool, bool) {
	if t, ok := r.byName[name]; ok {
		return t, true
	}
	t, ok := r.byWire[name]
	return t, ok
}
