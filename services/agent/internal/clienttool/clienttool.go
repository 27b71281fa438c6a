// Package clienttool holds the tools that a caller declares with its session and carries out itself (field/agent.md
// C13; field/review-agent.md C49, C50, C53, S18).
//
// To the router such a tool is an Effect as any other: it is judged, decided and written down before anybody hears of it. From its INTENT
// on the call is open: Open tells it with exactly the bytes that were judged, and Submit takes its result, once. Nobody waits for that: the
// session is at rest until the result is taken, the work is stopped or the time of the call is over by the clock of the server
// (ledger.Call.Client), and then whoever carries it on looks what became of the call. Without a result nobody knows. All of it is stored, so
// that a process may die at any instruction.
package clienttool

import (
	"fmt"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of what a caller declares.
const (
	// MaxTools is how many tools a session may declare.
	MaxTools = 64
	// MaxBytes bounds the texts of all of them together: they are part of the session, which is read and written whole.
	MaxBytes = 256 << 10
	// DefaultTimeout is how long a client may take for a call; tool.MaxTimeout is the most that may be declared.
	DefaultTimeout = 5 * time.Minute
	// MaxResult bounds a result, in bytes. The model is told all of it.
	MaxResult = 1 << 20
)

// Declared is a tool as a caller declares it.
type Declared struct {
	Name, Description string
	// Input is a JSON Schema of an object as raw text, kept byte for byte.
	Input string
	// Timeout is how long the client may take for a call, from its INTENT on. 0: DefaultTimeout.
	Timeout time.Duration
}

// Definitions checks what is declared, and gives what a session keeps of it (ledger.Settings). The error is a *ledger.FieldsError with
// everything that is wrong, in fields of the form tools[0].input_schema.
func Definitions(all []Declared) ([]tool.Definition, error) {
	if wrong := sizes(all); wrong != nil {
		return nil, &ledger.FieldsError{Wrong: wrong}
	}
	var out []tool.Definition
	var wrong []session.Violation
	names := reserved()
	for i, d := range all {
		def := d.definition()
		if _, err := tool.Admit(def); err != nil {
			wrong = append(wrong, problems(i, err)...)
		}
		key := strings.ToLower(d.Name)
		if taken := names[key]; taken != "" {
			wrong = append(wrong, session.Violation{Field: fmt.Sprintf("tools[%d].name", i), Description: "is the name of " + taken + " already, in any case of letters"})
		} else {
			names[key] = fmt.Sprintf("tools[%d]", i)
		}
		out = append(out, def)
	}
	if wrong == nil {
		wrong = together(out)
	}
	if wrong != nil {
		return nil, &ledger.FieldsError{Wrong: wrong}
	}
	return out, nil
}

// sizes bounds the work before a schema is read.
func sizes(all []Declared) (wrong []session.Violation) {
	if len(all) > MaxTools {
		wrong = append(wrong, session.Violation{Field: "tools", Description: fmt.Sprintf("must be at most %d, and are %d", MaxTools, len(all))})
	}
	bytes := 0
	for _, d := range all {
		bytes += len(d.Name) + len(d.Description) + len(d.Input)
	}
	if bytes > MaxBytes {
		wrong = append(wrong, session.Violation{Field: "tools", Description: fmt.Sprintf("must have at most %d bytes together, and have %d", MaxBytes, bytes)})
	}
	return wrong
}

func (d Declared) definition() tool.Definition {
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
	}
	return tool.Definition{
		Name: d.Name, Description: d.Description, Input: d.Input, Origin: tool.Origin{Kind: tool.Client},
		Timeout: d.Timeout, Limit: MaxResult,
	}
}

// reserved are the names of the tools that are built in, also of those that are not switched on.
func reserved() map[string]string {
	names := map[string]string{}
	for _, d := range append(tool.BuiltIns(), tool.ExecDefinition(false)) {
		names[d.Name] = "a tool that is built in"
	}
	return names
}

// problems are the fields of a tool that are wrong.
func problems(i int, err error) (wrong []session.Violation) {
	refused, ok := err.(*tool.DefinitionError) //nolint:errorlint // what Admit gives
	if !ok {
		return []session.Violation{{Field: fmt.Sprintf("tools[%d]", i), Description: err.Error()}}
	}
	for _, p := range refused.Problems {
		wrong = append(wrong, session.Violation{Field: fmt.Sprintf("tools[%d].%s", i, p.Field), Description: p.Text})
	}
	return wrong
}

// together says which tools could not stand beside those that every session has.
func together(all []tool.Definition) []session.Violation {
	tools, err := Tools(append(append(tool.BuiltIns(), tool.ExecDefinition(false)), all...))
	if err == nil {
		_, err = tool.NewRegistry(tools...)
	}
	if err != nil {
		return []session.Violation{{Field: "tools", Description: err.Error()}}
	}
	return nil
}

// Tools admits the definitions of a session again, for its registry. The error is a *tool.DefinitionError: by a later version one may be
// refused that was admitted once.
func Tools(all []tool.Definition) ([]*tool.Tool, error) {
	out := make([]*tool.Tool, len(all))
	for i, d := range all {
		t, err := tool.Admit(d)
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}
