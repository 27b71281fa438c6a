package generation

import "github.com/tsumugi-dev/tsumugi/services/internal/llm"

// checkKnobs is an *llm.KnobsError where a sampling sets what the kind of the backend does not have.
func (s *Service) checkKnobs(backend string, model llm.Generator, asked llm.Sampling) error {
	known, ok := model.(llm.Sampler)
	if !ok {
		return nil
	}
	return llm.Request{Sampling: asked}.Unknown(s.models.Kind(backend), known.Knobs())
}
