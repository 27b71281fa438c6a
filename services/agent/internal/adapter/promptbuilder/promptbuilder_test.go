package promptbuilder_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// heard is a connection that remembers in which namespace each method was called, and whether it was lenient.
type heard struct {
	grpc.ClientConnInterface
	in      map[string]string
	lenient bool
	session *promptbuilderv1.BuildAgentRequest
}

func (h *heard) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	h.in[method] = namespace.From(ctx)
	if req, ok := args.(*promptbuilderv1.BuildStoryRequest); ok {
		h.lenient = req.GetLenientBody()
	}
	if req, ok := args.(*promptbuilderv1.BuildAgentRequest); ok {
		h.session = req
	}
	switch r := reply.(type) {
	case *promptbuilderv1.BuildAgentResponse:
		r.System = &promptbuilderv1.BuildSystemResponse{Text: "prompt"}
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

// TestAPromptOfASession: the layers get the session as it is, what was said in the turn takes its room, and a model that no server holds to
// the form of its answer is told it in words, with the arguments of the tools.
func TestAPromptOfASession(t *testing.T) {
	t.Parallel()
	h := &heard{in: map[string]string{}}
	p := turn.Prompt{
		Session: ledger.Session{ID: "s", Settings: ledger.Settings{Backend: "b", Locale: "ja"}, Items: session.Items{Goal: "港の話", Constraints: []string{"短く"}}, State: session.New()},
		Pattern: "base_main_specialized", User: "書いて", Talk: []string{"a", "b"}, Total: 3000, Past: []turn.Exchange{{User: "前", Reply: "はい"}},
		Evidence: []turn.Excerpt{{Source: "read", Text: "霧"}}, Tools: []tool.Shown{{Name: "read", Description: "Reads.\nMore.", Input: `{"type":"object"}`}},
	}
	text, err := promptbuilder.Sessions{Client: promptbuilder.New(h)}.Build(t.Context(), "team-a", p)
	if err != nil || text.Text != "prompt" || h.in[promptbuilderv1.PromptBuilderService_BuildAgent_FullMethodName] != "team-a" {
		t.Errorf("%+v, %v, %v", text, err, h.in)
	}
	a, s := h.session.GetAgent(), h.session.GetSystem()
	if a.GetGoal() != "港の話" || a.GetStep() != "PLANNING" || a.GetPattern() != p.Pattern || a.GetReservedTokens() != 17 || a.GetBudgets().GetTotal() != 3000 || h.session.GetUser() != "書いて" ||
		a.GetExchanges()[0].GetAssistant() != "はい" || !a.GetSummaries()[0].GetOpening() || a.GetEvidence()[0].GetSource() != "read" {
		t.Errorf("%v", a)
	}
	if len(s.GetTools()) != 1 || s.GetTools()[0].GetSummary() != "Reads." || len(s.GetSections()) != 1 || !strings.Contains(s.GetSections()[0].GetText(), `- read: {"type":"object"}`) {
		t.Errorf("%v", s)
	}
	p.Constrain, p.Talk = true, nil
	if _, err := (promptbuilder.Sessions{Client: promptbuilder.New(h)}).Build(t.Context(), "team-a", p); err != nil || len(h.session.GetSystem().GetSections()) != 0 || h.session.GetAgent().GetReservedTokens() != 0 {
		t.Errorf("%v, %v", h.session, err)
	}
	p.Constrain, p.Aside = false, "普通の文で。"
	if _, err := (promptbuilder.Sessions{Client: promptbuilder.New(h)}).Build(t.Context(), "team-a", p); err != nil || len(h.session.GetSystem().GetSections()) != 0 || h.session.GetSystem().GetTexts()["main.output"] != p.Aside {
		t.Errorf("aside: %v, %v", h.session, err)
	}
}
