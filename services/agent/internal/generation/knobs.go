package generation

import (
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// PresetError says that a preset sets what the kind of the backend does not have: it may have been made for another one.
type PresetError struct{ Knobs llm.KnobsError }

func (e *PresetError) Error() string {
	return "the preset sets " + e.Knobs.Names() + ", and a server of kind " + e.Knobs.Kind + " does not have it; name another preset or another backend"
}

// checkKnobs is an *llm.KnobsError where a sampling sets what the kind of the backend does not have.
func (s *Service) checkKnobs(backend string, model llm.Generator, asked llm.Sampling) error {
	known, ok := model.(llm.Sampler)
	if !ok {
		return nil
	}
	return llm.Request{Sampling: asked}.Unknown(s.models.Kind(backend), known.Knobs())
}

// checkPreset is checkKnobs for what a preset says: a *PresetError.
func (s *Service) checkPreset(backend string, model llm.Generator, says llm.Sampling) error {
	err := s.checkKnobs(backend, model, says)
	if unknown := (*llm.KnobsError)(nil); errors.As(err, &unknown) {
		return &PresetError{Knobs: *unknown}
	}
	return err
}
