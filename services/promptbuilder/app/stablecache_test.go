package app_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// turnOf is the state of one of the 20 turns of a session: a plan, its approval, its execution with evidence, a review, and the
// same again.
func turnOf(turn int) *promptbuilderv1.AgentState {
	step := []string{"PLANNING", "AWAITING_APPROVAL", "EXECUTION", "EXECUTION", "REVIEW"}[turn%5]
	state := &promptbuilderv1.AgentState{
		Pattern: "base_main_specialized", Step: step, Status: "IN_PROGRESS", Goal: "Write the report of the month", OngoingTask: fmt.Sprint("part ", turn/5),
		SessionId: "0196b2c4-1111-7aaa-8bbb-0000a1b2c301", PlanBrief: []string{"読む", "書く"}[:1+turn%2],
	}
	for i := range min(turn, 3) {
		state.Exchanges = append(state.Exchanges, &promptbuilderv1.AgentExchange{User: fmt.Sprint("続けて ", turn-i), Assistant: "Done."})
	}
	switch step {
	case "AWAITING_APPROVAL":
		state.Pending = []*promptbuilderv1.PendingApproval{{Id: fmt.Sprint("a-", turn), Kind: "TOOL_CALL", Tool: "write", Intent: "write the report"}}
	case "EXECUTION":
		state.Evidence = []*promptbuilderv1.AgentEvidence{{Source: "read", Text: fmt.Sprintf("売上は%d円だった。", 1000*turn)}}
	}
	return state
}

// read has a model server read a prompt, and gives how many of its tokens it had.
func read(t *testing.T, client *llamacpp.Client, prompt string) (cached int) {
	t.Helper()
	stream, err := client.Generate(t.Context(), llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return stream.Result().CachedTokens
}

// In a session of 20 turns with transitions, approvals and evidence the part above the boundary is the same in every turn, and a
// real server has all of it from the second turn on, but for the 2 tokens that the place of a cut may cost.
func TestASessionKeepsItsStablePart(t *testing.T) {
	address := testkit.Model(t, "gemma")
	service := serve(t, address)
	client := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "here", Address: address, Timeouts: llm.DefaultTimeouts()}})
	t.Cleanup(func() { _ = client.Close() })
	system := &promptbuilderv1.BuildSystemRequest{
		Backend: "here", Locale: "en", Tools: []*promptbuilderv1.Tool{{Name: "read", Summary: "Reads a file"}, {Name: "write", Summary: "Writes a file"}},
		Files: []*promptbuilderv1.PromptFile{{Name: "AGENTS.md", Content: []byte("返信は短く、敬体で書く。\n")}},
		// Short texts, so that a small model on two cores reads 20 turns in some seconds.
		Texts: map[string]string{
			"main.output": "Answer in JSON.", "specialized.PLANNING": "Plan in three steps.", "specialized.EXECUTION": "Check paths first.", "specialized.REVIEW": "Grade: good, fair, needs work.",
		},
	}
	digest := ""
	for turn := range 20 {
		p, err := service.BuildAgent(t.Context(), &promptbuilderv1.BuildAgentRequest{System: system, Agent: turnOf(turn), User: "続けて"})
		if err != nil {
			t.Fatal(err)
		}
		stable := p.GetSystem().GetBoundaries().GetCache()
		cached := read(t, client, p.GetSystem().GetText()+"\n\nUser: "+p.GetUser()+"\n")
		if turn == 0 {
			digest = stable.GetSha256()
			continue
		}
		if stable.GetSha256() != digest || stable.GetTokens() < 200 || cached < int(stable.GetTokens())-2 {
			t.Errorf("turn %d: the stable part has %d tokens and the digest %.8s, in the first turn %.8s; the server had %d tokens", turn, stable.GetTokens(), stable.GetSha256(), digest, cached)
		}
	}
}
