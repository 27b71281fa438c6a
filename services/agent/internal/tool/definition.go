// Package tool knows what tools there are, whether the arguments of a call fit them, and how the result of a call is told to
// the model (field/review-agent.md S6, S18, S19; cases/agent.md c2, c34).
//
// A definition may come from outside: of a client, or of an MCP server. Nothing of it is believed but its words, and those are
// bounded and shown with all invisible characters escaped. Its hash says whether it is still the one that was admitted.
package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// Bounds of a definition.
const (
	// MaxName is the length of the name of a tool, in bytes.
	MaxName = 128
	// MaxServer is that of the name of an MCP server.
	MaxServer = 64
	// MaxTitle is what the model is shown of a title, in code points: what is longer is cut.
	MaxTitle = 200
	// MaxDescription is what it is shown of a description.
	MaxDescription = 4096
	// MaxSchema is the size of an input schema, in bytes.
	MaxSchema = 64 << 10
	// MaxText is that of every other text of a definition.
	MaxText = 64 << 10
	// MaxTimeout bounds one call.
	MaxTimeout = time.Hour
	// MaxOutput bounds its output, in bytes.
	MaxOutput = 16 << 20
)

// Kind says where a tool comes from. The zero value is none, and is refused.
type Kind string

// Where tools come from.
const (
	BuiltIn Kind = "BUILT_IN"
	Client  Kind = "CLIENT"
	MCP     Kind = "MCP"
)

// Origin is where a tool comes from.
type Origin struct {
	Kind Kind `json:"kind"`
	// Server is the name of an MCP server in the configuration, ServerID that and its command line or URL (S18). Both are
	// empty for other kinds.
	Server   string `json:"server,omitempty"`
	ServerID string `json:"server_id,omitempty"`
}

// Hint is what a definition says of a tool: yes, no, or, the zero value, nothing.
type Hint string

// What can be said.
const (
	Unsaid Hint = ""
	Yes    Hint = "yes"
	No     Hint = "no"
)

// HintOf is what a yes, a no, or nothing says.
func HintOf(b *bool) Hint {
	switch {
	case b == nil:
		return Unsaid
	case *b:
		return Yes
	}
	return No
}

// Annotations are the hints of a definition, as MCP has them. Those of a client or a server never make a call less risky.
type Annotations struct {
	// ReadOnly changes nothing. Destructive may lose what was there. Idempotent does no more when it is repeated. OpenWorld
	// reaches beyond the work folder and the session.
	ReadOnly    Hint `json:"read_only,omitempty"`
	Destructive Hint `json:"destructive,omitempty"`
	Idempotent  Hint `json:"idempotent,omitempty"`
	OpenWorld   Hint `json:"open_world,omitempty"`
}

// Definition is a tool as it was declared.
type Definition struct {
	// Name is without the server: Full is the name that the model uses.
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Input and Output are JSON Schemas as raw text, kept byte for byte: the order of keys is told to the model. Output may be
	// empty.
	Input       string      `json:"input_schema"`
	Output      string      `json:"output_schema,omitempty"`
	Annotations Annotations `json:"annotations"`
	Origin      Origin      `json:"origin"`
	// Timeout bounds a call, Limit its output in bytes. They are ours, and no part of the hash.
	Timeout time.Duration `json:"timeout_ns"`
	Limit   int           `json:"output_limit_bytes"`
}

// Hash is what a definition is pinned by (field/review-agent.md S18): another hash is another tool, whatever its name. A schema
// counts by its values, so a server that sends its keys in another order has changed nothing.
func (d Definition) Hash() (canon.Hash, error) {
	text, err := json.Marshal(struct {
		Of, Version, Name, Title, Description, Input, Output string
		Annotations                                          Annotations
		Origin                                               Origin
	}{"definition", d.Version, d.Name, d.Title, d.Description, pinned(d.Input), pinned(d.Output), d.Annotations, d.Origin})
	if err != nil {
		return "", err
	}
	if text, err = canon.JSON(text); err != nil {
		return "", err
	}
	return canon.Sum(text), nil
}

// pinned is a schema as it is hashed. One without canonical form (it may bound a number by 2^64-1) counts by its bytes.
func pinned(schema string) string {
	text, err := canon.JSON([]byte(schema))
	if err != nil {
		return schema
	}
	return string(text)
}

// check gives what is wrong with a definition, but for its input schema.
func (d Definition) check() []Problem {
	var out []Problem
	add := func(wrong bool, field, format string, args ...any) {
		if wrong {
			out = append(out, Problem{field, fmt.Sprintf(format, args...)})
		}
	}
	for _, text := range checkName(d) {
		add(true, "name", "%s", text)
	}
	for _, s := range []struct{ field, text string }{
		{"version", d.Version}, {"title", d.Title}, {"description", d.Description}, {"server_id", d.Origin.ServerID}, {"output_schema", d.Output}, {"input_schema", d.Input},
	} {
		words := strings.ReplaceAll(s.field, "_", " ")
		add(len(s.text) > MaxText, s.field, "its %s has %d bytes, at most %d are taken", words, len(s.text), MaxText)
		add(!utf8.ValidString(s.text), s.field, "its %s is not UTF-8", words)
	}
	for _, h := range []struct {
		field string
		hint  Hint
	}{{"read_only", d.Annotations.ReadOnly}, {"destructive", d.Annotations.Destructive}, {"idempotent", d.Annotations.Idempotent}, {"open_world", d.Annotations.OpenWorld}} {
		add(h.hint != Unsaid && h.hint != Yes && h.hint != No, "annotations."+h.field, "its annotation %s is %q, and must be yes, no or left out", h.field, h.hint)
	}
	add(d.Timeout <= 0 || d.Timeout > MaxTimeout, "timeout", "its time limit is %s, and must be above 0 and at most %s", d.Timeout, MaxTimeout)
	add(d.Limit <= 0 || d.Limit > MaxOutput, "output_limit", "its output limit is %d bytes, and must be from 1 to %d", d.Limit, MaxOutput)
	return out
}

// Shown is a definition as a model may read it (S19).
type Shown struct {
	Name, Description, Input string
	// Cut says that the description is longer than what is shown.
	Cut bool
}

// Show gives what the model is told of a tool: the title and description as plain text, the schema with the same values and
// no character that cannot be seen.
func (d Definition) Show() Shown {
	s := Shown{Name: d.Full(), Input: visibleJSON(d.Input)}
	title, _ := Plain(d.Title, MaxTitle)
	s.Description, s.Cut = Plain(d.Description, MaxDescription)
	if s.Description == "" {
		s.Description = title
	}
	return s
}
