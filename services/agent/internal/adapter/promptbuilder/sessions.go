package promptbuilder

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// sessions is promptbuilder as it makes the prompts of sessions.
var sessions = downstream.Service{Name: service.Name, Passed: service.Passed, Fields: map[string]string{"system.backend": "backend", "system.locale": "locale"}}

// messageTokens is what a model's form adds to a message, in tokens: rather too much.
const messageTokens = 8

// Sessions is a turn.Prompts over a Client.
type Sessions struct{ *Client }

// Build makes the system prompt of a session's next call: the layers of the pattern that the last answer named, cut to what the window
// leaves beside the answer and what was said in the turn (seed 001, 3 and 11).
func (c Sessions) Build(ctx context.Context, ns string, p turn.Prompt) (string, error) {
	reserved, err := c.talk(ctx, ns, p)
	if err != nil {
		return "", err
	}
	s := p.Session
	req := &promptbuilderv1.BuildAgentRequest{
		System: &promptbuilderv1.BuildSystemRequest{Backend: s.Backend, Locale: s.Locale, Sections: told(p)},
		Agent: &promptbuilderv1.AgentState{
			Pattern: p.Pattern, Step: string(s.State.Step), Status: string(s.State.Status), SessionId: s.ID,
			Goal: s.Items.Goal, WhyNow: s.Items.WhyNow, Constraints: s.Items.Constraints, PlanBrief: s.Items.PlanBrief, OpenQuestions: s.Items.OpenQuestions,
			Memory:  &promptbuilderv1.AgentMemory{LearnedPatterns: s.Memory.Patterns, UserSettings: s.Memory.Wishes},
			Budgets: &promptbuilderv1.AgentBudgets{Total: proto.Int32(int32(p.Total))}, ReservedTokens: int32(reserved),
		},
		User: p.User,
	}
	if p.Aside != "" {
		req.System.Texts = map[string]string{"main.output": p.Aside}
	}
	for _, t := range p.Tools {
		req.System.Tools = append(req.System.Tools, &promptbuilderv1.Tool{Name: t.Name, Summary: firstLine(t.Description), SchemaJson: t.Input})
	}
	for _, x := range p.Past {
		req.Agent.Exchanges = append(req.Agent.Exchanges, &promptbuilderv1.AgentExchange{User: x.User, Assistant: x.Reply})
		req.Agent.Summaries = append(req.Agent.Summaries, &promptbuilderv1.AgentSummary{Text: x.User, Opening: true})
	}
	for _, e := range p.Evidence {
		req.Agent.Evidence = append(req.Agent.Evidence, &promptbuilderv1.AgentEvidence{Source: e.Source, Text: e.Text})
	}
	for _, a := range p.Pending {
		req.Agent.Pending = append(req.Agent.Pending, &promptbuilderv1.PendingApproval{
			Id: a.ID, Kind: string(a.Kind), Tool: a.Subject.Tool, Intent: a.Points.Intent.Text,
		})
	}
	b, err := c.rpc.BuildAgent(namespace.With(ctx, ns), req)
	return b.GetSystem().GetText(), sessions.Error(err)
}

// talk counts what is sent beside the prompt and the message of the user: what was said in the turn.
func (c Sessions) talk(ctx context.Context, ns string, p turn.Prompt) (int, error) {
	if len(p.Talk) == 0 {
		return 0, nil
	}
	counts, _, err := c.Count(ctx, ns, p.Session.Backend, []string{strings.Join(p.Talk, "\n")})
	if err != nil {
		return 0, err
	}
	return counts[0] + messageTokens*len(p.Talk), nil
}

// told is what a model must be told in words that no server holds to the form of its answer: that form, and the tools with their
// arguments.
func told(p turn.Prompt) []*promptbuilderv1.CustomSection {
	if p.Constrain || p.Aside != "" {
		return nil
	}
	text := envelope.Instructions(p.Session.Locale, len(p.Tools) > 0)
	if len(p.Tools) > 0 {
		text += "\n\n" + arguments(p.Tools)
	}
	return []*promptbuilderv1.CustomSection{{Id: "answer_form", Text: text, Class: promptbuilderv1.SectionClass_SECTION_CLASS_STABLE}}
}

// arguments are the schemas of tools, a line each.
func arguments(all []tool.Shown) string {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + t.Name + ": " + t.Input)
	}
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
