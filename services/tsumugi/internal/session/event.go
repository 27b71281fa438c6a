package session

import (
	"cmp"
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

const (
	// mostLines and mostShown bound what is told of the result of a call, in lines and characters: a file that was read would fill the screen.
	mostLines = 12
	mostShown = 2000
)

// event is an event as a person reads it; empty for one that nobody has to read.
func (o Options) event(session string, e *agentv1.SessionEvent) string {
	switch e := e.GetEvent().(type) {
	case *agentv1.SessionEvent_Session:
		return where(e.Session)
	case *agentv1.SessionEvent_Accepted:
		return accepted(e.Accepted)
	case *agentv1.SessionEvent_StateChange:
		c := e.StateChange
		return fmt.Sprintf("%s: %s → %s%s", c.GetWhat(), cmp.Or(c.GetFrom(), "-"), c.GetTo(), because(c.GetTrigger()))
	case *agentv1.SessionEvent_TurnChange:
		return turn(e.TurnChange)
	case *agentv1.SessionEvent_Answer:
		return answer(e.Answer)
	case *agentv1.SessionEvent_ToolCall:
		return o.call(session, e.ToolCall)
	case *agentv1.SessionEvent_Approval:
		return o.approval(e.Approval)
	case *agentv1.SessionEvent_Refused:
		return refused(e.Refused)
	case *agentv1.SessionEvent_Aside:
		return "aside, the model: " + e.Aside.GetReply()
	case *agentv1.SessionEvent_Warning:
		return "! " + e.Warning.GetCode() + ": " + e.Warning.GetMessage()
	case *agentv1.SessionEvent_Record:
		r := e.Record
		return fmt.Sprintf("%s by %s: %s%s", r.GetKind(), r.GetActor(), r.GetVerdict(), because(r.GetReason()))
	}
	return ""
}

// turn is something about a turn, or about a message that waits for one.
func turn(c *agentv1.TurnChange) string {
	if c.GetState() == agentv1.TurnState_TURN_STATE_UNSPECIFIED {
		if c.GetText() == "" {
			return "message " + c.GetReason()
		}
		return "message " + c.GetReason() + ", which said:\n  | " + client.Indent(c.GetText(), "  | ")
	}
	reason := c.GetReason()
	if c.GetDetail() != "" {
		reason += ": " + c.GetDetail()
	}
	return "turn " + strings.ToLower(client.Word(c.GetState(), "TURN_STATE_")) + because(reason)
}

// because is a reason in brackets, where there is one.
func because(reason string) string {
	if reason = client.OneLine(reason); reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func accepted(a *agentv1.MessageAccepted) string {
	text := "the message is taken"
	switch {
	case a.GetDecided() != "":
		text = "the message has decided " + a.GetDecided()
	case a.GetPosition() > 0:
		text += fmt.Sprintf("; turns before its own: %d", a.GetPosition())
	}
	if a.GetNotDecided() != "" {
		text += "; it decided nothing (" + a.GetNotDecided() + ")"
	}
	if a.GetReplayed() {
		text += "; it had been taken before"
	}
	return text
}

// answer are the words of the model, said to be its own.
func answer(a *agentv1.Answer) string {
	p := &page{}
	fmt.Fprintf(p, "the model: %s\n", cmp.Or(strings.TrimSpace(a.GetReply()), "(no reply)"))
	p.Line("it says why", a.GetRationale())
	p.Line("it asks", a.GetQuestion())
	if a.GetStep() != "" || a.GetNextStep() != "" {
		p.Line("it wants", strings.Trim(a.GetStep()+", then "+a.GetNextStep(), ", "))
	}
	return p.String()
}

func (o Options) call(session string, c *agentv1.ToolCallChange) string {
	p := &page{}
	fmt.Fprintf(p, "call %s %s: %s%s\n", c.GetTool(), c.GetCall(), c.GetState(), because(c.GetReason()))
	if c.GetResult() != "" {
		p.WriteString("  | " + client.Indent(short(c.GetResult()), "  | ") + "\n")
	}
	if c.GetOpen() != nil {
		p.open(o, "it waits for a result", session, c.GetOpen())
	}
	return p.String()
}

// short is the beginning of a long text.
func short(text string) string {
	lines := strings.Split(strings.TrimRight(client.Cut(text, mostShown), "\n"), "\n")
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("… %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

func (o Options) approval(c *agentv1.ApprovalChange) string {
	a := c.GetApproval()
	text := fmt.Sprintf("approval %s: %s, %s", c.GetChange(), a.GetName(), brief(a))
	if c.GetChange() != "ASK" {
		if a.GetVoidReason() != "" { // Nobody decided that: who had approved it wanted it to run.
			return text + because(a.GetVoidReason())
		}
		if d := a.GetDecision(); d != nil {
			text += ", by " + d.GetDecidedBy() + because(d.GetReason())
		}
		return text
	}
	p := &page{}
	p.WriteString(text + "\n")
	p.Line("asked because", a.GetAskedBecause())
	p.Line("it says what for", a.GetIntent().GetText())
	p.Line("look and decide", client.Decide(o.Addr, o.Token, o.By, a))
	return p.String()
}

func refused(r *agentv1.Refused) string {
	text := "refused: " + r.GetReason()
	if r.GetMessage() != "" {
		text += ": " + client.OneLine(r.GetMessage())
	}
	for i, s := range r.GetAllowedSteps() {
		text += map[bool]string{true: "; allowed: ", false: ", "}[i == 0] + step(s)
	}
	return text
}
