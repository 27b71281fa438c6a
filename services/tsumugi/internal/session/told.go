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

// page is a text that is made of lines.
type page struct{ strings.Builder }

// line adds `name: text` where there is a text, on one line.
func (p *page) line(name, text string) {
	if text = client.OneLine(text); text != "" {
		fmt.Fprintf(p, "%s: %s\n", name, text)
	}
}

// list adds texts below their name, each on one line.
func (p *page) list(name string, all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(p, "%s:\n", name)
	for _, text := range all {
		fmt.Fprintf(p, "  - %s\n", client.OneLine(text))
	}
}

// told is a session as a person reads it.
func told(s *agentv1.Session) string {
	p := &page{}
	p.WriteString(where(s) + "\n")
	p.line("goal", s.GetGoal())
	p.line("why now", s.GetWhyNow())
	p.list("constraints", s.GetConstraints())
	p.list("plan in short", s.GetPlanBrief())
	p.list("open questions", s.GetOpenQuestions())
	p.list("context", s.GetContextRefs())
	p.settings(s)
	p.progress(s)
	p.list("decisions", s.GetDecisionLog())
	p.list("does not fit together", s.GetWarnings())
	p.list("notices", s.GetNotices())
	p.waits(s)
	return p.String()
}

func (p *page) settings(s *agentv1.Session) {
	p.line("owner", s.GetOwner())
	p.line("work folder", cmp.Or(s.GetRoot(), "none"))
	p.line("backend", s.GetBackend())
	p.line("language", s.GetLocale())
	p.line("policy", s.GetPolicy())
	p.line("continues", s.GetContinueFrom())
	p.line("flow", s.GetFlow())
	for _, t := range s.GetClientTools() {
		p.line("tool of the client", t.GetName())
	}
}

func (p *page) progress(s *agentv1.Session) {
	m := s.GetMemory()
	p.line("so far", fmt.Sprintf("turns: %d, calls executed: %d, files created: %d, rows of the audit: %d", s.GetTurns(), m.GetOperations(), m.GetFiles(), s.GetSeq()))
	if t := s.GetTurn(); t != nil {
		p.line("turn", fmt.Sprintf("%s %s, calls of the model left: %d", t.GetId(), client.Word(t.GetState(), "TURN_STATE_"), t.GetModelCallsLeft()))
	}
	if n := s.GetQueued(); n > 0 {
		p.line("messages that wait", fmt.Sprint(n))
	}
	p.line("last change", s.GetLastDelta())
	for _, r := range s.GetStandingRules() {
		p.line("allowed for the rest of the session", fmt.Sprintf("%s, by %s until %s; take it back: tsumugi session revoke %s %s", r.GetText(), r.GetApprover(), day(r.GetExpireTime()), id(s.GetName()), r.GetId()))
	}
}

// waits tells what the session waits for, but for approvals.
func (p *page) waits(s *agentv1.Session) {
	if q := s.GetQuestion(); q != nil {
		p.line("the model asks, and the next message answers", q.GetText())
	}
	for _, c := range s.GetOpenToolCalls() {
		p.line("waits for a result", open(s.GetName(), c))
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

// open is a call of a client tool that waits, with the command that answers it.
func open(session string, c *agentv1.OpenToolCall) string {
	return fmt.Sprintf("%s %s, until %s: tsumugi session result %s %s", c.GetTool(), client.OneLine(c.GetArguments()), day(c.GetExpireTime()), id(session), c.GetCall())
}

func id(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

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
	p.line("waits for", a.GetName()+": "+brief(a))
	p.line("  look and decide", o.command("approval", "approve", id(a.GetName())))
	p.line("  or in a message", a.GetWords())
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

// command is a command line of this program for the same server. Without a token only the secret of approvers decides.
func (o Options) command(words ...string) string {
	if o.Addr != client.DefaultAddr {
		words = append(words, "--addr", o.Addr)
	}
	if o.Token == "" {
		words = append(words, "--approver")
	}
	return "tsumugi " + strings.Join(words, " ")
}
