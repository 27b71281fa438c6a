package promptbuilder_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// heard is a connection that remembers in which namespace each method was called.
type heard struct {
	grpc.ClientConnInterface
	in map[string]string
}

func (h heard) Invoke(ctx context.Context, method string, _, reply any, _ ...grpc.CallOption) error {
	h.in[method] = namespace.From(ctx)
	switch r := reply.(type) {
	case *promptbuilderv1.CountTokensResponse:
		r.Tokens = []int32{1}
	case *promptbuilderv1.BuildStoryResponse:
		r.Prompt, r.SuffixCharacters = "夜の港で。[/INST]彼は", 2
	}
	return nil
}

// TestCallsActInTheNamespaceOfTheGeneration, whatever the context says.
func TestCallsActInTheNamespaceOfTheGeneration(t *testing.T) {
	t.Parallel()
	h := heard{in: map[string]string{}}
	c := promptbuilder.New(h)
	if built, err := c.Build(t.Context(), "team-a", generation.BuildRequest{}); err != nil || built.Suffix != 2 {
		t.Errorf("the suffix has %d characters, %v", built.Suffix, err)
	}
	if _, _, err := c.Count(t.Context(), "team-a", "", "夜"); err != nil {
		t.Error(err)
	}
	for _, method := range []string{promptbuilderv1.PromptBuilderService_BuildStory_FullMethodName, promptbuilderv1.PromptBuilderService_CountTokens_FullMethodName} {
		if h.in[method] != "team-a" {
			t.Errorf("%s was called in the namespace %q", method, h.in[method])
		}
	}
}
