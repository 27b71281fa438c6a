package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// What a request says of sampling (package sampling, with the limits). A nil field leaves the server's default. Each kind of
// server has a list of the knobs that it knows; a request that sets another is refused by name, and nothing is dropped
// (Request.Unknown). MaxTokens must be positive here.
type (
	// Sampling is how an answer is drawn.
	Sampling = sampling.Sampling
	// DRY punishes the repetition of sequences.
	DRY = sampling.DRY
	// XTC leaves out the most likely tokens now and then.
	XTC = sampling.XTC
	// Mirostat keeps the surprise near a value.
	Mirostat = sampling.Mirostat
	// DynamicTemperature moves the temperature by the entropy.
	DynamicTemperature = sampling.DynamicTemperature
	// Smoothing is quadratic sampling.
	Smoothing = sampling.Smoothing
	// Bias is added to the logit of a token.
	Bias = sampling.Bias
)

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

// Knobs gives the knobs that a sampling sets, in the order of the constants.
func Knobs(s Sampling) []Knob {
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

// KnobsError says that a kind of server does not have knobs that a request sets.
type KnobsError struct {
	Kind string
	// Missing are the knobs that it does not have, at least one, Known those that it has.
	Missing, Known []Knob
}

func (e *KnobsError) Error() string {
	return fmt.Sprintf("a server of kind %s has no %s; leave it out, or use another backend", e.Kind, joined(e.Missing, ", no "))
}

// Names are the missing ones, for a sentence.
func (e *KnobsError) Names() string { return joined(e.Missing, " and ") }

// Has says what the kind knows, for the end of a sentence.
func (e *KnobsError) Has() string {
	if len(e.Known) == 0 {
		return "none of the knobs"
	}
	return joined(e.Known, ", ")
}

func joined(knobs []Knob, between string) string {
	names := make([]string, len(knobs))
	for i, k := range knobs {
		names[i] = string(k)
	}
	return strings.Join(names, between)
}

// Unknown is a *KnobsError where knobs are set that a kind of server does not know; nil when it knows them all. A kind makes
// FaultRefused of it, before anything is sent.
func (r Request) Unknown(kind string, known []Knob) error {
	missing := slices.DeleteFunc(Knobs(r.Sampling), func(k Knob) bool { return slices.Contains(known, k) })
	if len(missing) == 0 {
		return nil
	}
	return &KnobsError{Kind: kind, Missing: missing, Known: known}
}

// Said is a number as it is sent where 0 leaves the server's default: nil then.
func Said[N int | float64](n N) *N {
	if n == 0 {
		return nil
	}
	return &n
}
