package openaiwire

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamafields"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Llama asks a llama.cpp server of kind `llamacpp` for the answer to a conversation with tools: it puts them into the form of
// the model, and reads the calls out of its answer, at /v1/chat/completions alone. For everything else the answer is as at
// /completion: what the model thinks is a part of its text, and which stop string ended it is known, for they are looked for
// here.
func Llama(ctx context.Context, server *wire.Server, req llm.Request) (llm.Stream, error) {
	fields := LlamaFields(req.Sampling)
	fields["cache_prompt"], fields["reasoning_format"] = true, "none"
	fields["timings_per_token"] = true // the figures of an answer that a stop string ends before they come
	p := Conversation(req, "", nil, fields)
	p.MaxTokens = openai.Int(int64(req.Sampling.MaxTokens))
	return server.Stream(ctx, ChatPath, p, wire.MaxLine, NewAnswer(server, true, req.Sampling.Stop))
}

// LlamaFields are the settings of sampling that llama.cpp knows beyond OpenAI's, in its words, and that the answer is a stream.
func LlamaFields(s llm.Sampling) map[string]any {
	fields := map[string]any{}
	data, _ := json.Marshal(llamafields.New(s)) // plain values: cannot fail
	known := map[string]json.RawMessage{}
	_ = json.Unmarshal(data, &known) // what was just written
	for name, value := range known {
		fields[name] = value
	}
	fields["stream"] = true
	return fields
}
