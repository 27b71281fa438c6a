package generation

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// RefusedError is everything for which a request is refused; each of Reasons alone would be enough.
type RefusedError struct{ Reasons []error }

func (e *RefusedError) Error() string { return errors.Join(e.Reasons...).Error() }

// Unwrap gives the reasons.
func (e *RefusedError) Unwrap() []error { return e.Reasons }

// Refusals is what backend and promptbuilder refuse of a request in which something else is wrong, so that its caller
// learns of all at once. Nothing of the flow is read.
func (s *Service) Refusals(ctx context.Context, ns string, req Request) []error {
	model, err := s.generator(req)
	return s.refusals(ctx, ns, req, model, err)
}

// generator gives the model of a request. *llm.UnknownBackendError; *llm.KnobsError.
func (s *Service) generator(req Request) (llm.Generator, error) {
	model, err := s.models.Generator(req.Backend)
	if err != nil {
		return nil, err
	}
	return model, s.checkKnobs(req.Backend, model, req.Sampling)
}

// refusals adds to an error of generator what promptbuilder refuses: it is asked for the prompt of a short text.
func (s *Service) refusals(ctx context.Context, ns string, req Request, model llm.Generator, found error) (all []error) {
	if found != nil {
		all = append(all, found)
	}
	if req.Chat != nil && req.Chat.Context {
		if err := s.contexts.Refusal(ctx, ns, req.contextRequest(req.Backend)); err != nil {
			all = append(all, err)
		}
	}
	if req.Prompt != "" || req.Chat != nil {
		return all
	}
	built, err := s.prompts.Build(ctx, ns, BuildRequest{
		Backend: req.Backend, Story: req.Story, Body: "…", BlockOrder: req.BlockOrder, NoteHeader: req.NoteHeader,
		MaxTokens: req.Sampling.MaxTokens, Seed: req.PickSeed, Form: req.Build,
	})
	if err == nil && model != nil {
		err = s.checkPreset(req.Backend, model, built.Sampling)
	}
	if err != nil {
		all = append(all, err)
	}
	return all
}
