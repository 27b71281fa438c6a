package generation_test

import (
	"errors"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestAPromptOverTheLimitIsSentOnlyWhereAsked: the limit is the writer's to pass, not ours.
func TestAPromptOverTheLimitIsSentOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	w.prompts.overflow = &llm.OverflowError{Limit: 3, Tokens: 5, Field: "story"}
	req := w.request("夜")
	req.Build = []byte("form")
	overflow := new(llm.OverflowError)
	if r := w.read(w.generate(req), 0); !errors.As(r.err, &overflow) || overflow.Tokens != 5 || r.opened != nil {
		t.Errorf("without send_overflow: %v", r.err)
	}
	if o, err := w.Preview(t.Context(), ns, req); err != nil || o.Build.Overflow == nil {
		t.Errorf("a preview sends nothing and shows it: %v", err)
	}
	if w.model.calls() != 0 {
		t.Fatal("the model was called")
	}
	req.SendOverflow = true
	if r := w.read(w.generate(req), 0); r.stored == nil || r.opened.Build.Overflow == nil {
		t.Errorf("with send_overflow: %v", r.err)
	}
}

// TestTheBuildDecidesTheLengthThatNobodyNamed: promptbuilder knows that of a mode or a preset.
func TestTheBuildDecidesTheLengthThatNobodyNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	req := w.request("夜")
	req.Build = []byte("form")
	r := w.read(w.generate(req), 0)
	if got := w.prompts.builds[0]; got.MaxTokens != 0 || string(got.Form) != "form" {
		t.Errorf("built from %+v", got)
	}
	if got := r.stored.Node.Record.Sampling.MaxTokens; got != 500 || w.model.requests[0].Sampling.MaxTokens != 500 {
		t.Errorf("%d tokens in the record, %d for the model; want 500", got, w.model.requests[0].Sampling.MaxTokens)
	}
	req = w.request("夜")
	w.read(w.generate(req), 0)
	if got := w.prompts.builds[1]; got.MaxTokens != 250 {
		t.Errorf("without build: %d tokens, want the default", got.MaxTokens)
	}
}
