package promptbuilder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// sessions is promptbuilder as it makes the prompts of sessions.
var sessions = downstream.Service{Name: service.Name, Passed: service.Passed, Fields: map[string]string{"system.backend": "backend", "system.locale": "locale"}}

// messageTokens is what a model's form adds to a message, in tokens: rather too much.
const messageTokens = 8

// Sessions is a turn.Prompts over a Client.
type Sessions struct {
	*Client
	// Folders gives what the prompts of a session are made of beside it; nil: nothing.
	Folders func(ledger.Session) Folders
	// Refs gives the nodes that its prompts tell of; nil: none.
	Refs Refs
}

// Refs gives the nodes that a session refers to, as lines of a prompt.
type Refs interface {
	Lines(ctx context.Context, ns string, s ledger.Session) ([]nodecontext.Excerpt, error)
}

// Build makes the system prompt of a session's next call: the layers of the pattern that the last answer named, cut to what the window
// leaves beside the answer and what was said in the turn (seed 001, 3 and 11).
func (c Sessions) Build(ctx context.Context, ns string, p turn.Prompt) (turn.Built, error) {
	reserved, err := c.talk(ctx, ns, p)
	if err != nil {
		return turn.Built{}, err
	}
	var notices []string
	req := &promptbuilderv1.BuildAgentRequest{
		System: &promptbuilderv1.BuildSystemRequest{Backend: p.Session.Backend, Locale: p.Session.Locale, Sections: told(p), Tools: tools(p)},
		Agent:  state(p, reserved), User: p.User,
	}
	if p.Aside != "" {
		req.System.Texts = map[string]string{"main.output": p.Aside}
	}
	if req.System.Context, err = c.references(ctx, ns, p); err != nil {
		notices = append(notices, "the prompt was made without what the session refers to: "+err.Error())
	}
	read, why := c.folders(req.System, p)
	b, err := c.rpc.BuildAgent(namespace.With(ctx, ns), req)
	if read && ofFolders(err) {
		why = "the prompt was made without files and skills: " + status.Convert(err).Message()
		read = without(req.System)
		b, err = c.rpc.BuildAgent(namespace.With(ctx, ns), req)
	}
	if err != nil {
		return turn.Built{}, unbuilt(sessions.Error(err))
	}
	out := turn.Built{Text: b.GetSystem().GetText(), Notices: notices, Zone: b.GetSystem().GetTime().GetZone(), Hours: b.GetSystem().GetTime().GetFormat()}
	if why != "" {
		out.Notices = append(out.Notices, why)
	}
	if read {
		out.Notices = append(out.Notices, seen(b.GetSystem())...)
		err = keep(&out, b.GetSystem().GetSnapshot())
	}
	return out, err
}

// unbuilt says of what does not fit that it does not.
func unbuilt(err error) error {
	var typed *apierr.Error
	if errors.As(err, &typed) && typed.Reason == "CONTEXT_OVERFLOW" {
		return &turn.NoRoomError{Why: "what was said since the message no longer fits the window of the model: " + typed.Message}
	}
	return err
}

