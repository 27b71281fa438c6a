package sessionservice

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
)

// Decide takes a decision about an approval. *NotFoundError, *gate.Refusal.
func (s *Service) Decide(ctx context.Context, w Who, id string, r gate.Request) (gate.Approval, error) {
	r.Who = w
	a, err := s.Engine.Decide(ctx, w.Namespace, id, r)
	if err != nil {
		return gate.Approval{}, found(anApproval, id, err)
	}
	s.Runner.Wake(w.Namespace, a.Session)
	s.Desk.Wake(w.Namespace, a.Session)
	return a, nil
}

// Locale is the language of the sentences about an approval.
func (s *Service) Locale(ctx context.Context, a gate.Approval) string {
	got, err := s.Ledger.Get(ctx, a.Namespace, a.Session)
	if err != nil {
		return "en" // It was deleted, or cannot be read now: the sentences are there all the same.
	}
	return got.Locale
}
