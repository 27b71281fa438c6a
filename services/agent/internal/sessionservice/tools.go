package sessionservice

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
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

// Explain says what policy makes of a call of a session. *NotFoundError.
func (s *Service) Explain(ctx context.Context, w Who, id, name string, args []byte) (turn.Explained, error) {
	x, err := s.Engine.Explain(ctx, w.Namespace, turn.Query{Session: id, Tool: name, Args: args, Who: w})
	return x, found(aSession, id, err)
}

// Call calls a tool of a session without its model. request is a UUID, or empty. *NotFoundError, *ReusedError, *gate.Refusal, *session.RefusedError.
func (s *Service) Call(ctx context.Context, w Who, c turn.Call, request string) (turn.Called, error) {
	c.Who, c.ID = w, own(w, request, "call")
	out, err := s.Engine.Call(ctx, w.Namespace, c)
	if errors.Is(err, store.ErrTaken) {
		err = &ReusedError{request}
	}
	return out, found(aSession, c.Session, err)
}
