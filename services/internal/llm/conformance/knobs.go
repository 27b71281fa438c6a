package conformance

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

func (s Subject) badSampling(t *testing.T) {
	for _, most := range []int{0, -1} {
		_, err := s.Backend.Generate(t.Context(), s.request(s.Prompt, most))
		wantFault(t, err, llm.FaultRefused)
	}
	r := s.request(s.Prompt, 1)
	r.Sampling.Stop = []string{""}
	_, err := s.Backend.Generate(t.Context(), r)
	wantFault(t, err, llm.FaultRefused)
}

// badKnobs: what a server does not take of sampling is refused by its name, also where the server would go on without it.
func (s Subject) badKnobs(t *testing.T) {
	sampler, ok := s.Backend.(llm.Sampler)
	if !ok {
		t.Skip("the backend takes no knob for wrong")
	}
	broken, strange := s.request(s.Prompt, 1), s.request(s.Prompt, 1)
	broken.Sampling.Grammar = `root ::= ( "a"`
	strange.Sampling.LogitBias = []llm.Bias{{Token: 1, Bias: 1}, {Token: 1 << 30, Bias: 1}, {Token: 1<<30 + 1, Bias: 1}}
	for _, test := range []struct {
		knob    llm.Knob
		request llm.Request
		skip    bool
		fields  string
	}{
		{llm.KnobGrammar, broken, s.DropsGrammar, "grammar"},
		{llm.KnobLogitBias, strange, s.NoVocabulary, "logit_bias[1].token logit_bias[2].token"},
	} {
		if !slices.Contains(sampler.Knobs(), test.knob) || test.skip {
			continue
		}
		s.wantBadKnobs(t, test.request, test.fields)
	}
}

// wantBadKnobs: a request is refused for these fields.
func (s Subject) wantBadKnobs(t *testing.T, r llm.Request, want string) {
	t.Helper()
	_, err := s.Backend.Generate(t.Context(), r)
	wantFault(t, err, llm.FaultRefused)
	var bad *llm.BadKnobsError
	if !errors.As(err, &bad) {
		t.Errorf("%v does not say which knob is wrong", err)
		return
	}
	fields := make([]string, len(bad.Bad))
	for i, b := range bad.Bad {
		fields[i] = b.Field
	}
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("%v names %s, not %s", err, got, want)
	}
}
