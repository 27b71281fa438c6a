package wire

import (
	"errors"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// A knob is blamed by the server's name for it, only where the request sets it, and only for a refusal.
func TestBlame(t *testing.T) {
	t.Parallel()
	few := 3
	names := map[llm.Knob]string{llm.KnobRepeatRange: "repeat_last_n"}
	refused := func(message string) error { return &llm.Error{Fault: llm.FaultRefused, Message: message} }
	for name, test := range map[string]struct {
		err      error
		sampling llm.Sampling
		want     string
	}{
		"by its name":          {refused("failed to parse grammar"), llm.Sampling{Grammar: "x"}, "grammar"},
		"by the server's name": {refused("Field 'repeat_last_n': too small"), llm.Sampling{Grammar: "x", RepeatRange: &few}, "repeat_range"},
		"not set":              {refused("failed to parse grammar"), llm.Sampling{RepeatRange: &few}, ""},
		"not named":            {refused("no"), llm.Sampling{Grammar: "x"}, ""},
		"another fault":        {&llm.Error{Fault: llm.FaultBusy, Message: "grammar"}, llm.Sampling{Grammar: "x"}, ""},
		"no error":             {nil, llm.Sampling{Grammar: "x"}, ""},
	} {
		got := Blame(test.err, test.sampling, names)
		field := ""
		if bad := (*llm.BadKnobsError)(nil); errors.As(got, &bad) {
			field = bad.Bad[0].Field
		}
		if field != test.want || (got == nil) != (test.err == nil) {
			t.Errorf("%s: %v blames %q, not %q", name, got, field, test.want)
		}
	}
}

// Only a refusal of tools says how to do without them: elsewhere the advice would lead nowhere.
func TestToolsRefused(t *testing.T) {
	t.Parallel()
	tools := llm.Request{Tools: []llm.Tool{{Name: "x"}}}
	for name, test := range map[string]struct {
		err  *llm.Error
		req  llm.Request
		told bool
	}{
		"tools are refused":      {&llm.Error{Fault: llm.FaultRefused, Message: "m does not support Tools"}, tools, true},
		"something else":         {&llm.Error{Fault: llm.FaultRefused, Message: "no"}, tools, false},
		"none were sent":         {&llm.Error{Fault: llm.FaultRefused, Message: "tools"}, llm.Request{}, false},
		"another fault":          {&llm.Error{Fault: llm.FaultBusy, Message: "tools"}, tools, false},
		"a knob is wrong beside": {&llm.Error{Fault: llm.FaultRefused, Message: "tools", Err: &llm.BadKnobsError{}}, tools, false},
	} {
		before := test.err.Message
		if err := ToolsRefused(test.err, test.req); !errors.Is(err, test.err) || (test.err.Message != before) != test.told {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := ToolsRefused(nil, tools); err != nil {
		t.Error(err)
	}
}
