package sampling

import "fmt"

// Limits of a sampling. Those of single numbers stand in Check.
const (
	// MaxBiases is the most entries of LogitBias: what a KoboldCpp server looks at.
	MaxBiases = 512
	// MaxBreakers is the most of DRY's breakers, what a KoboldCpp server looks at; MaxBreaker the longest, in bytes.
	MaxBreakers = 128
	MaxBreaker  = 256
	// MaxGrammar is the longest grammar, in bytes.
	MaxGrammar = 64 << 10
)

const (
	maxTokens    = 1_000_000 // of which anything looks back, or which are kept: no window is larger
	maxPenalty   = 2         // either way, as OpenAI has it
	maxBias      = 100       // either way, as OpenAI has it
	maxTokenID   = 1<<31 - 1 // what the contract can tell
	maxAllowance = 1000      // tokens of a sequence that may be repeated
)

// Check tells everything that is beyond its limits, by the field in the contract: `dry.multiplier`, `logit_bias[3].token`.
// MaxTokens and Stop are left to the caller: a request and a record have limits of their own.
func (s Sampling) Check(add func(field, format string, args ...any)) {
	c := checker{add}
	for _, k := range []struct {
		field     string
		value     *float64
		low, high float64
	}{
		{"temperature", s.Temperature, 0, 5}, {"top_p", s.TopP, 0, 1}, {"min_p", s.MinP, 0, 1},
		{"repeat_penalty", s.RepeatPenalty, 0, 10}, {"typical_p", s.TypicalP, 0, 1}, {"top_a", s.TopA, 0, 1},
		{"tail_free", s.TailFree, 0, 1}, {"repeat_slope", s.RepeatSlope, 0, 10},
		{"presence_penalty", s.PresencePenalty, -maxPenalty, maxPenalty}, {"frequency_penalty", s.FrequencyPenalty, -maxPenalty, maxPenalty},
	} {
		if k.value != nil {
			c.decimal(k.field, *k.value, k.low, k.high)
		}
	}
	if s.TopK != nil {
		c.number("top_k", *s.TopK, maxTokens)
	}
	if s.RepeatRange != nil {
		c.number("repeat_range", *s.RepeatRange, maxTokens)
	}
	c.dry(s.DRY)
	c.small(s)
	c.biases(s.LogitBias)
	c.bytes("grammar", s.Grammar, MaxGrammar)
}

type checker struct {
	add func(field, format string, args ...any)
}

// decimal notes a number that is not from low to high; NaN is not.
func (c checker) decimal(field string, n, low, high float64) {
	if !(n >= low && n <= high) {
		c.add(field, "must be from %g to %g, and is %g", low, high, n)
	}
}

func (c checker) number(field string, n, most int) {
	if n < 0 || n > most {
		c.add(field, "must be from 0 to %d, and is %d", most, n)
	}
}

func (c checker) bytes(field, text string, most int) {
	if len(text) > most {
		c.add(field, "is %d bytes long; the limit is %d bytes", len(text), most)
	}
}

func (c checker) items(field string, n, most int) {
	if n > most {
		c.add(field, "has %d items; the limit is %d", n, most)
	}
}

// off notes a switch that is 0 beside fields that say something: they would do nothing.
func (c checker) off(field string, isOff, more bool) {
	if isOff && more {
		c.add(field, "is 0, which turns it off, and the other fields would do nothing: give it, or leave them out")
	}
}

func (c checker) dry(d *DRY) {
	if d == nil {
		return
	}
	c.off("dry.multiplier", d.Multiplier == 0, d.Base != 0 || d.AllowedLength != 0 || d.Range != 0 || len(d.Breakers) > 0)
	c.decimal("dry.multiplier", d.Multiplier, 0, 10)
	if d.Base != 0 {
		c.decimal("dry.base", d.Base, 1, 10)
	}
	c.number("dry.allowed_length", d.AllowedLength, maxAllowance)
	c.number("dry.range", d.Range, maxTokens)
	if n := len(d.Breakers); n > MaxBreakers {
		c.items("dry.breakers", n, MaxBreakers)
		return
	}
	for i, b := range d.Breakers {
		field := fmt.Sprintf("dry.breakers[%d]", i)
		c.bytes(field, b, MaxBreaker)
		if b == "" {
			c.add(field, "must not be empty")
		}
	}
}

// small checks the groups of two or three numbers.
func (c checker) small(s Sampling) {
	if x := s.XTC; x != nil {
		c.off("xtc.probability", x.Probability == 0, x.Threshold != 0)
		c.decimal("xtc.probability", x.Probability, 0, 1)
		c.decimal("xtc.threshold", x.Threshold, 0, 1)
	}
	if m := s.Mirostat; m != nil {
		c.off("mirostat.mode", m.Mode == 0, m.Tau != 0 || m.Eta != 0)
		c.number("mirostat.mode", m.Mode, 2)
		c.decimal("mirostat.tau", m.Tau, 0, 20)
		c.decimal("mirostat.eta", m.Eta, 0, 1)
	}
	if d := s.DynamicTemperature; d != nil {
		c.off("dynamic_temperature.range", d.Range == 0, d.Exponent != 0)
		c.decimal("dynamic_temperature.range", d.Range, 0, 5)
		c.decimal("dynamic_temperature.exponent", d.Exponent, 0, 10)
	}
	if q := s.Smoothing; q != nil {
		c.off("smoothing.factor", q.Factor == 0, q.Curve != 0)
		c.decimal("smoothing.factor", q.Factor, 0, 10)
		c.decimal("smoothing.curve", q.Curve, 0, 10)
	}
}

func (c checker) biases(all []Bias) {
	if n := len(all); n > MaxBiases {
		c.items("logit_bias", n, MaxBiases)
		return
	}
	first := map[int]int{}
	for i, b := range all {
		field := fmt.Sprintf("logit_bias[%d].", i)
		c.number(field+"token", b.Token, maxTokenID)
		c.decimal(field+"bias", b.Bias, -maxBias, maxBias)
		if before, twice := first[b.Token]; twice {
			c.add(field+"token", "is %d, as in logit_bias[%d]; each token has one bias", b.Token, before)
			continue
		}
		first[b.Token] = i
	}
}
