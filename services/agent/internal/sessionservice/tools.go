package sessionservice

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Tools are those of a session, in the order of its prompts. *NotFoundError.
func (s *Service) Tools(ctx context.Context, w Who, id string) ([]*tool.Tool, error) {
	got, err := s.Ledger.Get(ctx, w.Namespace, id)
	if err != nil {
		return nil, found(aSession, id, err)
	}
	r, err := s.Engine.Tools.Router(ctx, w.Namespace, got)
	if err != nil {
		return nil, err
	}
	return r.Tools.Tools(), nil
}
