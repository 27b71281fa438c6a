package wire

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// slots holds a token for each call that is under way.
type slots chan struct{}

// take waits for a free slot, as long as the caller does. Whatever is under way has time limits of its own, so the wait
// ends. A slot that was taken must be given back.
func (s *Server) take(ctx context.Context, from slots) error {
	select {
	case from <- struct{}{}:
		return nil
	default:
	}
	select {
	case from <- struct{}{}:
		return nil
	case <-ctx.Done():
		ended := llm.Ended(ctx)
		return s.Fault(ended.Fault, ended.Err, "%s while it waited for one of %d calls at once (concurrency) to end", ended.Message, cap(from))
	}
}

func (s slots) give() { <-s }
