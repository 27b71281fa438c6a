package format

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// sampling writes single numbers as attributes, in the order in which they came to be known, and what has parts as elements.
func (w *xmlWriter) sampling(s *sampling.Sampling) {
	attrs := []attr{
		decimalOf("temperature", s.Temperature), decimalOf("top_p", s.TopP), numberOf("top_k", s.TopK), decimalOf("min_p", s.MinP),
		decimalOf("repeat_penalty", s.RepeatPenalty), unsignedOf("seed", s.Seed), number("max_tokens", s.MaxTokens),
		decimalOf("typical_p", s.TypicalP), decimalOf("top_a", s.TopA), decimalOf("tail_free", s.TailFree),
		numberOf("repeat_range", s.RepeatRange), decimalOf("repeat_slope", s.RepeatSlope),
		decimalOf("presence_penalty", s.PresencePenalty), decimalOf("frequency_penalty", s.FrequencyPenalty), yes("ban_eos", s.BanEOS),
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
		w.empty("bias", whole("token", b.Token), decimalOf("value", &b.Bias))
	}
	if s.Grammar != "" {
		w.section("grammar", s.Grammar)
	}
	w.end("sampling")
}

// groups writes what has parts. The first part switches it on or off and is always there; another that is 0 is left out.
func (w *xmlWriter) groups(s *sampling.Sampling) {
	if d := s.DRY; d != nil {
		w.list("dry", "breaker", d.Breakers, decimalOf("multiplier", &d.Multiplier), decimal("base", d.Base),
			number("allowed_length", d.AllowedLength), number("range", d.Range))
	}
	if x := s.XTC; x != nil {
		w.empty("xtc", decimalOf("probability", &x.Probability), decimal("threshold", x.Threshold))
	}
	if m := s.Mirostat; m != nil {
		w.empty("mirostat", whole("mode", m.Mode), decimal("tau", m.Tau), decimal("eta", m.Eta))
	}
	if d := s.DynamicTemperature; d != nil {
		w.empty("dynamic_temperature", decimalOf("range", &d.Range), decimal("exponent", d.Exponent))
	}
	if q := s.Smoothing; q != nil {
		w.empty("smoothing", decimalOf("factor", &q.Factor), decimal("curve", q.Curve))
	}
}
