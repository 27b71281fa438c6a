package app_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// call makes one call of AgentService about a generation and gives its error, for a stream that of its first event.
type call func(ctx context.Context, r *rig, q *agentv1.GenerateNodeRequest, generation string) error

// first reads the first event of a stream, which then ends with its call.
func first(s interface {
	Recv() (*agentv1.GenerateNodeEvent, error)
}, err error) error {
	if err == nil {
		_, err = s.Recv()
	}
	return err
}

// calls are those about a generation that runs, or its flow, by method. The last one ends it.
var calls = []struct {
	method, refused string
	call            call
}{
	{"GetGeneration", "GENERATION_NOT_FOUND", func(ctx context.Context, r *rig, _ *agentv1.GenerateNodeRequest, generation string) error {
		_, err := r.agent.GetGeneration(ctx, &agentv1.GetGenerationRequest{Name: generation})
		return err
	}},
	{"WatchGeneration", "GENERATION_NOT_FOUND", func(ctx context.Context, r *rig, _ *agentv1.GenerateNodeRequest, generation string) error {
		return first(r.agent.WatchGeneration(ctx, &agentv1.WatchGenerationRequest{Name: generation}))
	}},
	{"GenerateNode", "FLOW_NOT_FOUND", func(ctx context.Context, r *rig, q *agentv1.GenerateNodeRequest, _ string) error {
		return first(r.agent.GenerateNode(ctx, q))
	}},
	{"GenerateNode", "FLOW_NOT_FOUND", func(ctx context.Context, r *rig, q *agentv1.GenerateNodeRequest, _ string) error {
		return first(r.agent.GenerateNode(ctx, &agentv1.GenerateNodeRequest{Flow: q.Flow, DryRun: true}))
	}},
	{"BuildNodeContext", "FLOW_NOT_FOUND", func(ctx context.Context, r *rig, q *agentv1.GenerateNodeRequest, _ string) error {
		_, err := r.agent.BuildNodeContext(ctx, &agentv1.BuildNodeContextRequest{Flow: q.Flow})
		return err
	}},
	{"BuildSummaries", "FLOW_NOT_FOUND", func(ctx context.Context, r *rig, q *agentv1.GenerateNodeRequest, _ string) error {
		s, err := r.agent.BuildSummaries(ctx, &agentv1.BuildSummariesRequest{Flow: q.Flow})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}},
	{"CancelGeneration", "GENERATION_NOT_FOUND", func(ctx context.Context, r *rig, _ *agentv1.GenerateNodeRequest, generation string) error {
		_, err := r.agent.CancelGeneration(ctx, &agentv1.CancelGenerationRequest{Name: generation})
		return err
	}},
}

// ofSessions says that a call is about sessions and approvals: the scenarios of e2e walk all of those.
func ofSessions(m protoreflect.MethodDescriptor) bool {
	for _, part := range []string{"Session", "Turn", "Message", "Approval", "Tool", "Policy", "Rule", "Audit"} {
		if strings.Contains(string(m.Name()), part) {
			return true
		}
	}
	return false
}

// TestNamespaces: a generation is there for callers of its own namespace alone, while it runs and afterwards, and
// everything that it needs is asked for in that namespace.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true})
	r.flows.ns = "team-a"
	own, other := namespace.With(t.Context(), "team-a"), namespace.With(t.Context(), "team-b")
	q := r.request("夜")
	s, opened := r.generate(own, q)
	r.model.Step(t)
	r.text(s)
	methods := agentv1.File_tsumugi_agent_v1_agent_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		tried := false
		for _, c := range calls {
			tried = tried || c.method == string(methods.Get(i).Name())
		}
		if !tried && !ofSessions(methods.Get(i)) {
			t.Errorf("%s is not tried", methods.Get(i).Name())
		}
	}
	foreign := func(when string) {
		for _, c := range calls {
			err := c.call(other, r, q, opened.Generation)
			if e, _ := apierr.FromStatus(err); e == nil || e.Code != codes.NotFound || e.Reason != c.refused {
				t.Errorf("%s of another namespace, %s: %v, want %s", c.method, when, err, c.refused)
			}
		}
	}
	foreign("while it runs")
	for _, c := range calls {
		if err := c.call(own, r, q, opened.Generation); err != nil {
			t.Errorf("%s: %v", c.method, err)
		}
	}
	r.is(r.rest(s).err, codes.Canceled, "GENERATION_CANCELLED")
	foreign("when it has ended")
	if added := r.flows.added(); len(added) != 1 {
		t.Errorf("added %v", added)
	}
	asked := map[string]bool{}
	for _, ns := range r.prompts.called {
		asked[ns] = true
	}
	if len(asked) != 1 || !asked["team-a"] {
		t.Errorf("promptbuilder was called in %v", asked)
	}
}
