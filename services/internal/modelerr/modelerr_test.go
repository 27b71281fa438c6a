package modelerr_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/modelerr"
)

// A prompt that is too large is answered with what makes room, each enough alone, and by how much.
func TestWhatMakesRoom(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  llm.OverflowError
		want []apierr.Violation
	}{
		"either": {llm.OverflowError{Limit: 10, Tokens: 14, MaxTokens: 5, Field: "story"}, []apierr.Violation{
			{Field: "story", Description: "must be shorter, by about 4 tokens, if the answer stays as long"},
			{Field: "length", Description: "must be smaller, by at least 4, if the prompt stays as long"},
		}},
		"the story": {llm.OverflowError{Limit: 10, Tokens: 14, MaxTokens: 4, Field: "story"}, []apierr.Violation{
			{Field: "story", Description: "must be shorter, by about 4 tokens"},
		}},
		"the answer": {llm.OverflowError{Limit: 10, Tokens: 14, MaxTokens: 5}, []apierr.Violation{
			{Field: "length", Description: "must be smaller, by at least 4"},
		}},
		"neither": {llm.OverflowError{Limit: 10, Tokens: 14, MaxTokens: 4}, []apierr.Violation{
			{Field: "backend", Description: "must be one whose window is larger, by at least 4 tokens, unless prompt and answer are both shorter"},
		}},
	} {
		var got *apierr.Error
		if !errors.As(modelerr.Answer(&tt.err, "length"), &got) {
			t.Fatalf("%s: no answer", name)
		}
		if diff := cmp.Diff(tt.want, got.Violations); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What a kind of server does not have is named knob by knob, also where its client says so.
func TestKnobsThatAKindDoesNotHave(t *testing.T) {
	t.Parallel()
	err := llm.Request{Sampling: llm.Sampling{BanEOS: true, Grammar: "root ::= x"}}.Unknown("tale", []llm.Knob{llm.KnobSeed, llm.KnobTopK})
	for _, e := range []error{err, &llm.Error{Fault: llm.FaultRefused, Err: err}} {
		var got *apierr.Error
		if !errors.As(modelerr.Answer(e, "length"), &got) {
			t.Fatalf("no answer to %v", e)
		}
		want := []apierr.Violation{
			{Field: "sampling.ban_eos", Description: "must be left out: a server of kind tale does not have it; it has seed, top_k"},
			{Field: "sampling.grammar", Description: "must be left out: a server of kind tale does not have it; it has seed, top_k"},
		}
		if diff := cmp.Diff(want, got.Violations); diff != "" || got.Reason != apierr.ReasonInvalidField {
			t.Errorf("%s: %s", got.Reason, diff)
		}
	}
}

// A value that a server does not take is the caller's to mend, field by field, also when the server says so only once it is
// asked to write.
func TestKnobsWhoseValuesAreNotTaken(t *testing.T) {
	t.Parallel()
	var bad llm.BadKnobsError
	bad.Biases(llm.Sampling{LogitBias: []llm.Bias{{Token: 7, Bias: 1}, {Token: 6, Bias: 101}}}, 100, 7)
	err := &llm.Error{Fault: llm.FaultRefused, Err: bad.Found()}
	for _, got := range []error{modelerr.Answer(err, "length"), modelerr.Trouble(err, "length")} {
		var a *apierr.Error
		if !errors.As(got, &a) || a.Code != codes.InvalidArgument || a.Reason != apierr.ReasonInvalidField {
			t.Fatalf("the answer is %v", got)
		}
		if diff := cmp.Diff([]apierr.Violation{
			{Field: "sampling.logit_bias[0].token", Description: "is 7, and the model has no such token; its tokens have the numbers 0 to 6"},
			{Field: "sampling.logit_bias[1].bias", Description: "is 101; this kind of server takes -100 to 100"},
		}, a.Violations); diff != "" {
			t.Error(diff)
		}
	}
	if none := (&llm.BadKnobsError{}).Found(); none != nil {
		t.Errorf("nothing wrong is %v", none)
	}
}

// Trouble of a model server is not repeated inside: a time limit of 3 s would take four times that.
func TestTroubleIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []llm.Fault{llm.FaultUnreachable, llm.FaultTimeout, llm.FaultLoading} {
		if a := modelerr.Trouble(&llm.Error{Fault: fault}, "length"); !a.Once {
			t.Errorf("%s is repeated", fault)
		}
	}
}
