package generation_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
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

// TestTheCacheIsToldWhereTheServerTellsIt: 0 tokens from the cache are not the same as no word of it.
func TestTheCacheIsToldWhereTheServerTellsIt(t *testing.T) {
	t.Parallel()
	none := says("い")
	none.result.CachedTokens = 0
	silent := says("い")
	silent.result.CachedTokens, silent.result.CacheTold = 0, false
	for name, c := range map[string]struct {
		model        *model
		first, again *generation.Cache
	}{
		"some":   {says("い"), &generation.Cache{Read: 4, Cached: 3}, &generation.Cache{Read: 4, Cached: 3}},
		"none":   {none, &generation.Cache{Read: 7}, nil},
		"silent": {silent, nil, nil},
	} {
		w := newWorld(t, c.model)
		req := w.request("夜")
		if got := w.read(w.generate(req), 0).stored.Cache; !reflect.DeepEqual(got, c.first) {
			t.Errorf("%s: %+v, want %+v", name, got, c.first)
		}
		if got := w.read(w.generate(req), 0).stored.Cache; !reflect.DeepEqual(got, c.again) {
			t.Errorf("%s, replayed: %+v, want %+v", name, got, c.again)
		}
	}
}
