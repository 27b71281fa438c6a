package transport_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

func TestListBackends(t *testing.T) {
	t.Parallel()
	s := &stories{backends: []story.Status{{
		Listed:   story.Listed{Name: "a", Kind: "llamacpp", Default: true, CountsHere: true, Estimates: true, Borders: true, Knobs: []string{"min_p"}},
		Identity: story.Backend{Backend: "a", Kind: "llamacpp", Address: "http://h", Model: "m", Window: 4096, Tokenizer: "t"},
		Warnings: []string{"w"},
		Told:     llm.Told{StopString: true, Cache: true, Conversations: true, Tools: true, Schema: true},
	}}}
	trouble := map[llm.Fault]promptbuilderv1.BackendState{
		llm.FaultLoading: promptbuilderv1.BackendState_BACKEND_STATE_LOADING, llm.FaultBusy: promptbuilderv1.BackendState_BACKEND_STATE_BUSY,
		llm.FaultTimeout: promptbuilderv1.BackendState_BACKEND_STATE_UNREACHABLE, llm.FaultRefused: promptbuilderv1.BackendState_BACKEND_STATE_FAULTY,
	}
	want := &promptbuilderv1.ListBackendsResponse{Backends: []*promptbuilderv1.Backend{{
		Name: "a", Kind: "llamacpp", IsDefault: true, State: promptbuilderv1.BackendState_BACKEND_STATE_READY, CountsHere: true, Estimates: true, TokenBorders: true, StopStringTold: true, CachedTokensTold: true,
		TakesConversations: true, TakesTools: true, HoldsSchemas: true, Sampling: []string{"min_p"}, Warnings: []string{"w"},
		Identity: &commonv1.BackendIdentity{Backend: "a", Kind: "llamacpp", Address: "http://h", Model: "m", Window: 4096, Tokenizer: "t"},
	}}}
	for fault, state := range trouble {
		err := &llm.Error{Fault: fault, Backend: "b", Address: "x", Message: "why"}
		s.backends = append(s.backends, story.Status{Listed: story.Listed{Name: "b"}, Err: err})
		want.Backends = append(want.Backends, &promptbuilderv1.Backend{Name: "b", State: state, Message: err.Error()})
	}
	s.backends = append(s.backends, story.Status{Listed: story.Listed{Name: "c"}, Err: errors.New("odd")})
	want.Backends = append(want.Backends, &promptbuilderv1.Backend{Name: "c", State: promptbuilderv1.BackendState_BACKEND_STATE_FAULTY, Message: "odd"})
	got, err := serve(t, s).ListBackends(t.Context(), &promptbuilderv1.ListBackendsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
