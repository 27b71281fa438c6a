// Package sampling is how the tokens of an answer are drawn: values and their limits, which a request, a preset and a
// node's record have in common. What a kind of server knows of them is the business of package llm.
package sampling

import "cmp"

// Sampling is how an answer is drawn. What is nil, empty or, where the field says so, 0 leaves the server's default. Its
// limits are those of Check. The words of its yaml tags are those of the contract.
//
// The names, types and order of its fields stand in the digests that stored nodes carry: they stay as they are.
type Sampling struct {
	// Temperature flattens (over 1) or sharpens (under 1) the distribution; 0 takes the most likely token.
	Temperature *float64 `yaml:"temperature"`
	// TopK, TopP, MinP, TypicalP, TopA and TailFree leave out unlikely tokens, each by its own measure.
	TopK     *int     `yaml:"top_k"`
	TopP     *float64 `yaml:"top_p"`
	MinP     *float64 `yaml:"min_p"`
	TypicalP *float64 `yaml:"typical_p"`
	TopA     *float64 `yaml:"top_a"`
	TailFree *float64 `yaml:"tail_free"`
	// RepeatPenalty (1: none) makes tokens of the last RepeatRange tokens less likely; RepeatSlope more so the later ones.
	RepeatPenalty *float64 `yaml:"repeat_penalty"`
	RepeatSlope   *float64 `yaml:"repeat_slope"`
	RepeatRange   *int     `yaml:"repeat_range"`
	// PresencePenalty and FrequencyPenalty make tokens less likely that stand in the text, and by how often they do.
	PresencePenalty    *float64            `yaml:"presence_penalty"`
	FrequencyPenalty   *float64            `yaml:"frequency_penalty"`
	DRY                *DRY                `yaml:"dry"`
	XTC                *XTC                `yaml:"xtc"`
	Mirostat           *Mirostat           `yaml:"mirostat"`
	DynamicTemperature *DynamicTemperature `yaml:"dynamic_temperature"`
	Smoothing          *Smoothing          `yaml:"smoothing"`
	// LogitBias makes single tokens more or less likely.
	LogitBias []Bias `yaml:"logit_bias"`
	// BanEOS: the model may not end the text.
	BanEOS bool `yaml:"ban_eos"`
	// Grammar is a GBNF grammar that the answer follows; empty: none.
	Grammar string  `yaml:"grammar"`
	Seed    *uint32 `yaml:"seed"`
	// MaxTokens is the most tokens of the answer. A preset has it beside its sampling.
	MaxTokens int `yaml:"-"`
	// Stop ends the answer before the first of these.
	Stop []string `yaml:"stop"`
}

// DRY punishes the repetition of sequences: Multiplier × Base ^ (length - AllowedLength), counted anew behind a Breaker.
// Multiplier 0 turns it off; Base, AllowedLength and Breakers that are 0 or empty leave the server's default.
type DRY struct {
	Multiplier    float64 `yaml:"multiplier"`
	Base          float64 `yaml:"base"`
	AllowedLength int     `yaml:"allowed_length"`
	// Range is how many tokens are looked at; 0: all.
	Range    int      `yaml:"range"`
	Breakers []string `yaml:"breakers"`
}

// XTC leaves out, with a Probability (0: off), all tokens over the Threshold (0: the server's default) but the least likely
// of them.
type XTC struct {
	Probability float64 `yaml:"probability"`
	Threshold   float64 `yaml:"threshold"`
}

// Mirostat keeps the surprise near Tau, at the learning rate Eta (0: the server's defaults). Mode is 1 or 2; 0 turns it off.
type Mirostat struct {
	Mode int     `yaml:"mode"`
	Tau  float64 `yaml:"tau"`
	Eta  float64 `yaml:"eta"`
}

// DynamicTemperature moves the temperature by up to Range (0: off), with the Exponent of the entropy (0: the server's
// default).
type DynamicTemperature struct {
	Range    float64 `yaml:"range"`
	Exponent float64 `yaml:"exponent"`
}

// Smoothing is quadratic sampling with a Factor (0: off) and, where it is not 0, a cubic Curve.
type Smoothing struct {
	Factor float64 `yaml:"factor"`
	Curve  float64 `yaml:"curve"`
}

// Bias is added to the logit of a token, given by its number.
type Bias struct {
	Token int     `yaml:"token"`
	Bias  float64 `yaml:"bias"`
}

// Over puts what s says over what other says, each field by itself. A field that s leaves open is other's, so that s cannot
// empty a list or a text of other, nor take its BanEOS away.
func (s Sampling) Over(other Sampling) Sampling {
	if len(s.LogitBias) == 0 {
		s.LogitBias = other.LogitBias
	}
	if len(s.Stop) == 0 {
		s.Stop = other.Stop
	}
	return Sampling{
		Temperature:        cmp.Or(s.Temperature, other.Temperature),
		TopK:               cmp.Or(s.TopK, other.TopK),
		TopP:               cmp.Or(s.TopP, other.TopP),
		MinP:               cmp.Or(s.MinP, other.MinP),
		TypicalP:           cmp.Or(s.TypicalP, other.TypicalP),
		TopA:               cmp.Or(s.TopA, other.TopA),
		TailFree:           cmp.Or(s.TailFree, other.TailFree),
		RepeatPenalty:      cmp.Or(s.RepeatPenalty, other.RepeatPenalty),
		RepeatSlope:        cmp.Or(s.RepeatSlope, other.RepeatSlope),
		RepeatRange:        cmp.Or(s.RepeatRange, other.RepeatRange),
		PresencePenalty:    cmp.Or(s.PresencePenalty, other.PresencePenalty),
		FrequencyPenalty:   cmp.Or(s.FrequencyPenalty, other.FrequencyPenalty),
		DRY:                cmp.Or(s.DRY, other.DRY),
		XTC:                cmp.Or(s.XTC, other.XTC),
		Mirostat:           cmp.Or(s.Mirostat, other.Mirostat),
		DynamicTemperature: cmp.Or(s.DynamicTemperature, other.DynamicTemperature),
		Smoothing:          cmp.Or(s.Smoothing, other.Smoothing),
		LogitBias:          s.LogitBias,
		BanEOS:             s.BanEOS || other.BanEOS,
		Grammar:            cmp.Or(s.Grammar, other.Grammar),
		Seed:               cmp.Or(s.Seed, other.Seed),
		MaxTokens:          cmp.Or(s.MaxTokens, other.MaxTokens),
		Stop:               s.Stop,
	}
}
