package wire

import (
	"cmp"
	"errors"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Refuse makes llm.FaultRefused of the first thing that is wrong with a request, before anything is sent; nil where all of
// them are nil.
func (s *Server) Refuse(wrong ...error) error {
	err := cmp.Or(wrong...)
	if err == nil {
		return nil
	}
	return s.Fault(llm.FaultRefused, err, "%v", err)
}

// NotEmpty refuses an empty prompt for a kind of server that does something else then, which why says.
func NotEmpty(prompt, why string) error {
	if prompt == "" {
		return errors.New("the prompt is empty, and " + why)
	}
	return nil
}

// Blame makes a *llm.BadKnobsError the cause of a refusal whose words name a knob that the request sets: by its name in
// Sampling, or by that which fields has for it, where the kind of server calls it otherwise. Any other error stays as it is.
func Blame(err error, s llm.Sampling, fields map[llm.Knob]string) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultRefused || e.Err != nil {
		return err
	}
	for _, k := range llm.Knobs(s) {
		if strings.Contains(e.Message, cmp.Or(fields[k], string(k))) {
			e.Err = &llm.BadKnobsError{Bad: []llm.BadKnob{{Field: string(k), Problem: "is not accepted: " + e.Message}}}
			break
		}
	}
	return err
}

// ToolsRefused adds to a refusal whose words are of tools, of a request that has some, how to do without. Any other error stays as it is.
func ToolsRefused(err error, req llm.Request) error {
	var e *llm.Error
	if len(req.Tools) == 0 || !errors.As(err, &e) || e.Fault != llm.FaultRefused || e.Err != nil {
		return err
	}
	if words := strings.ToLower(e.Message); strings.Contains(words, "tool") || strings.Contains(words, "function call") {
		e.Message += "; with `tools: false` in the backends file this backend is sent none"
	}
	return err
}
