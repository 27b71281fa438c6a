package transport

import (
	"context"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/layers"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Agents makes prompts of turns of an agent.
type Agents interface {
	Prepare(r layers.Request) (layers.Request, []sysprompt.Violation)
	Build(ctx context.Context, r layers.Request) (layers.Prompt, error)
}

// BuildAgent makes the prompt of one turn of an agent.
func (s *Server) BuildAgent(ctx context.Context, req *promptbuilderv1.BuildAgentRequest) (*promptbuilderv1.BuildAgentResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	r := layers.Request{System: toSystem(f, "system.", req.GetSystem()), State: toState(req.GetAgent()), User: req.GetUser()}
	r, found := s.agents.Prepare(r)
	wrong(f, violations(found))
	if err := f.Err(); err != nil {
		return nil, err
	}
	p, err := s.agents.Build(ctx, r)
	if err != nil {
		return nil, systemFault(err, "system.")
	}
	return fromTurn(r, p), nil
}

func toState(a *promptbuilderv1.AgentState) layers.State {
	s := layers.State{
		Pattern: layers.Pattern(a.GetPattern()), Step: a.GetStep(), Status: a.GetStatus(), OngoingTask: a.GetOngoingTask(), Goal: a.GetGoal(), WhyNow: a.GetWhyNow(),
		Constraints: a.GetConstraints(), PlanBrief: a.GetPlanBrief(), OpenQuestions: a.GetOpenQuestions(), SessionID: a.GetSessionId(),
		LongReply: int(a.GetLongReplyChars()), ShowCounters: a.GetShowCounters(), Conversations: int(a.GetTotalConversations()), LastUpdated: a.GetLastUpdated(),
		Reserved: int(a.GetReservedTokens()), Budgets: toBudgets(a.GetBudgets()), Base: toBase(a.GetBase()),
	}
	if a != nil {
		s.NoDialogPolicy = a.DialogPolicy != nil && !a.GetDialogPolicy()
	}
	if m := a.GetMemory(); m != nil {
		s.Memory = &layers.Memory{Files: whole(m.TotalFiles), Operations: whole(m.SuccessfulOperations), Patterns: m.GetLearnedPatterns(), Wishes: m.GetUserSettings()}
	}
	for _, x := range a.GetSummaries() {
		s.Summaries = append(s.Summaries, layers.Summary{Text: x.GetText(), Opening: x.GetOpening()})
	}
	for _, x := range a.GetExchanges() {
		s.Exchanges = append(s.Exchanges, layers.Exchange{User: x.GetUser(), Assistant: x.GetAssistant()})
	}
	for _, x := range a.GetPending() {
		s.Pending = append(s.Pending, layers.Pending{ID: x.GetId(), Kind: x.GetKind(), Tool: x.GetTool(), Intent: x.GetIntent()})
	}
	for _, x := range a.GetEvidence() {
		s.Evidence = append(s.Evidence, layers.Evidence{Source: x.GetSource(), Text: x.GetText()})
	}
	return s
}

func toBudgets(b *promptbuilderv1.AgentBudgets) layers.Budgets {
	all := layers.Budgets{Base: layers.DefaultBase, Main: layers.DefaultMain, Specialized: layers.DefaultSpecialized}
	if b == nil {
		return all
	}
	for _, n := range []struct {
		given *int32
		to    *int
	}{{b.Base, &all.Base}, {b.Main, &all.Main}, {b.Specialized, &all.Specialized}, {b.Total, &all.Total}} {
		if n.given != nil {
			*n.to = int(*n.given)
		}
	}
	return all
}

func toBase(b *promptbuilderv1.AgentBase) layers.Base {
	lines := func(l *promptbuilderv1.Lines) *[]string {
		if l == nil {
			return nil
		}
		list := append([]string{}, l.GetLines()...)
		return &list
	}
	return layers.Base{Personality: lines(b.GetPersonality()), Principles: lines(b.GetPrinciples()), Safety: lines(b.GetSafety()), Limits: lines(b.GetLimits())}
}

func fromTurn(r layers.Request, p layers.Prompt) *promptbuilderv1.BuildAgentResponse {
	res := &promptbuilderv1.BuildAgentResponse{System: fromSystem(p.System), User: r.User}
	for _, c := range p.Cuts {
		res.Cuts = append(res.Cuts, &promptbuilderv1.AgentCut{Item: c.Item, Budget: c.Budget, TokensBefore: int32(c.Before), TokensAfter: int32(c.After)})
	}
	for _, l := range p.Layers {
		res.Layers = append(res.Layers, &promptbuilderv1.LayerTokens{Layer: l.Name, Tokens: int32(l.Tokens), Budget: int32(l.Budget)})
	}
	return res
}
