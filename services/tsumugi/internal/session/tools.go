package session

import (
	"context"
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Tools lists the tools of a session as its model is shown them.
func Tools(ctx context.Context, o Options) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		found, err := agent.ListTools(ctx, &agentv1.ListToolsRequest{Session: name})
		if err != nil {
			return err
		}
		for _, t := range found.GetTools() {
			client.Say(o.Out, "%s  (%s)\n    %s\n    %s\n", t.GetName(), strings.Join(hints(t), ", "), client.OneLine(t.GetDescription()), t.GetInputSchema())
		}
		return nil
	})
}

// hints are where a tool is from, and what it says of itself.
func hints(t *agentv1.Tool) []string {
	all := []string{t.GetOrigin()}
	// That a tool destroys means nothing of one that only reads (MCP, ToolAnnotations), and it is the default there.
	destroys := t.GetDestructive() && !t.GetReadOnly()
	for _, h := range []struct {
		is   bool
		word string
	}{{t.GetReadOnly(), "read only"}, {destroys, "destructive"}, {t.GetIdempotent(), "idempotent"}, {t.GetOpenWorld(), "reaches further than the work folder"}} {
		if h.is {
			all = append(all, h.word)
		}
	}
	return all
}

// Result answers a call of a client tool, which is named as client.OpenCall takes it, with what the standard input has.
func Result(ctx context.Context, o Options, call string, failed bool) error {
	output, err := client.ReadText(o.In, maxInput, "the standard input")
	if err != nil {
		return err
	}
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		s, err := agent.GetSession(ctx, &agentv1.GetSessionRequest{Name: name})
		if err != nil {
			return err
		}
		call, err := client.OpenCall(s.GetOpenToolCalls(), call)
		if err != nil {
			return err
		}
		got, err := agent.SubmitToolResult(ctx, &agentv1.SubmitToolResultRequest{Session: name, Call: call, Output: output, Failed: failed})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s\n", map[bool]string{true: "The same result had been taken before.", false: "The result is taken."}[got.GetReplayed()])
		return nil
	})
}

// executed is the status of a call that did what it should.
const executed = "EXECUTED"

// Call is a call of a tool without the model.
type Call struct {
	// Tool is its name, Arguments a JSON object as text; empty: {}.
	Tool, Arguments string
	// DryRun shows what the call would do, and Digest is what such a look gave, for a call that policy asks about.
	DryRun bool
	Digest string
	// Unshown: not all of it could be shown, and it shall be made all the same.
	Unshown bool
}

// NotExecutedError says that a call was made and is not known to have done what it should, which Out tells.
type NotExecutedError struct {
	// Status is that of the answer, such as FAILED.
	Status string
}

func (e *NotExecutedError) Error() string {
	return "the call has the status " + e.Status + ", and not EXECUTED"
}

// CallTool makes a call and tells what became of it, or would. *NotExecutedError, but for a dry run.
func CallTool(ctx context.Context, o Options, c Call) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		got, err := agent.CallTool(ctx, &agentv1.CallToolRequest{
			Session: name, Tool: c.Tool, Arguments: c.Arguments, DryRun: c.DryRun, Digest: c.Digest, AcknowledgeUnshown: c.Unshown,
		})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s", made(got))
		if s := got.GetStatus(); !c.DryRun && s != executed {
			return &NotExecutedError{Status: s}
		}
		return nil
	})
}

func made(r *agentv1.CallToolResponse) string {
	p := &page{}
	p.WriteString(explanation(r.GetExplanation(), false))
	p.Line("arguments", r.GetArguments())
	p.Line("digest", r.GetDigest())
	p.Line("!", r.GetWarning())
	if r.GetDiff() != "" && r.GetDiff() != r.GetArguments() {
		fmt.Fprintf(p, "\n%s\n\n", strings.TrimRight(r.GetDiff(), "\n"))
	}
	p.Line("status", r.GetStatus())
	p.WriteString(r.GetOutput())
	if n := len(r.GetOutput()); n > 0 && r.GetOutput()[n-1] != '\n' {
		p.WriteByte('\n')
	}
	return p.String()
}

// Explain tells what policy says of a call and why, with everything that it looked at.
func Explain(ctx context.Context, o Options, tool, arguments string) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		x, err := agent.ExplainPolicy(ctx, &agentv1.ExplainPolicyRequest{Session: name, Tool: tool, Arguments: arguments})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s", explanation(x, true))
		return nil
	})
}

func explanation(x *agentv1.PolicyExplanation, looks bool) string {
	p := &page{}
	p.Line(client.Word(x.GetVerdict(), "VERDICT_"), x.GetReason())
	if x.GetStoppedAt() != "" {
		p.Line("stopped at", x.GetStoppedAt()+" ("+x.GetStopCode()+")")
	}
	p.Line("policy", x.GetPolicy())
	p.Line("risk", client.Word(x.GetRisk(), "RISK_")+because(strings.Join(x.GetRiskReasons(), "; ")))
	if !looks {
		return p.String()
	}
	for _, l := range x.GetLooks() {
		mark := map[bool]string{true: "x", false: " "}[l.GetFits()]
		if l.GetDecided() {
			mark = ">"
		}
		fmt.Fprintf(p, " %s %s: %s\n", mark, strings.TrimSpace(l.GetStep()+" "+l.GetRule()), client.OneLine(l.GetText()))
	}
	return p.String()
}