// state is the session as its layers print it (field/systemprompt-rules.md 3).
func state(p turn.Prompt, reserved int) *promptbuilderv1.AgentState {
	s := p.Session
	a := &promptbuilderv1.AgentState{
		Pattern: p.Pattern, Step: string(s.State.Step), Status: string(s.State.Status), SessionId: s.ID, OngoingTask: inHand(s),
		Goal: s.Items.Goal, WhyNow: s.Items.WhyNow, Constraints: s.Items.Constraints, PlanBrief: s.Items.PlanBrief, OpenQuestions: s.Items.OpenQuestions,
		Memory:  &promptbuilderv1.AgentMemory{},
		Budgets: &promptbuilderv1.AgentBudgets{Total: proto.Int32(int32(p.Total))}, ReservedTokens: int32(reserved),
	}
	if b := s.Brought; b.Files > 0 || b.Operations > 0 {
		a.Memory.TotalFiles, a.Memory.SuccessfulOperations = proto.Int32(int32(b.Files)), proto.Int32(int32(b.Operations))
	}
	for _, x := range p.Past {
		a.Exchanges = append(a.Exchanges, &promptbuilderv1.AgentExchange{User: x.User, Assistant: x.Reply})
		a.Summaries = append(a.Summaries, &promptbuilderv1.AgentSummary{Text: x.User + " " + x.Reply, Opening: true})
	}
	for _, e := range p.Evidence {
		a.Evidence = append(a.Evidence, &promptbuilderv1.AgentEvidence{Source: e.Source, Text: e.Text})
	}
	for _, w := range p.Pending {
		a.Pending = append(a.Pending, &promptbuilderv1.PendingApproval{Id: w.ID, Kind: string(w.Kind), Tool: w.Subject.Tool, Intent: w.Points.Intent.Text})
	}
	return a
}

// inHand is the step of the plan that is being carried out: its first one, once the plan is.
func inHand(s ledger.Session) string {
	if len(s.Items.PlanBrief) == 0 || s.State.Step != session.Execution && s.State.Step != session.Review {
		return ""
	}
	return s.Items.PlanBrief[0]
}

func tools(p turn.Prompt) (all []*promptbuilderv1.Tool) {
	for _, t := range p.Tools {
		all = append(all, &promptbuilderv1.Tool{Name: t.Name, Summary: firstLine(t.Description), SchemaJson: t.Input})
	}
	return all
}

// references are the nodes that the session refers to. Its own earlier turns are no part of it: the layers tell those
// (field/systemprompt-rules.md 3.1).
func (c Sessions) references(ctx context.Context, ns string, p turn.Prompt) (*promptbuilderv1.BuildContextRequest, error) {
	if c.Refs == nil {
		return nil, nil //nolint:nilnil // a prompt without a context has none
	}
	nodes, err := c.Refs.Lines(ctx, ns, p.Session)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	asks := slices.ContainsFunc(p.Tools, func(t tool.Shown) bool { return t.Name == tool.NodeDetail })
	req := &promptbuilderv1.BuildContextRequest{AncestorsMax: proto.Int32(0), Details: proto.Bool(asks)}
	for _, n := range nodes {
		req.Nodes = append(req.Nodes, wire.ContextNode(n))
		req.Refs = append(req.Refs, n.ID.String())
	}
	return req, nil
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
	texts := arguments(envelope.Instructions(p.Session.Locale, len(p.Tools) > 0), p.Tools)
	all := make([]*promptbuilderv1.CustomSection, len(texts))
	for i, text := range texts {
		all[i] = &promptbuilderv1.CustomSection{Id: "answer_form", Text: text, Class: promptbuilderv1.SectionClass_SECTION_CLASS_STABLE}
		if i > 0 {
			all[i].Id += fmt.Sprintf("_%d", i+1)
		}
	}
	return all
}

// maxSection is how many characters one section may have (field/systemprompt-rules.md 0).
const maxSection = 50_000

// arguments are the schemas of tools, a line each, behind the words about them: in as many texts as it takes for each to be a section. One that
// is too long for any is left to its tool, which says of wrong arguments what is wrong with them.
func arguments(words string, tools []tool.Shown) []string {
	texts, size, gap := []string{words}, utf8.RuneCountInString(words), "\n\n"
	for _, t := range tools {
		line := "- " + t.Name + ": " + t.Input
		more := utf8.RuneCountInString(line)
		if more > maxSection {
			line = "- " + t.Name
			more = utf8.RuneCountInString(line)
		}
		last := len(texts) - 1
		if size+len(gap)+more > maxSection {
			texts, size = append(texts, line), more
		} else {
			texts[last], size = texts[last]+gap+line, size+len(gap)+more
		}
		gap = "\n"
	}
	return texts
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
