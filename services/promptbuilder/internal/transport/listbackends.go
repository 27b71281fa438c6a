package transport

import (
	"context"
	"errors"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// ListBackends tells how the model servers are.
func (s *Server) ListBackends(ctx context.Context, _ *promptbuilderv1.ListBackendsRequest) (*promptbuilderv1.ListBackendsResponse, error) {
	res := &promptbuilderv1.ListBackendsResponse{}
	for _, b := range s.stories.Backends(ctx) {
		res.Backends = append(res.Backends, fromStatus(b))
	}
	return res, ctx.Err()
}

func fromStatus(b story.Status) *promptbuilderv1.Backend {
	out := &promptbuilderv1.Backend{
		Name: b.Name, Kind: b.Kind, IsDefault: b.Default, CountsHere: b.CountsHere, Estimates: b.Estimates, TokenBorders: b.Borders, Sampling: b.Knobs, State: stateOf(b.Err),
		Warnings: b.Warnings, StopStringTold: b.Told.StopString, CachedTokensTold: b.Told.Cache,
		TakesConversations: b.Told.Conversations, TakesTools: b.Told.Tools, HoldsSchemas: b.Told.Schema,
	}
	if b.Err == nil {
		out.Identity = fromBackend(b.Identity)
	} else {
		out.Message = b.Err.Error()
	}
	return out
}

// states are how a server is that is in trouble; any other trouble is a fault of it.
var states = map[llm.Fault]promptbuilderv1.BackendState{
	llm.FaultUnreachable: promptbuilderv1.BackendState_BACKEND_STATE_UNREACHABLE,
	llm.FaultTimeout:     promptbuilderv1.BackendState_BACKEND_STATE_UNREACHABLE,
	llm.FaultLoading:     promptbuilderv1.BackendState_BACKEND_STATE_LOADING,
	llm.FaultBusy:        promptbuilderv1.BackendState_BACKEND_STATE_BUSY,
}

func stateOf(err error) promptbuilderv1.BackendState {
	if err == nil {
		return promptbuilderv1.BackendState_BACKEND_STATE_READY
	}
	var trouble *llm.Error
	if errors.As(err, &trouble) {
		if state, known := states[trouble.Fault]; known {
			return state
		}
	}
	return promptbuilderv1.BackendState_BACKEND_STATE_FAULTY
}
