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
