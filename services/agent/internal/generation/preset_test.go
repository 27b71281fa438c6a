package generation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// everyKnob is a sampling that leaves nothing open.
func everyKnob() llm.Sampling {
	return llm.Sampling{
		Temperature: ptr(0.8), TopK: ptr(7), TopP: ptr(0.9), MinP: ptr(0.05), TypicalP: ptr(0.95), TopA: ptr(0.1), TailFree: ptr(0.9),
		RepeatPenalty: ptr(1.1), RepeatSlope: ptr(0.5), RepeatRange: ptr(512), PresencePenalty: ptr(0.1), FrequencyPenalty: ptr(0.2),
		DRY: &llm.DRY{Multiplier: 0.8, Breakers: []string{"」"}}, XTC: &llm.XTC{Probability: 0.5, Threshold: 0.1}, Mirostat: &llm.Mirostat{Mode: 2, Tau: 5},
		DynamicTemperature: &llm.DynamicTemperature{Range: 0.5}, Smoothing: &llm.Smoothing{Factor: 0.3}, LogitBias: []llm.Bias{{Token: 5, Bias: -1}},
		BanEOS: true, Grammar: "root ::= x", Seed: ptr(uint32(7)), MaxTokens: 500, Stop: []string{"了"},
	}
}

// TestAPresetHoldsWhereTheRequestIsSilent: for the model, in the opening event and in the record, also when it is asked again.
func TestAPresetHoldsWhereTheRequestIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	w.prompts.sampling, w.prompts.stop = everyKnob(), []string{"[INST]"}
	req := w.request("夜")
	req.Build = []byte("form")
	req.Sampling = llm.Sampling{MinP: ptr(0.0), DRY: &llm.DRY{}, Grammar: "root ::= y"}
	want := everyKnob()
	want.MinP, want.DRY, want.Grammar, want.Stop = ptr(0.0), &llm.DRY{}, "root ::= y", []string{"了", "[INST]"}
	for range 2 {
		r := w.read(w.generate(req), 0)
		for who, got := range map[string]llm.Sampling{"record": r.stored.Node.Record.Sampling, "opened": r.opened.Sampling, "model": w.model.requests[0].Sampling} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", who, diff)
			}
		}
	}
	if n := w.model.calls(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestThePresetsSeedGrows: several answers are drawn with the preset's seed and those behind it, unless the request has one.
func TestThePresetsSeedGrows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*generation.Request)
		want   []uint32
	}{
		"one":           {func(*generation.Request) {}, []uint32{7}},
		"variants":      {func(r *generation.Request) { r.Variants = 3 }, []uint32{7, 8, 9}},
		"repeat":        {func(r *generation.Request) { r.Repeat = 3 }, []uint32{7, 8, 9}},
		"the request's": {func(r *generation.Request) { r.Variants, r.Sampling.Seed = 2, ptr(uint32(40)) }, []uint32{40, 41}},
	} {
		w := newWorld(t, says("い"))
		w.prompts.sampling.Seed = ptr(uint32(7))
		req := w.request("夜")
		req.Build = []byte("form")
		c.change(&req)
		got := make([]uint32, len(c.want))
		if len(c.want) == 1 {
			got[0] = *w.read(w.generate(req), 0).stored.Node.Record.Sampling.Seed
		} else {
			for n, r := range w.readAll(w.several(req)).each {
				got[n] = *r.stored.Node.Record.Sampling.Seed
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestKnobsThatTheKindDoesNotHave: those of the request are refused before a prompt of the text is built, those of a preset when it is
// known what it says, and by its name.
func TestKnobsThatTheKindDoesNotHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	w.model.without = []llm.Knob{llm.KnobTopA, llm.KnobDRY}
	req := w.request("夜")
	req.Build, req.Sampling = []byte("form"), everyKnob()
	var unknown *llm.KnobsError
	if err := w.read(w.generate(req), 0).err; !errors.As(err, &unknown) || unknown.Kind != "fake" || unknown.Names() != "top_a and dry" || len(w.prompts.builds) != 1 || w.prompts.builds[0].Body != "…" {
		t.Errorf("%v, %d builds", err, len(w.prompts.builds))
	}
	w.prompts.sampling, req = everyKnob(), w.request("夜")
	req.Build = []byte("form")
	var preset *generation.PresetError
	if err := w.read(w.generate(req), 0).err; !errors.As(err, &preset) || preset.Knobs.Names() != "top_a and dry" || w.model.calls() != 0 {
		t.Errorf("%v, %d calls", err, w.model.calls())
	}
}
