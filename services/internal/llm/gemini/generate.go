package gemini

import (
	"context"
	"encoding/json"
	"math"

	"google.golang.org/genai"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// maxStops is how many stop strings the service takes.
const maxStops = 5

// Tells implements llm.Teller.
func (c *Client) Tells() llm.Told {
	return llm.Told{Cache: true, Conversations: true, Tools: !c.config.NoTools, Schema: true}
}

// Knobs are what the service can be told about sampling (GenerationConfig, v1beta). Not every model takes the penalties.
func (*Client) Knobs() []llm.Knob {
	return []llm.Knob{
		llm.KnobTemperature, llm.KnobTopK, llm.KnobTopP, llm.KnobPresencePenalty, llm.KnobFrequencyPenalty, llm.KnobSeed,
	}
}

// generation is the body of streamGenerateContent.
type generation struct {
	System   *turn                  `json:"systemInstruction,omitempty"`
	Contents []turn                 `json:"contents"`
	Tools    []genai.Tool           `json:"tools,omitempty"`
	Config   genai.GenerationConfig `json:"generationConfig"`
}

// Generate asks streamGenerateContent.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs()), wire.NotEmpty(req.Text(), "the Gemini API takes no turn without a text")); err != nil {
		return nil, err
	}
	stops := req.Sampling.Stop
	sent := min(len(stops), maxStops)
	body := generation{Tools: declared(req.Tools), Config: c.settings(req.Sampling, stops[:sent])}
	if req.Schema != "" {
		body.Config.ResponseMIMEType, body.Config.ResponseJsonSchema = "application/json", json.RawMessage(req.Schema)
	}
	if len(req.Messages) > 0 {
		body.System, body.Contents = talked(req)
	} else {
		body.Contents = contents(req.Prompt, req.Suffix)
	}
	a := &answer{server: c.server, stops: wire.NewStops(stops[sent:])}
	stream, err := c.server.Stream(ctx, c.path+":streamGenerateContent?alt=sse", body, wire.MaxLine, a)
	return stream, wire.ToolsRefused(wire.Blame(err, req.Sampling, names), req)
}

// names are what the service calls knobs that have another name here.
var names = map[llm.Knob]string{
	llm.KnobTopK: "topK", llm.KnobTopP: "topP", llm.KnobPresencePenalty: "presencePenalty", llm.KnobFrequencyPenalty: "frequencyPenalty",
}

// settings maps sampling. A seed has a sign there: those over 2147483647 are the negative numbers of the same bits.
func (c *Client) settings(s llm.Sampling, stops []string) genai.GenerationConfig {
	g := genai.GenerationConfig{
		MaxOutputTokens: int32(min(s.MaxTokens, math.MaxInt32)), StopSequences: stops,
		Temperature: narrow(s.Temperature), TopP: narrow(s.TopP),
		PresencePenalty: narrow(s.PresencePenalty), FrequencyPenalty: narrow(s.FrequencyPenalty),
	}
	if s.TopK != nil {
		g.TopK = genai.Ptr(float32(*s.TopK))
	}
	if s.Seed != nil {
		g.Seed = genai.Ptr(int32(*s.Seed))
	}
	if budget := c.config.ThinkingBudget; budget != nil {
		g.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr(int32(*budget))}
	}
	return g
}

func narrow(f *float64) *float32 {
	if f == nil {
		return nil
	}
	return genai.Ptr(float32(*f))
}
