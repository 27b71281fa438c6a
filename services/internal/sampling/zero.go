package sampling

import "slices"

// PlusZero gives the sampling with 0 in place of each -0: they draw alike, and a file or a message that leaves out what is 0 has
// no other. What s points to is copied, not changed.
func (s Sampling) PlusZero() Sampling {
	for _, f := range []**float64{
		&s.Temperature, &s.TopP, &s.MinP, &s.TypicalP, &s.TopA, &s.TailFree, &s.RepeatPenalty, &s.RepeatSlope, &s.PresencePenalty, &s.FrequencyPenalty,
	} {
		if *f != nil {
			plus := **f + 0
			*f = &plus
		}
	}
	if s.DRY != nil {
		d := *s.DRY
		d.Multiplier, d.Base, s.DRY = d.Multiplier+0, d.Base+0, &d
	}
	if s.XTC != nil {
		s.XTC = &XTC{s.XTC.Probability + 0, s.XTC.Threshold + 0}
	}
	if s.Mirostat != nil {
		s.Mirostat = &Mirostat{s.Mirostat.Mode, s.Mirostat.Tau + 0, s.Mirostat.Eta + 0}
	}
	if s.DynamicTemperature != nil {
		s.DynamicTemperature = &DynamicTemperature{s.DynamicTemperature.Range + 0, s.DynamicTemperature.Exponent + 0}
	}
	if s.Smoothing != nil {
		s.Smoothing = &Smoothing{s.Smoothing.Factor + 0, s.Smoothing.Curve + 0}
	}
	s.LogitBias = slices.Clone(s.LogitBias)
	for i := range s.LogitBias {
		s.LogitBias[i].Bias += 0
	}
	return s
}
