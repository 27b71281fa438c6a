package promptbuilder_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// heard is a connection that remembers in which namespace each method was called, and whether it was lenient.
type heard struct {
	grpc.ClientConnInterface
	in      map[string]string
	lenient bool
}

func (h *heard) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	h.in[method] = namespace.From(ctx)
	if req, ok := args.(*promptbuilderv1.BuildStoryRequest); ok {
		h.lenient = req.GetLenientBody()
	}
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
	h := &heard{in: map[string]string{}}
	c := promptbuilder.New(h)
	if built, err := c.Build(t.Context(), "team-a", generation.BuildRequest{}); err != nil || built.Suffix != 2 {
		t.Errorf("the suffix has %d characters, %v", built.Suffix, err)
	}
	if _, _, err := c.Count(t.Context(), "team-a", "", []string{"夜"}); err != nil {
		t.Error(err)
	}
	for _, method := range []string{promptbuilderv1.PromptBuilderService_BuildStory_FullMethodName, promptbuilderv1.PromptBuilderService_CountTokens_FullMethodName} {
		if h.in[method] != "team-a" {
			t.Errorf("%s was called in the namespace %q", method, h.in[method])
		}
	}
}

// TestLenientWhereItCanBe: by the rules of COMPAT nothing is malformed, and so nothing is asked for.
func TestLenientWhereItCanBe(t *testing.T) {
	t.Parallel()
	for rules, want := range map[promptbuilderv1.Compatibility]bool{
		promptbuilderv1.Compatibility_COMPATIBILITY_STRICT: true, promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT: false,
	} {
		form, err := proto.Marshal(&promptbuilderv1.BuildStoryRequest{Compatibility: rules})
		if err != nil {
			t.Fatal(err)
		}
		h := &heard{in: map[string]string{}}
		if _, err := promptbuilder.New(h).Build(t.Context(), "team-a", generation.BuildRequest{Form: form}); err != nil || h.lenient != want {
			t.Errorf("%s: lenient %t, %v", rules, h.lenient, err)
		}
	}
}
