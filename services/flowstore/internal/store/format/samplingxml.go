package format

import "github.com/tsumugi-dev/tsumugi/services/internal/sampling"

// What the file of a node holds of its sampling.
type (
	xmlSampling struct {
		Temperature        *string      `xml:"temperature,attr"`
		TopP               *string      `xml:"top_p,attr"`
		TopK               *string      `xml:"top_k,attr"`
		MinP               *string      `xml:"min_p,attr"`
		RepeatPenalty      *string      `xml:"repeat_penalty,attr"`
		Seed               *string      `xml:"seed,attr"`
		MaxTokens          string       `xml:"max_tokens,attr"`
		TypicalP           *string      `xml:"typical_p,attr"`
		TopA               *string      `xml:"top_a,attr"`
		TailFree           *string      `xml:"tail_free,attr"`
		RepeatRange        *string      `xml:"repeat_range,attr"`
		RepeatSlope        *string      `xml:"repeat_slope,attr"`
		PresencePenalty    *string      `xml:"presence_penalty,attr"`
		FrequencyPenalty   *string      `xml:"frequency_penalty,attr"`
		BanEOS             string       `xml:"ban_eos,attr"`
		Stops              []xmlElement `xml:"stop"`
		DRY                *xmlDRY      `xml:"dry"`
		XTC                *xmlXTC      `xml:"xtc"`
		Mirostat           *xmlMirostat `xml:"mirostat"`
		DynamicTemperature *xmlDynamic  `xml:"dynamic_temperature"`
		Smoothing          *xmlSmooth   `xml:"smoothing"`
		Biases             []xmlBias    `xml:"bias"`
		Grammar            xmlElement   `xml:"grammar"`
	}
	xmlDRY struct {
		Multiplier    string       `xml:"multiplier,attr"`
		Base          string       `xml:"base,attr"`
		AllowedLength string       `xml:"allowed_length,attr"`
		Range         string       `xml:"range,attr"`
		Breakers      []xmlElement `xml:"breaker"`
	}
	xmlXTC struct {
		Probability string `xml:"probability,attr"`
		Threshold   string `xml:"threshold,attr"`
	}
	xmlMirostat struct {
		Mode string `xml:"mode,attr"`
		Tau  string `xml:"tau,attr"`
		Eta  string `xml:"eta,attr"`
	}
	xmlDynamic struct {
		Range    string `xml:"range,attr"`
		Exponent string `xml:"exponent,attr"`
	}
	xmlSmooth struct {
		Factor string `xml:"factor,attr"`
		Curve  string `xml:"curve,attr"`
	}
	xmlBias struct {
		Token string `xml:"token,attr"`
		Value string `xml:"value,attr"`
	}
)

func (r *reading) sampling(s *xmlSampling) *sampling.Sampling {
	if s == nil {
		return nil
	}
	out := &sampling.Sampling{
		Temperature:      given(r, (*reading).decimal, "temperature", s.Temperature),
		TopK:             given(r, (*reading).number, "top_k", s.TopK),
		TopP:             given(r, (*reading).decimal, "top_p", s.TopP),
		MinP:             given(r, (*reading).decimal, "min_p", s.MinP),
		TypicalP:         given(r, (*reading).decimal, "typical_p", s.TypicalP),
		TopA:             given(r, (*reading).decimal, "top_a", s.TopA),
		TailFree:         given(r, (*reading).decimal, "tail_free", s.TailFree),
		RepeatPenalty:    given(r, (*reading).decimal, "repeat_penalty", s.RepeatPenalty),
		RepeatSlope:      given(r, (*reading).decimal, "repeat_slope", s.RepeatSlope),
		RepeatRange:      given(r, (*reading).number, "repeat_range", s.RepeatRange),
		PresencePenalty:  given(r, (*reading).decimal, "presence_penalty", s.PresencePenalty),
		FrequencyPenalty: given(r, (*reading).decimal, "frequency_penalty", s.FrequencyPenalty),
		BanEOS:           r.yes("ban_eos", s.BanEOS),
		Grammar:          r.section(s.Grammar),
		Seed:             given(r, (*reading).unsigned, "seed", s.Seed),
		MaxTokens:        r.number("max_tokens", s.MaxTokens),
		Stop:             r.inlines(s.Stops),
	}
	r.groups(s, out)
	for _, b := range s.Biases {
		out.LogitBias = append(out.LogitBias, sampling.Bias{Token: r.number("token", b.Token), Bias: r.decimal("value", b.Value)})
	}
	return out
}

// groups reads what has parts.
func (r *reading) groups(s *xmlSampling, out *sampling.Sampling) {
	if d := s.DRY; d != nil {
		out.DRY = &sampling.DRY{
			Multiplier: r.decimal("multiplier", d.Multiplier), Base: r.decimal("base", d.Base),
			AllowedLength: r.number("allowed_length", d.AllowedLength), Range: r.number("range", d.Range), Breakers: r.inlines(d.Breakers),
		}
	}
	if x := s.XTC; x != nil {
		out.XTC = &sampling.XTC{Probability: r.decimal("probability", x.Probability), Threshold: r.decimal("threshold", x.Threshold)}
	}
	if m := s.Mirostat; m != nil {
		out.Mirostat = &sampling.Mirostat{Mode: r.number("mode", m.Mode), Tau: r.decimal("tau", m.Tau), Eta: r.decimal("eta", m.Eta)}
	}
	if d := s.DynamicTemperature; d != nil {
		out.DynamicTemperature = &sampling.DynamicTemperature{Range: r.decimal("range", d.Range), Exponent: r.decimal("exponent", d.Exponent)}
	}
	if q := s.Smoothing; q != nil {
		out.Smoothing = &sampling.Smoothing{Factor: r.decimal("factor", q.Factor), Curve: r.decimal("curve", q.Curve)}
	}
}

func (r *reading) yes(name, text string) bool {
	switch text {
	case "", "false":
		return false
	case "true":
		return true
	}
	r.fail(unreadable("%s=%q is neither true nor false", name, cut(text)))
	return false
}
