package transfer

import (
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// generation is how an answer was made, in our own export. The words are those of the contract.
type generation struct {
	Backend       string   `json:"backend,omitempty"`
	Kind          string   `json:"kind,omitempty"`
	Address       string   `json:"address,omitempty"`
	Tokenizer     string   `json:"tokenizer,omitempty"`
	Model         string   `json:"model,omitempty"`
	Window        int      `json:"window,omitempty"`
	PromptDigest  string   `json:"prompt_digest,omitempty"`
	Task          string   `json:"task,omitempty"`
	PickSeed      uint32   `json:"pick_seed,omitempty"`
	Picks         []string `json:"picks,omitempty"`
	Sampling      *sampled `json:"sampling,omitempty"`
	PromptTokens  int      `json:"prompt_tokens,omitempty"`
	CachedTokens  int      `json:"cached_tokens,omitempty"`
	AnswerTokens  int      `json:"answer_tokens,omitempty"`
	PromptSeconds float64  `json:"prompt_seconds,omitempty"`
	AnswerSeconds float64  `json:"answer_seconds,omitempty"`
	Finish        string   `json:"finish_reason,omitempty"`
	Fault         string   `json:"fault,omitempty"`
	Error         string   `json:"error,omitempty"`
	Branch        string   `json:"branch,omitempty"`
	RequestDigest string   `json:"request_digest,omitempty"`
}

type sampled struct {
	Temperature        *float64            `json:"temperature,omitempty"`
	TopK               *int                `json:"top_k,omitempty"`
	TopP               *float64            `json:"top_p,omitempty"`
	MinP               *float64            `json:"min_p,omitempty"`
	TypicalP           *float64            `json:"typical_p,omitempty"`
	TopA               *float64            `json:"top_a,omitempty"`
	TailFree           *float64            `json:"tail_free,omitempty"`
	RepeatPenalty      *float64            `json:"repeat_penalty,omitempty"`
	RepeatSlope        *float64            `json:"repeat_slope,omitempty"`
	RepeatRange        *int                `json:"repeat_range,omitempty"`
	PresencePenalty    *float64            `json:"presence_penalty,omitempty"`
	FrequencyPenalty   *float64            `json:"frequency_penalty,omitempty"`
	DRY                *dry                `json:"dry,omitempty"`
	XTC                *xtc                `json:"xtc,omitempty"`
	Mirostat           *mirostat           `json:"mirostat,omitempty"`
	DynamicTemperature *dynamicTemperature `json:"dynamic_temperature,omitempty"`
	Smoothing          *smoothing          `json:"smoothing,omitempty"`
	LogitBias          []bias              `json:"logit_bias,omitempty"`
	BanEOS             bool                `json:"ban_eos,omitempty"`
	Grammar            string              `json:"grammar,omitempty"`
	Seed               *uint32             `json:"seed,omitempty"`
	MaxTokens          int                 `json:"max_tokens,omitempty"`
	Stop               []string            `json:"stop,omitempty"`
}

type dry struct {
	Multiplier    float64  `json:"multiplier"`
	Base          float64  `json:"base,omitempty"`
	AllowedLength int      `json:"allowed_length,omitempty"`
	Range         int      `json:"range,omitempty"`
	Breakers      []string `json:"breakers,omitempty"`
}

type xtc struct {
	Probability float64 `json:"probability"`
	Threshold   float64 `json:"threshold,omitempty"`
}

type mirostat struct {
	Mode int     `json:"mode"`
	Tau  float64 `json:"tau,omitempty"`
	Eta  float64 `json:"eta,omitempty"`
}

type dynamicTemperature struct {
	Range    float64 `json:"range"`
	Exponent float64 `json:"exponent,omitempty"`
}

type smoothing struct {
	Factor float64 `json:"factor"`
	Curve  float64 `json:"curve,omitempty"`
}

type bias struct {
	Token int     `json:"token"`
	Bias  float64 `json:"bias"`
}

func fromGeneration(g *node.Generation) *generation {
	if g == nil {
		return nil
	}
	return &generation{
		g.Backend, g.Kind, g.Address, g.Tokenizer, g.Model, g.Window, g.PromptDigest, g.Task, g.PickSeed, g.Picks, fromSampling(g.Sampling),
		g.PromptTokens, g.CachedTokens, g.AnswerTokens, g.PromptSeconds, g.AnswerSeconds, g.Finish, g.Fault, g.Error, g.Branch, g.RequestDigest,
	}
}

func (g *generation) node() *node.Generation {
	if g == nil {
		return nil
	}
	return &node.Generation{
		Backend: g.Backend, Kind: g.Kind, Address: g.Address, Tokenizer: g.Tokenizer, Model: g.Model, Window: g.Window,
		PromptDigest: g.PromptDigest, Task: g.Task, PickSeed: g.PickSeed, Picks: g.Picks, Sampling: g.Sampling.sampling(),
		PromptTokens: g.PromptTokens, CachedTokens: g.CachedTokens, AnswerTokens: g.AnswerTokens, PromptSeconds: g.PromptSeconds,
		AnswerSeconds: g.AnswerSeconds, Finish: g.Finish, Fault: g.Fault, Error: g.Error, Branch: g.Branch, RequestDigest: g.RequestDigest,
	}
}

func fromSampling(s *sampling.Sampling) *sampled {
	if s == nil {
		return nil
	}
	out := &sampled{
		s.Temperature, s.TopK, s.TopP, s.MinP, s.TypicalP, s.TopA, s.TailFree, s.RepeatPenalty, s.RepeatSlope, s.RepeatRange,
		s.PresencePenalty, s.FrequencyPenalty, (*dry)(s.DRY), (*xtc)(s.XTC), (*mirostat)(s.Mirostat),
		(*dynamicTemperature)(s.DynamicTemperature), (*smoothing)(s.Smoothing), nil, s.BanEOS, s.Grammar, s.Seed, s.MaxTokens, s.Stop,
	}
	for _, b := range s.LogitBias {
		out.LogitBias = append(out.LogitBias, bias(b))
	}
	return out
}

func (s *sampled) sampling() *sampling.Sampling {
	if s == nil {
		return nil
	}
	out := &sampling.Sampling{
		Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP, TypicalP: s.TypicalP, TopA: s.TopA, TailFree: s.TailFree,
		RepeatPenalty: s.RepeatPenalty, RepeatSlope: s.RepeatSlope, RepeatRange: s.RepeatRange,
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, DRY: (*sampling.DRY)(s.DRY), XTC: (*sampling.XTC)(s.XTC),
		Mirostat: (*sampling.Mirostat)(s.Mirostat), DynamicTemperature: (*sampling.DynamicTemperature)(s.DynamicTemperature),
		Smoothing: (*sampling.Smoothing)(s.Smoothing), BanEOS: s.BanEOS, Grammar: s.Grammar, Seed: s.Seed, MaxTokens: s.MaxTokens, Stop: s.Stop,
	}
	for _, b := range s.LogitBias {
		out.LogitBias = append(out.LogitBias, sampling.Bias(b))
	}
	return out
}
