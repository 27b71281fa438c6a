// Package llamafields is how llama.cpp's server names the settings of sampling, at its own endpoints and at its /v1. The kinds
// `llamacpp` and `openai` both speak to it.
package llamafields

import "github.com/tsumugi-dev/tsumugi/services/internal/llm"

// Knobs are what every server of llama.cpp can be told about sampling.
func Knobs() []llm.Knob {
	return []llm.Knob{
		llm.KnobTemperature, llm.KnobTopK, llm.KnobTopP, llm.KnobMinP, llm.KnobTypicalP, llm.KnobRepeatPenalty, llm.KnobRepeatRange,
		llm.KnobPresencePenalty, llm.KnobFrequencyPenalty, llm.KnobDRY, llm.KnobXTC, llm.KnobMirostat, llm.KnobDynamicTemperature,
		llm.KnobLogitBias, llm.KnobBanEOS, llm.KnobGrammar, llm.KnobSeed,
	}
}

// Fields are the settings of sampling in the words of the server. A field that is left out leaves the server's default.
type Fields struct {
	Temperature      *float64     `json:"temperature,omitempty"`
	DynamicRange     *float64     `json:"dynatemp_range,omitempty"`
	DynamicExponent  *float64     `json:"dynatemp_exponent,omitempty"`
	TopK             *int         `json:"top_k,omitempty"`
	TopP             *float64     `json:"top_p,omitempty"`
	MinP             *float64     `json:"min_p,omitempty"`
	TypicalP         *float64     `json:"typical_p,omitempty"`
	XTCProbability   *float64     `json:"xtc_probability,omitempty"`
	XTCThreshold     *float64     `json:"xtc_threshold,omitempty"`
	RepeatPenalty    *float64     `json:"repeat_penalty,omitempty"`
	RepeatRange      *int         `json:"repeat_last_n,omitempty"`
	PresencePenalty  *float64     `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64     `json:"frequency_penalty,omitempty"`
	DRYMultiplier    *float64     `json:"dry_multiplier,omitempty"`
	DRYBase          *float64     `json:"dry_base,omitempty"`
	DRYAllowed       *int         `json:"dry_allowed_length,omitempty"`
	DRYRange         *int         `json:"dry_penalty_last_n,omitempty"`
	DRYBreakers      []string     `json:"dry_sequence_breakers,omitempty"`
	Mirostat         *int         `json:"mirostat,omitempty"`
	MirostatTau      *float64     `json:"mirostat_tau,omitempty"`
	MirostatEta      *float64     `json:"mirostat_eta,omitempty"`
	Grammar          string       `json:"grammar,omitempty"`
	IgnoreEOS        bool         `json:"ignore_eos,omitempty"`
	LogitBias        [][2]float64 `json:"logit_bias,omitempty"`
	Seed             *uint32      `json:"seed,omitempty"`
}

// Names are what the server calls knobs that have another name here, as its refusals do.
func Names() map[llm.Knob]string {
	return map[llm.Knob]string{
		llm.KnobRepeatRange: "repeat_last_n", llm.KnobDRY: "dry_", llm.KnobXTC: "xtc_", llm.KnobDynamicTemperature: "dynatemp_", llm.KnobBanEOS: "ignore_eos",
	}
}

// wholeWindow is how the server is told to look at all tokens: no window is larger. Its README has -1 for this, which builds
// of 2026 refuse ("must be between 0 <= value <= 2147483647"), and 64 may be what it looks at by itself.
const wholeWindow = 1 << 20

// New maps sampling, but for MaxTokens and Stop, whose names differ between endpoints.
func New(s llm.Sampling) Fields {
	f := Fields{
		Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP, TypicalP: s.TypicalP,
		RepeatPenalty: s.RepeatPenalty, RepeatRange: s.RepeatRange, PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty,
		Grammar: s.Grammar, IgnoreEOS: s.BanEOS, Seed: s.Seed,
	}
	if d := s.DynamicTemperature; d != nil {
		f.DynamicRange, f.DynamicExponent = &d.Range, llm.Said(d.Exponent)
	}
	if x := s.XTC; x != nil {
		f.XTCProbability, f.XTCThreshold = &x.Probability, llm.Said(x.Threshold)
	}
	if m := s.Mirostat; m != nil {
		f.Mirostat, f.MirostatTau, f.MirostatEta = &m.Mode, llm.Said(m.Tau), llm.Said(m.Eta)
	}
	if d := s.DRY; d != nil {
		look := d.Range
		if look == 0 {
			look = wholeWindow
		}
		f.DRYMultiplier, f.DRYBase, f.DRYAllowed, f.DRYRange, f.DRYBreakers = &d.Multiplier, llm.Said(d.Base), llm.Said(d.AllowedLength), &look, d.Breakers
	}
	for _, b := range s.LogitBias {
		f.LogitBias = append(f.LogitBias, [2]float64{float64(b.Token), b.Bias})
	}
	return f
}
