package sessionservice

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
)

// Decide takes a decision about an approval. Of an edit it gives the approval that has the place of the old one, also where the same person
// sends the same edit again. *NotFoundError, *gate.Refusal.
func (s *Service) Decide(ctx context.Context, w Who, id string, r gate.Request) (gate.Approval, error) {
	r.Who = w
	a, err := s.Engine.Decide(ctx, w.Namespace, id, r)
	var closed *gate.Refusal
	if errors.As(err, &closed) && closed.Code == gate.Closed && r.Decision == gate.Edit {
		return s.editedBefore(ctx, w, id, r.Args, closed)
	}
	if err != nil {
		return gate.Approval{}, found(anApproval, id, err)
	}
	s.changed(ctx, w, a.Session)
	if r.Decision != gate.Edit {
		return a, nil
	}
	now, err := s.Approval(ctx, w, a.ReplacedBy)
	return now.Approval, err
}

// editedBefore gives the approval that an edit has made before, if this is the same one.
func (s *Service) editedBefore(ctx context.Context, w Who, id string, args []byte, closed error) (gate.Approval, error) {
	was, err := s.Approval(ctx, w, id)
	if err != nil || was.Approval.State != gate.Edited || was.Approval.Decision.Name != w.Name {
		return gate.Approval{}, closed
	}
	now, err := s.Approval(ctx, w, was.Approval.ReplacedBy)
	if same, bad := canon.Object(args); err != nil || bad != nil || string(same) != now.Args {
		return gate.Approval{}, closed
	}
	return now.Approval, nil
}

// Extend gives an approval that waits more time. *NotFoundError, *gate.Refusal.
func (s *Service) Extend(ctx context.Context, w Who, id string, until time.Time) (gate.Approval, error) {
	a, err := s.Engine.Extend(ctx, w.Namespace, id, gate.Extension{Who: w, Until: until})
	return a, found(anApproval, id, err)
}

// Approval gives an approval with what it shows. *NotFoundError, *ledger.BrokenError.
func (s *Service) Approval(ctx context.Context, w Who, id string) (turn.Reading, error) {
	r, err := s.Engine.Approval(ctx, w.Namespace, id, w)
	return r, found(anApproval, id, err)
}

// Approvals gives approvals behind a place, newest first, those that cannot be read among them. An error ends them.
func (s *Service) Approvals(ctx context.Context, w Who, f store.ApprovalFilter, after store.Place) iter.Seq2[turn.Listed, error] {
	return s.Engine.Approvals(ctx, w.Namespace, f, after, w)
}

// Counts tells how often what was decided in a session, or for "" in all of the namespace. *gate.Refusal of who is no approver.
func (s *Service) Counts(ctx context.Context, w Who, session string) ([]gate.Count, error) {
	counts, _, err := s.Engine.Stats(ctx, w.Namespace, session, time.Time{}, w)
	return counts, err
}

// Revoke takes back what was allowed for the rest of a session. *NotFoundError of either, *gate.Refusal.
func (s *Service) Revoke(ctx context.Context, w Who, id, rule string) (View, error) {
	if _, err := s.Ledger.Get(ctx, w.Namespace, id); err != nil {
		return View{}, found(aSession, id, err)
	}
	got, err := s.Engine.Revoke(ctx, w.Namespace, id, rule, w)
	if err != nil {
		return View{}, found("standing rule", rule, err)
	}
	return s.View(ctx, w.Namespace, got)
}

// changed has a session looked at.
func (s *Service) changed(ctx context.Context, w Who, id string) {
	s.Runner.Wake(ctx, w.Namespace, id)
}

// LocaleOf is the language of the sentences about a session.
func (s *Service) LocaleOf(ctx context.Context, w Who, id string) string {
	return s.Locale(ctx, gate.Approval{Namespace: w.Namespace, Session: id})
}

// Locale is the language of the sentences about an approval.
func (s *Service) Locale(ctx context.Context, a gate.Approval) string {
	got, err := s.Ledger.Get(ctx, a.Namespace, a.Session)
	if err != nil {
		return "en" // It was deleted, or cannot be read now: the sentences are there all the same.
	}
	return got.Locale
}
