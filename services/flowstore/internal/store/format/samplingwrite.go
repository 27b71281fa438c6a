package format

import (
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// sampling writes single numbers as attributes, in the order in which they came to be known, and what has parts as elements.
func (w *xmlWriter) sampling(s *sampling.Sampling) {
	attrs := []attr{
		{"temperature", decimalOf(s.Temperature)}, {"top_p", decimalOf(s.TopP)}, {"top_k", numberOf(s.TopK)}, {"min_p", decimalOf(s.MinP)},
		{"repeat_penalty", decimalOf(s.RepeatPenalty)}, {"seed", unsignedOf(s.Seed)}, {"max_tokens", number(s.MaxTokens)},
		{"typical_p", decimalOf(s.TypicalP)}, {"top_a", decimalOf(s.TopA)}, {"tail_free", decimalOf(s.TailFree)},
		{"repeat_range", numberOf(s.RepeatRange)}, {"repeat_slope", decimalOf(s.RepeatSlope)},
		{"presence_penalty", decimalOf(s.PresencePenalty)}, {"frequency_penalty", decimalOf(s.FrequencyPenalty)}, {"ban_eos", yes(s.BanEOS)},
	}
	if len(s.Stop) == 0 && len(s.LogitBias) == 0 && s.Grammar == "" && s.DRY == nil && s.XTC == nil && s.Mirostat == nil &&
		s.DynamicTemperature == nil && s.Smoothing == nil {
		w.empty("sampling", attrs...)
		return
	}
	w.start("sampling", attrs...)
	for _, text := range s.Stop {
		w.inline("stop", text)
	}
	w.groups(s)
	for _, b := range s.LogitBias {
		w.empty("bias", attr{"token", strconv.Itoa(b.Token)}, attr{"value", decimalOf(&b.Bias)})
	}
	if s.Grammar != "" {
		w.section("grammar", s.Grammar)
	}
	w.end("sampling")
}

// groups writes what has parts. The first part switches it on or off and is always there; another that is 0 is left out.
func (w *xmlWriter) groups(s *sampling.Sampling) {
	if d := s.DRY; d != nil {
		w.list("dry", "breaker", d.Breakers, attr{"multiplier", decimalOf(&d.Multiplier)}, attr{"base", decimal(d.Base)},
			attr{"allowed_length", number(d.AllowedLength)}, attr{"range", number(d.Range)})
	}
	if x := s.XTC; x != nil {
		w.empty("xtc", attr{"probability", decimalOf(&x.Probability)}, attr{"threshold", decimal(x.Threshold)})
	}
	if m := s.Mirostat; m != nil {
		w.empty("mirostat", attr{"mode", strconv.Itoa(m.Mode)}, attr{"tau", decimal(m.Tau)}, attr{"eta", decimal(m.Eta)})
	}
	if d := s.DynamicTemperature; d != nil {
		w.empty("dynamic_temperature", attr{"range", decimalOf(&d.Range)}, attr{"exponent", decimal(d.Exponent)})
	}
	if q := s.Smoothing; q != nil {
		w.empty("smoothing", attr{"factor", decimalOf(&q.Factor)}, attr{"curve", decimal(q.Curve)})
	}
}

// yes is the value of an attribute that is left out where it does not hold.
func yes(b bool) string {
	if !b {
		return ""
	}
	return "true"
}

// decimalOf and its kin write a value that was given, 0 included.
func decimalOf(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func numberOf(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func unsignedOf(n *uint32) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}
