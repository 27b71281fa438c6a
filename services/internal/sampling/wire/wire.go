// Package wire is how a sampling looks in the contract: one message stands in requests to agent, in presets of
// promptbuilder and in records of flowstore.
package wire

import (
	"math"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// Sampling reads a sampling; of no message it is one that says nothing. Its limits are not looked at.
func Sampling(in *flowstorev1.Sampling) sampling.Sampling {
	if in == nil {
		return sampling.Sampling{}
	}
	s := sampling.Sampling{
		Temperature: in.Temperature, TopP: in.TopP, MinP: in.MinP, TypicalP: in.TypicalP, TopA: in.TopA, TailFree: in.TailFree,
		RepeatPenalty: in.RepeatPenalty, RepeatSlope: in.RepeatSlope, PresencePenalty: in.PresencePenalty, FrequencyPenalty: in.FrequencyPenalty,
		BanEOS: in.GetBanEos(), Grammar: in.GetGrammar(), Seed: in.Seed, MaxTokens: int(in.GetMaxTokens()), Stop: in.GetStop(),
	}
	if in.TopK != nil {
		s.TopK = new(int)
		*s.TopK = int(in.GetTopK())
	}
	if in.RepeatRange != nil {
		s.RepeatRange = new(int)
		*s.RepeatRange = int(in.GetRepeatRange())
	}
	if d := in.GetDry(); d != nil {
		s.DRY = &sampling.DRY{
			Multiplier: d.GetMultiplier(), Base: d.GetBase(), AllowedLength: int(d.GetAllowedLength()), Range: int(d.GetRange()), Breakers: d.GetBreakers(),
		}
	}
	if x := in.GetXtc(); x != nil {
		s.XTC = &sampling.XTC{Probability: x.GetProbability(), Threshold: x.GetThreshold()}
	}
	if m := in.GetMirostat(); m != nil {
		s.Mirostat = &sampling.Mirostat{Mode: int(m.GetMode()), Tau: m.GetTau(), Eta: m.GetEta()}
	}
	if d := in.GetDynamicTemperature(); d != nil {
		s.DynamicTemperature = &sampling.DynamicTemperature{Range: d.GetRange(), Exponent: d.GetExponent()}
	}
	if q := in.GetSmoothing(); q != nil {
		s.Smoothing = &sampling.Smoothing{Factor: q.GetFactor(), Curve: q.GetCurve()}
	}
	for _, b := range in.GetLogitBias() {
		s.LogitBias = append(s.LogitBias, sampling.Bias{Token: int(b.GetToken()), Bias: b.GetBias()})
	}
	return s
}

// FromSampling writes a sampling. A number that the contract cannot tell, which only a file made by hand has, becomes the
// nearest that it can.
func FromSampling(s sampling.Sampling) *flowstorev1.Sampling {
	out := &flowstorev1.Sampling{
		Temperature: s.Temperature, TopK: number(s.TopK), TopP: s.TopP, MinP: s.MinP, TypicalP: s.TypicalP, TopA: s.TopA, TailFree: s.TailFree,
		RepeatPenalty: s.RepeatPenalty, RepeatSlope: s.RepeatSlope, RepeatRange: number(s.RepeatRange),
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty,
		BanEos: s.BanEOS, Grammar: s.Grammar, Seed: s.Seed, MaxTokens: fit(s.MaxTokens), Stop: s.Stop,
	}
	if d := s.DRY; d != nil {
		out.Dry = &flowstorev1.Sampling_Dry{
			Multiplier: d.Multiplier, Base: d.Base, AllowedLength: fit(d.AllowedLength), Range: fit(d.Range), Breakers: d.Breakers,
		}
	}
	if x := s.XTC; x != nil {
		out.Xtc = &flowstorev1.Sampling_Xtc{Probability: x.Probability, Threshold: x.Threshold}
	}
	if m := s.Mirostat; m != nil {
		out.Mirostat = &flowstorev1.Sampling_Mirostat{Mode: fit(m.Mode), Tau: m.Tau, Eta: m.Eta}
	}
	if d := s.DynamicTemperature; d != nil {
		out.DynamicTemperature = &flowstorev1.Sampling_DynamicTemperature{Range: d.Range, Exponent: d.Exponent}
	}
	if q := s.Smoothing; q != nil {
		out.Smoothing = &flowstorev1.Sampling_Smoothing{Factor: q.Factor, Curve: q.Curve}
	}
	for _, b := range s.LogitBias {
		out.LogitBias = append(out.LogitBias, &flowstorev1.Sampling_LogitBias{Token: fit(b.Token), Bias: b.Bias})
	}
	return out
}

func number(n *int) *int32 {
	if n == nil {
		return nil
	}
	fits := fit(*n)
	return &fits
}

func fit(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }
