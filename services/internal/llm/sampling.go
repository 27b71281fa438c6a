package llm

import (
	"fmt"
	"slices"
	"strings"
)

// Sampling is how an answer is drawn. A nil field leaves the server's default. Each kind of server has a list of the
// knobs that it knows; a request that sets another is refused by name, and nothing is dropped (Unknown).
type Sampling struct {
	// Temperature flattens (over 1) or sharpens (under 1) the distribution; 0 takes the most likely token.
	Temperature *float64
	// TopK, TopP, MinP, TypicalP, TopA and TailFree leave out unlikely tokens, each by its own measure.
	TopK                                 *int
	TopP, MinP, TypicalP, TopA, TailFree *float64
	// RepeatPenalty (1: none) makes tokens of the last RepeatRange tokens less likely; RepeatSlope more so the later ones.
	RepeatPenalty, RepeatSlope *float64
	RepeatRange                *int
	// PresencePenalty and FrequencyPenalty make tokens less likely that stand in the text, and by how often they do.
	PresencePenalty, FrequencyPenalty *float64
	DRY                               *DRY
	XTC                               *XTC
	Mirostat                          *Mirostat
	DynamicTemperature                *DynamicTemperature
	Smoothing                         *Smoothing
	// LogitBias makes single tokens more or less likely.
	LogitBias []Bias
	// BanEOS: the model may not end the text.
	BanEOS bool
	// Grammar is a GBNF grammar that the answer follows; empty: none.
	Grammar string
	Seed    *uint32
	// MaxTokens is the most tokens of the answer; it must be positive.
	MaxTokens int
	// Stop ends the answer before the first of these.
	Stop []string
}

// DRY punishes the repetition of sequences: Multiplier × Base ^ (length - AllowedLength), counted anew behind a Breaker.
type DRY struct {
	Multiplier, Base float64
	AllowedLength    int
	// Range is how many tokens are looked at; 0: all.
	Range    int
	Breakers []string
}

// XTC leaves out, with a Probability, all tokens over the Threshold but the least likely of them.
type XTC struct{ Probability, Threshold float64 }

// Mirostat keeps the surprise near Tau, at the learning rate Eta. Mode is 1 or 2.
type Mirostat struct {
	Mode     int
	Tau, Eta float64
}

// DynamicTemperature moves the temperature by up to Range, with the Exponent of the entropy.
type DynamicTemperature struct{ Range, Exponent float64 }

// Smoothing is quadratic sampling with a Factor and, where it is not 0, a cubic Curve.
type Smoothing struct{ Factor, Curve float64 }

// Bias is added to the logit of a token, given by its number.
type Bias struct {
	Token int
	Bias  float64
}

// Knob names a field of Sampling as requests do.
type Knob string

// The knobs. MaxTokens and Stop are none: every kind has them.
const (
	KnobTemperature        Knob = "temperature"
	KnobTopK               Knob = "top_k"
	KnobTopP               Knob = "top_p"
	KnobMinP               Knob = "min_p"
	KnobTypicalP           Knob = "typical_p"
	KnobTopA               Knob = "top_a"
	KnobTailFree           Knob = "tail_free"
	KnobRepeatPenalty      Knob = "repeat_penalty"
	KnobRepeatRange        Knob = "repeat_range"
	KnobRepeatSlope        Knob = "repeat_slope"
	KnobPresencePenalty    Knob = "presence_penalty"
	KnobFrequencyPenalty   Knob = "frequency_penalty"
	KnobDRY                Knob = "dry"
	KnobXTC                Knob = "xtc"
	KnobMirostat           Knob = "mirostat"
	KnobDynamicTemperature Knob = "dynamic_temperature"
	KnobSmoothing          Knob = "smoothing"
	KnobLogitBias          Knob = "logit_bias"
	KnobBanEOS             Knob = "ban_eos"
	KnobGrammar            Knob = "grammar"
	KnobSeed               Knob = "seed"
)

// Set gives the knobs that are set, in the order of the constants.
func (s Sampling) Set() []Knob {
	var set []Knob
	for _, k := range []struct {
		knob Knob
		set  bool
	}{
		{KnobTemperature, s.Temperature != nil}, {KnobTopK, s.TopK != nil}, {KnobTopP, s.TopP != nil}, {KnobMinP, s.MinP != nil},
		{KnobTypicalP, s.TypicalP != nil}, {KnobTopA, s.TopA != nil}, {KnobTailFree, s.TailFree != nil},
		{KnobRepeatPenalty, s.RepeatPenalty != nil}, {KnobRepeatRange, s.RepeatRange != nil}, {KnobRepeatSlope, s.RepeatSlope != nil},
		{KnobPresencePenalty, s.PresencePenalty != nil}, {KnobFrequencyPenalty, s.FrequencyPenalty != nil},
		{KnobDRY, s.DRY != nil}, {KnobXTC, s.XTC != nil}, {KnobMirostat, s.Mirostat != nil},
		{KnobDynamicTemperature, s.DynamicTemperature != nil}, {KnobSmoothing, s.Smoothing != nil},
		{KnobLogitBias, len(s.LogitBias) > 0}, {KnobBanEOS, s.BanEOS}, {KnobGrammar, s.Grammar != ""}, {KnobSeed, s.Seed != nil},
	} {
		if k.set {
			set = append(set, k.knob)
		}
	}
	return set
}

// Unknown says which knobs are set that a kind of server does not know; nil when it knows them all. A kind makes
// FaultRefused of it, before anything is sent.
func (s Sampling) Unknown(kind string, known []Knob) error {
	var unknown []string
	for _, k := range s.Set() {
		if !slices.Contains(known, k) {
			unknown = append(unknown, string(k))
		}
	}
	if unknown == nil {
		return nil
	}
	return fmt.Errorf("a server of kind %s has no %s; leave it out, or use another backend", kind, strings.Join(unknown, ", no "))
}
