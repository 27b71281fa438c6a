package app_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// TestKnobsOfAnotherKind: what a llama.cpp server does not have is refused by name before anything is built, all of it at
// once, for a story and for a plain prompt, and without asking who the server is.
func TestKnobsOfAnotherKind(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	for _, prompt := range []string{"", "詩"} {
		q := r.request("")
		q.Prompt = prompt
		q.Sampling = &flowstorev1.Sampling{
			TopA: proto.Float64(0.1), TailFree: proto.Float64(0.9), RepeatSlope: proto.Float64(1), Smoothing: &flowstorev1.Sampling_Smoothing{Factor: 1},
			TopK: proto.Int32(40), BanEos: true,
		}
		got := r.all(q)
		r.is(got.err, codes.InvalidArgument, "INVALID_FIELD", "kind", "llamacpp")
		var fields []string
		for _, v := range got.err.Violations {
			fields = append(fields, v.Field)
			if !strings.Contains(v.Description, "a server of kind llamacpp does not have it; it has temperature, top_k, ") {
				t.Errorf("description %q", v.Description)
			}
		}
		if got := strings.Join(fields, " "); got != "sampling.top_a sampling.tail_free sampling.repeat_slope sampling.smoothing" {
			t.Errorf("fields %s", got)
		}
	}
	for _, b := range r.prompts.builds {
		if b.Body != "…" { // a trial, for what else is wrong
			t.Errorf("a prompt of %q was built", b.Body)
		}
	}
	if r.model.Calls("/completion") != 0 {
		t.Error("a refused request did something")
	}
}
