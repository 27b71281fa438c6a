package koboldcpp

import (
	"cmp"
	"math"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Tells implements llm.Teller.
func (*Client) Tells() llm.Told { return llm.Told{StopString: true} }

// Knobs are what this kind of server can be told about sampling (KoboldCpp 1.76 and later, native API). It has no
// frequency_penalty.
func (c *Client) Knobs() []llm.Knob {
	return []llm.Knob{
		llm.KnobTemperature, llm.KnobTopK, llm.KnobTopP, llm.KnobMinP, llm.KnobTypicalP, llm.KnobTopA, llm.KnobTailFree,
		llm.KnobRepeatPenalty, llm.KnobRepeatRange, llm.KnobRepeatSlope, llm.KnobPresencePenalty, llm.KnobDRY, llm.KnobXTC,
		llm.KnobMirostat, llm.KnobDynamicTemperature, llm.KnobSmoothing, llm.KnobLogitBias, llm.KnobBanEOS, llm.KnobGrammar,
		llm.KnobSeed,
	}
}

// names are what the server calls knobs that have another name here.
var names = map[llm.Knob]string{
	llm.KnobTypicalP: "typical", llm.KnobTailFree: "tfs", llm.KnobRepeatPenalty: "rep_pen", llm.KnobRepeatRange: "rep_pen_range",
	llm.KnobRepeatSlope: "rep_pen_slope", llm.KnobDRY: "dry_", llm.KnobXTC: "xtc_", llm.KnobDynamicTemperature: "dynatemp_",
	llm.KnobSmoothing: "smoothing_factor", llm.KnobBanEOS: "ban_eos_token", llm.KnobSeed: "sampler_seed",
}

// The most that the server looks at; it drops the rest without a word.
const (
	maxBiases   = 512
	maxBreakers = 128
	maxBias     = 100
)

// check refuses what the server would drop or change without a word. A grammar that cannot be read is not found here: the server
// goes on without it and says so in its own log alone (LostRuins/koboldcpp, issue 1449).
func check(s llm.Sampling) error {
	var bad llm.BadKnobsError
	if n := len(s.LogitBias); n > maxBiases {
		bad.Add(string(llm.KnobLogitBias), "has %d entries; a KoboldCpp server takes at most %d", n, maxBiases)
	} else {
		bad.Biases(s, maxBias, 0)
	}
	if s.DRY != nil && len(s.DRY.Breakers) > maxBreakers {
		bad.Add("dry.breakers", "has %d entries; a KoboldCpp server takes at most %d", len(s.DRY.Breakers), maxBreakers)
	}
	if s.Smoothing != nil && s.Smoothing.Curve != 0 {
		bad.Add("smoothing.curve", "is %g; not every KoboldCpp server has a curve: leave it out", s.Smoothing.Curve)
	}
	return bad.Found()
}

// generation is the body of generate/stream. A field that is left out leaves the server's default.
type generation struct {
	Prompt          string             `json:"prompt"`
	GenKey          string             `json:"genkey"`
	MaxLength       int                `json:"max_length"`
	Seed            int32              `json:"sampler_seed"`
	Temperature     *float64           `json:"temperature,omitempty"`
	DynamicRange    *float64           `json:"dynatemp_range,omitempty"`
	DynamicExponent *float64           `json:"dynatemp_exponent,omitempty"`
	SmoothingFactor *float64           `json:"smoothing_factor,omitempty"`
	TopK            *int               `json:"top_k,omitempty"`
	TopP            *float64           `json:"top_p,omitempty"`
	TopA            *float64           `json:"top_a,omitempty"`
	MinP            *float64           `json:"min_p,omitempty"`
	TypicalP        *float64           `json:"typical,omitempty"`
	TailFree        *float64           `json:"tfs,omitempty"`
	RepeatPenalty   *float64           `json:"rep_pen,omitempty"`
	RepeatRange     *int               `json:"rep_pen_range,omitempty"`
	RepeatSlope     *float64           `json:"rep_pen_slope,omitempty"`
	PresencePenalty *float64           `json:"presence_penalty,omitempty"`
	XTCProbability  *float64           `json:"xtc_probability,omitempty"`
	XTCThreshold    *float64           `json:"xtc_threshold,omitempty"`
	DRYMultiplier   *float64           `json:"dry_multiplier,omitempty"`
	DRYBase         *float64           `json:"dry_base,omitempty"`
	DRYAllowed      *int               `json:"dry_allowed_length,omitempty"`
	DRYRange        *int               `json:"dry_penalty_last_n,omitempty"`
	DRYBreakers     []string           `json:"dry_sequence_breakers,omitempty"`
	Mirostat        *int               `json:"mirostat,omitempty"`
	MirostatTau     *float64           `json:"mirostat_tau,omitempty"`
	MirostatEta     *float64           `json:"mirostat_eta,omitempty"`
	Grammar         string             `json:"grammar,omitempty"`
	BanEOS          bool               `json:"ban_eos_token"`
	LogitBias       map[string]float64 `json:"logit_bias,omitempty"`
	Stop            []string           `json:"stop_sequence,omitempty"`
}

// newGeneration maps a request; window is what DRY looks at when it is to look at everything.
func newGeneration(req llm.Request, key string, seed int32, window int) generation {
	s := req.Sampling
	g := generation{
		Prompt: req.Prompt, GenKey: key, MaxLength: s.MaxTokens, Seed: seed,
		Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, TopA: s.TopA, MinP: s.MinP, TypicalP: s.TypicalP, TailFree: s.TailFree,
		RepeatPenalty: s.RepeatPenalty, RepeatRange: s.RepeatRange, RepeatSlope: s.RepeatSlope, PresencePenalty: s.PresencePenalty,
		Grammar: s.Grammar, BanEOS: s.BanEOS, Stop: s.Stop,
	}
	if d := s.DynamicTemperature; d != nil {
		g.DynamicRange, g.DynamicExponent = &d.Range, llm.Said(d.Exponent)
	}
	if q := s.Smoothing; q != nil {
		g.SmoothingFactor = &q.Factor
	}
	if x := s.XTC; x != nil {
		g.XTCProbability, g.XTCThreshold = &x.Probability, llm.Said(x.Threshold)
	}
	if m := s.Mirostat; m != nil {
		g.Mirostat, g.MirostatTau, g.MirostatEta = &m.Mode, llm.Said(m.Tau), llm.Said(m.Eta)
	}
	if d := s.DRY; d != nil {
		look := cmp.Or(d.Range, window)
		g.DRYMultiplier, g.DRYBase, g.DRYAllowed, g.DRYRange, g.DRYBreakers = &d.Multiplier, llm.Said(d.Base), llm.Said(d.AllowedLength), &look, d.Breakers
	}
	for _, b := range s.LogitBias {
		if g.LogitBias == nil {
			g.LogitBias = map[string]float64{}
		}
		g.LogitBias[strconv.Itoa(b.Token)] = b.Bias
	}
	return g
}

// seedOf folds a seed into what the server takes for one, 1 to 2^31-1: numbers in that range stay, and the same number
// always gives the same.
func seedOf(seed uint32) int32 {
	if seed >= 1 && seed <= math.MaxInt32 {
		return int32(seed)
	}
	return int32(seed%math.MaxInt32) + 1
}
