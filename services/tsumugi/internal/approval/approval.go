// Package approval is `tsumugi approval`: what an agent asks a person, shown whole at a terminal, and decided.
package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Options are those of all commands.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Name is `approvals/{uuid}`, the UUID, or how the UUID ends.
	Name string
	In   io.Reader
	// Out gets what was asked for, Err what is told beside it.
	Out, Err io.Writer
	// Person says that a person sees Out and answers at In.
	Person bool
}

// ask asks the agent about the approval that Name means.
func (o Options) ask(ctx context.Context, ask func(agent agentv1.AgentServiceClient, name string) error) error {
	return client.AskAgent(o.Addr, o.Token, func(agent agentv1.AgentServiceClient) error {
		name, err := client.Approval(ctx, agent, o.Name)
		if err != nil {
			return err
		}
		return ask(agent, name)
	})
}

// MaxListed is the most approvals that are listed; whoever wants more asks for less at a time.
const MaxListed = 10_000

// Filter says which approvals are listed.
type Filter struct {
	// Session is `sessions/{uuid}`, the UUID, or how it ends; empty: of all.
	Session string
	// All lists those that were decided, too.
	All bool
	// Most is how many are listed.
	Most int
}

// List lists approvals, newest first: the inbox.
func List(ctx context.Context, o Options, f Filter) error {
	if f.Most < 1 || f.Most > MaxListed {
		return fmt.Errorf("--approvals is %d; it must be 1 to %d", f.Most, MaxListed)
	}
	return client.AskAgent(o.Addr, o.Token, func(agent agentv1.AgentServiceClient) (err error) {
		req := &agentv1.ListApprovalsRequest{AllStates: f.All}
		if f.Session != "" {
			if req.Session, err = client.Session(ctx, agent, f.Session); err != nil {
				return err
			}
		}
		w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tSTATE\tKIND\tTOOL\tRISK\tEXPIRES\tWHAT")
		for told := 0; told < f.Most; {
			req.PageSize = int32(min(f.Most-told, 1000))
			page, err := agent.ListApprovals(ctx, req)
			if err != nil {
				return err
			}
			for _, a := range page.GetApprovals() {
				client.Say(w, "%s\n", row(a))
			}
			told += len(page.GetApprovals())
			if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
				return w.Flush()
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		client.Say(o.Err, "… there are more; --approvals N lists N\n")
		return nil
	})
}

func row(a *agentv1.Approval) string {
	what := a.GetIntent().GetText()
	if t := a.GetTargets(); len(t) > 0 {
		what = t[0].GetPath()
	}
	tool := a.GetTool()
	if tool == "" {
		tool = "-"
	}
	return strings.Join([]string{
		a.GetName(), client.Word(a.GetState(), "APPROVAL_STATE_"), client.Word(a.GetKind(), "APPROVAL_KIND_"), tool, client.Word(a.GetRisk(), "RISK_"),
		moment(a.GetExpireTime()), client.Cut(client.OneLine(what), 40),
	}, "\t")
}

func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format("2006-01-02 15:04:05Z")
}

// Show shows everything that a person needs to decide, with all pages of what would change.
func Show(ctx context.Context, o Options) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		_, err := o.show(ctx, agent, name)
		return err
	})
}

// Extend gives an approval so much more time, counted from when it would expire.
func Extend(ctx context.Context, o Options, by time.Duration) error {
	if by <= 0 {
		return errors.New("the time must be more than 0, such as 30m or 2h")
	}
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		a, err := agent.GetApproval(ctx, &agentv1.GetApprovalRequest{Name: name})
		if err != nil {
			return err
		}
		until := timestamppb.New(a.GetExpireTime().AsTime().Add(by).Truncate(time.Second))
		if a, err = agent.ExtendApproval(ctx, &agentv1.ExtendApprovalRequest{Name: name, ExpireTime: until}); err != nil {
			return err
		}
		client.Say(o.Out, "%s waits until %s.\n", name, moment(a.GetExpireTime()))
		return nil
	})
}
