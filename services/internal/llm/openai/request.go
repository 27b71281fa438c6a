package openai

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamafields"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openaiwire"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

const (
	// maxStops is how many stop strings OpenAI takes.
	maxStops = 4
	// maxBias is how far OpenAI and vLLM take a bias.
	maxBias = 100
)

// Tells implements llm.Teller.
func (c *Client) Tells() llm.Told {
	return llm.Told{StopString: c.config.Program == VLLM, Cache: true, Conversations: true, Tools: c.config.Tools, Schema: true}
}

// Knobs are what the program at the address can be told about sampling: OpenAI (API reference, November 2026), vLLM
// (protocol.py at 030ea52e), and llama.cpp as at its own endpoints.
func (c *Client) Knobs() []llm.Knob {
	knobs := []llm.Knob{
		llm.KnobTemperature, llm.KnobTopP, llm.KnobPresencePenalty, llm.KnobFrequencyPenalty, llm.KnobLogitBias, llm.KnobSeed,
	}
	switch c.config.Program {
	case LlamaCpp:
		return llamafields.Knobs()
	case VLLM:
		return append(knobs, llm.KnobTopK, llm.KnobMinP, llm.KnobRepeatPenalty, llm.KnobBanEOS)
	}
	return knobs
}

// Generate asks for a stream.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs())); err != nil {
		return nil, err
	}
	if err := c.biases(ctx, req.Sampling); err != nil {
		return nil, err
	}
	model, err := c.named(ctx)
	if err != nil {
		return nil, err
	}
	// A server that is asked for prompts has the other endpoint too.
	chat := c.config.API == Chat || len(req.Messages) > 0
	stops, others := req.Sampling.Stop, []string(nil)
	if c.config.Program == OpenAI && len(stops) > maxStops {
		stops, others = stops[:maxStops], stops[maxStops:]
	}
	path, body := "/v1/completions", any(c.completion(req, model, stops))
	if chat {
		path, body = openaiwire.ChatPath, c.conversation(req, model, stops)
	}
	stream, err := c.server.Stream(ctx, path, body, wire.MaxLine, openaiwire.NewAnswer(c.server, chat, others))
	return stream, wire.ToolsRefused(c.without(wire.Blame(err, req.Sampling, c.names())), req)
}

// without takes the form of a chat off the figures of a prompt that is too long: they are then of the window that Window
// tells.
func (c *Client) without(err error) error {
	var e *llm.Error
	if c.config.API != Chat || !errors.As(err, &e) || e.Fault != llm.FaultTooLong {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Tokens, e.Window = max(e.Tokens-c.around, 0), max(e.Window-c.around, 0)
	return e
}

// names are what the program calls knobs that have another name here.
func (c *Client) names() map[llm.Knob]string {
	if c.config.Program == LlamaCpp {
		return llamafields.Names()
	}
	return map[llm.Knob]string{llm.KnobRepeatPenalty: "repetition_penalty", llm.KnobBanEOS: "ignore_eos"}
}

// biases refuses what the server would refuse in words of its own, and those of tokens that the model does not have, where
// its vocabulary is known: llama.cpp takes them and does nothing with them.
func (c *Client) biases(ctx context.Context, s llm.Sampling) error {
	if len(s.LogitBias) == 0 {
		return nil
	}
	most, size := float64(maxBias), 0
	if c.config.Tokenizer != nil {
		size = c.config.Tokenizer.Size()
	}
	if c.config.Program == LlamaCpp {
		m, err := c.model(ctx)
		if err != nil {
			return err
		}
		most, size = math.Inf(1), cmp.Or(m.Meta.Vocabulary, size)
	}
	var bad llm.BadKnobsError
	bad.Biases(s, most, size)
	return c.server.Refuse(bad.Found())
}

func (c *Client) completion(req llm.Request, model string, stops []string) openai.CompletionNewParams {
	p := openai.CompletionNewParams{
		Model: openai.CompletionNewParamsModel(model), MaxTokens: openai.Int(int64(req.Sampling.MaxTokens)), StreamOptions: openaiwire.Usage,
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String(req.Prompt)},
		Stop:   openai.CompletionNewParamsStopUnion{OfStringArray: stops},
	}
	if c.config.Program == LlamaCpp {
		p.SetExtraFields(openaiwire.LlamaFields(req.Sampling))
		return p
	}
	s := req.Sampling
	p.Temperature, p.TopP, p.Seed = opt(s.Temperature), opt(s.TopP), seed(s.Seed)
	p.PresencePenalty, p.FrequencyPenalty = opt(s.PresencePenalty), opt(s.FrequencyPenalty)
	p.SetExtraFields(extra(s))
	return p
}

func (c *Client) conversation(req llm.Request, model string, stops []string) openai.ChatCompletionNewParams {
	if c.config.Program == LlamaCpp {
		p := openaiwire.Conversation(req, model, stops, openaiwire.LlamaFields(req.Sampling))
		p.MaxTokens = openai.Int(int64(req.Sampling.MaxTokens))
		return p
	}
	s := req.Sampling
	p := openaiwire.Conversation(req, model, stops, extra(s))
	if c.config.Program == OpenAI {
		p.MaxCompletionTokens = openai.Int(int64(s.MaxTokens)) // its newer models refuse the other name
	} else {
		p.MaxTokens = openai.Int(int64(s.MaxTokens)) // which servers have always known
	}
	p.Temperature, p.TopP, p.Seed = opt(s.Temperature), opt(s.TopP), seed(s.Seed)
	p.PresencePenalty, p.FrequencyPenalty = opt(s.PresencePenalty), opt(s.FrequencyPenalty)
	return p
}

func opt(v *float64) param.Opt[float64] {
	if v == nil {
		return param.Opt[float64]{}
	}
	return openai.Float(*v)
}

func seed(v *uint32) param.Opt[int64] {
	if v == nil {
		return param.Opt[int64]{}
	}
	return openai.Int(int64(*v))
}

// extra are the fields that the library does not know: those of vLLM, and biases that are no whole numbers.
func extra(s llm.Sampling) map[string]any {
	fields := map[string]any{"stream": true}
	if len(s.LogitBias) > 0 {
		biases := map[string]float64{}
		for _, b := range s.LogitBias {
			biases[strconv.Itoa(b.Token)] = b.Bias
		}
		fields["logit_bias"] = biases
	}
	if s.TopK != nil {
		fields["top_k"] = *s.TopK
	}
	if s.MinP != nil {
		fields["min_p"] = *s.MinP
	}
	if s.RepeatPenalty != nil {
		fields["repetition_penalty"] = *s.RepeatPenalty
	}
	if s.BanEOS {
		fields["ignore_eos"] = true
	}
	return fields
}
