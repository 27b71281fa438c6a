package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// everyKnob is a sampling with all that a llama.cpp server has.
func everyKnob() *flowstorev1.Sampling {
	return &flowstorev1.Sampling{
		Temperature: proto.Float64(0.9), TopK: proto.Int32(40), TopP: proto.Float64(0.95), MinP: proto.Float64(0.05), TypicalP: proto.Float64(0.9),
		RepeatPenalty: proto.Float64(1.1), RepeatRange: proto.Int32(256), PresencePenalty: proto.Float64(-0.5), FrequencyPenalty: proto.Float64(0),
		Dry:      &flowstorev1.Sampling_Dry{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 1024, Breakers: []string{"\n", "」"}},
		Xtc:      &flowstorev1.Sampling_Xtc{Probability: 0.5, Threshold: 0.1},
		Mirostat: &flowstorev1.Sampling_Mirostat{Mode: 2, Tau: 4.5, Eta: 0.2}, DynamicTemperature: &flowstorev1.Sampling_DynamicTemperature{Range: 0.5, Exponent: 1.5},
		LogitBias: []*flowstorev1.Sampling_LogitBias{{Token: 5, Bias: -100}, {Token: 7, Bias: 1.5}}, BanEos: true,
		Grammar: "root ::= \"はい\" | \"いいえ\"\n", Seed: proto.Uint32(4294967295), MaxTokens: 24, Stop: []string{"。"},
	}
}

// Every knob reaches the model server, is told in the opening event, and stands in the node after a restart.
func knobs(t *testing.T, m mode) {
	server := llmtest.New(t, llmtest.Options{})
	w := open(t, m, server.URL)
	flow := w.newFlow(t)
	q := short(flow, w.say(t, flow, opening))
	q.Sampling = everyKnob()
	r := w.generate(q)
	node := r.node(t)
	bodies := server.Requests("/completion")
	if len(bodies) != 1 {
		t.Fatalf("the model server was asked %d times", len(bodies))
	}
	var got map[string]any
	if err := json.Unmarshal(bodies[0], &got); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"prompt", "stream", "cache_prompt"} {
		delete(got, other)
	}
	stops, _ := got["stop"].([]any)
	if !slices.Contains(stops, any("。")) {
		t.Errorf("stop strings %v", stops)
	}
	delete(got, "stop") // those of the prompt's form come beside it
	want := map[string]any{
		"temperature": 0.9, "top_k": 40., "top_p": 0.95, "min_p": 0.05, "typical_p": 0.9, "repeat_penalty": 1.1, "repeat_last_n": 256.,
		"presence_penalty": -0.5, "frequency_penalty": 0., "dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2., "dry_penalty_last_n": 1024.,
		"dry_sequence_breakers": []any{"\n", "」"}, "xtc_probability": 0.5, "xtc_threshold": 0.1, "mirostat": 2., "mirostat_tau": 4.5, "mirostat_eta": 0.2,
		"dynatemp_range": 0.5, "dynatemp_exponent": 1.5, "logit_bias": []any{[]any{5., -100.}, []any{7., 1.5}}, "ignore_eos": true,
		"grammar": "root ::= \"はい\" | \"いいえ\"\n", "seed": 4294967295., "n_predict": 24.,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the server was told of sampling (-want +got):\n%s", diff)
	}
	w.restart(t)
	stored := w.node(t, node.Name).GetGeneration().GetSampling()
	if diff := cmp.Diff(r.opened.GetSampling(), stored, protocmp.Transform()); diff != "" {
		t.Errorf("the node after a restart has another sampling than was opened:\n%s", diff)
	}
	if diff := cmp.Diff(everyKnob(), stored, protocmp.Transform(), protocmp.IgnoreFields(everyKnob(), "stop")); diff != "" {
		t.Errorf("the node has another sampling than was asked for:\n%s", diff)
	}
}

// On the real server a grammar holds together with samplers that change what is likely.
func grammarHolds(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	q := short(flow, w.say(t, flow, opening+"「行くのか」と訊かれて、彼女は答えた。「"))
	q.Sampling = &flowstorev1.Sampling{
		Seed: proto.Uint32(7), MaxTokens: 24, Grammar: `root ::= "はい" | "いいえ"`, MinP: proto.Float64(0.02), Temperature: proto.Float64(1.2),
		Dry: &flowstorev1.Sampling_Dry{Multiplier: 0.8}, Xtc: &flowstorev1.Sampling_Xtc{Probability: 0.5}, Mirostat: &flowstorev1.Sampling_Mirostat{},
	}
	r := w.generate(q)
	node := r.node(t)
	if r.text != "はい" && r.text != "いいえ" {
		t.Errorf("the answer is %q, not one of the two that the grammar has", r.text)
	}
	if diff := cmp.Diff(q.Sampling, node.GetGeneration().GetSampling(), protocmp.Transform(), protocmp.IgnoreFields(q.Sampling, "stop")); diff != "" {
		t.Errorf("the record: %s", diff)
	}
	q = short(flow, node.Name)
	q.Sampling = &flowstorev1.Sampling{Grammar: "root ::= (", MaxTokens: 24}
	if err := w.generated(q); err == nil || !strings.Contains(err.Error(), "grammar") {
		t.Errorf("a grammar that is none gives %v", err)
	}
}
