package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// page is what is told of a session.
type page struct{ client.Page }

// told is a session as a person reads it.
func (o Options) told(s *agentv1.Session) string {
	p := &page{}
	p.WriteString(where(s) + "\n")
	p.Line("goal", s.GetGoal())
	p.Line("why now", s.GetWhyNow())
	p.List("constraints", s.GetConstraints())
	p.List("plan in short", s.GetPlanBrief())
	p.List("open questions", s.GetOpenQuestions())
	p.List("context", s.GetContextRefs())
	p.settings(s)
	p.progress(o, s)
	p.List("decisions", s.GetDecisionLog())
	p.List("does not fit together", s.GetWarnings())
	p.List("notices", s.GetNotices())
	p.waits(o, s)
	return p.String()
}

func (p *page) settings(s *agentv1.Session) {
	p.Line("owner", s.GetOwner())
	p.Line("work folder", cmp.Or(s.GetRoot(), "none"))
	p.Line("backend", s.GetBackend())
	p.Line("language", s.GetLocale())
	p.Line("policy", s.GetPolicy())
	for _, r := range s.GetAddedRules() {
		p.Line("added rule", ruleLine(r))
	}
	p.Line("continues", s.GetContinueFrom())
	p.Line("flow", s.GetFlow())
	for _, t := range s.GetClientTools() {
		p.Line("tool of the client", t.GetName())
	}
}

func (p *page) progress(o Options, s *agentv1.Session) {
	m := s.GetMemory()
	p.Line("so far", fmt.Sprintf("turns: %d, calls of tools executed: %d, files created: %d, rows of the audit: %d", s.GetTurns(), m.GetOperations(), m.GetFiles(), s.GetSeq()))
	p.Line("spent", strings.Join(spentLines(s), ", "))
	if t := s.GetTurn(); t != nil {
		p.Line("turn", fmt.Sprintf("%s %s, calls of the model left: %d", t.GetId(), client.Word(t.GetState(), "TURN_STATE_"), t.GetModelCallsLeft()))
	}
	if n := s.GetQueued(); n > 0 {
		p.Line("messages that wait", fmt.Sprint(n))
	}
	p.Line("last change", s.GetLastDelta())
	for _, r := range s.GetStandingRules() {
		p.Line("allowed for the rest of the session", fmt.Sprintf("%s, by %s until %s; take it back: %s", r.GetText(), r.GetApprover(), day(r.GetExpireTime()), o.command("revoke", client.ID(s.GetName()), r.GetId())))
	}
}

// waits tells what the session waits for, but for approvals.
func (p *page) waits(o Options, s *agentv1.Session) {
	p.question(o, s)
	for _, c := range s.GetOpenToolCalls() {
		p.open(o, "waits for a result", s.GetName(), c)
	}
}

// question is what the model asks, with the command that answers this question and no other.
func (p *page) question(o Options, s *agentv1.Session) {
	if q := s.GetQuestion(); q != nil {
		p.Line("the model asks, and the next message answers", q.GetText())
		p.Line("  the id of the question", q.GetId())
		p.Line("  answer", o.command("send", client.ID(s.GetName()), "'ANSWER'", "--answers", q.GetId()))
	}
}

// where is how far a session is, on a line.
func where(s *agentv1.Session) string {
	text := fmt.Sprintf("%s is %s, in %s: %s", s.GetName(), client.Word(s.GetLifecycle(), "LIFECYCLE_"), step(s.GetStep()), goes(s.GetStatus()))
	if r := s.GetStopReason(); r != "" {
		text += ", stopped: " + r
	}
	if e := s.GetLastError(); e != "" {
		text += " (" + client.OneLine(e) + ")"
	}
	return text
}

// open is a call of a client tool that waits, with the command that answers it with a file.
func (p *page) open(o Options, name, session string, c *agentv1.OpenToolCall) {
	p.Line(name, fmt.Sprintf("%s %s, until %s", c.GetTool(), client.OneLine(c.GetArguments()), day(c.GetExpireTime())))
	p.Line("  answer with the file RESULT", o.command("result", client.ID(session), c.GetCall())+" < RESULT")
}

// command is a command line about sessions of the same server.
func (o Options) command(words ...string) string {
	return client.Command(o.Addr, o.By, append([]string{"session"}, words...)...)
}

// waiting tells the approvals that a session waits for, each with what decides it. Who may not read one sees its name.
func (o Options) waiting(ctx context.Context, agent agentv1.AgentServiceClient, s *agentv1.Session) error {
	for _, name := range s.GetWaitingOn() {
		a, err := agent.GetApproval(ctx, &agentv1.GetApprovalRequest{Name: name})
		switch status.Code(err) {
		case codes.OK:
			client.Say(o.Out, "%s", o.asked(a))
		case codes.PermissionDenied, codes.NotFound:
			client.Say(o.Out, "waits for %s\n", name)
		default:
			return err
		}
	}
	return nil
}

// asked is an approval in a few lines, with the command, and the words if there are any, that decide it.
func (o Options) asked(a *agentv1.Approval) string {
	p := &page{}
	p.Line("waits for", a.GetName()+": "+brief(a))
	p.Line("  look and decide", client.Decide(o.Addr, o.Token, o.By, a))
	p.Line("  or in a message", a.GetWords())
	return p.String()
}

// brief is what an approval is about, computed, on a line.
func brief(a *agentv1.Approval) string {
	text := client.Word(a.GetKind(), "APPROVAL_KIND_")
	if a.GetTool() != "" {
		text += " " + a.GetTool()
	}
	for _, t := range a.GetTargets() {
		text += " " + t.GetPath()
	}
	if a.GetRoot() != "" {
		text += " in " + a.GetRoot()
	}
	if a.GetLinesAdded()+a.GetLinesRemoved() > 0 {
		text += fmt.Sprintf(", lines: +%d -%d", a.GetLinesAdded(), a.GetLinesRemoved())
	}
	return text + ", risk " + client.Word(a.GetRisk(), "RISK_")
}
