// Package approval is `tsumugi approval`: what an agent asks a person, shown whole at a terminal, and decided.
package approval

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
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
	// By are the flags by which it was shown, for the commands that are told; none: a variable holds it.
	By []string
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
	l := client.Listing{Addr: o.Addr, Token: o.Token, Flag: "approvals", Most: f.Most, Head: "NAME\tSTATE\tKIND\tTOOL\tRISK\tEXPIRES\tWHAT", Out: o.Out, Err: o.Err}
	of := ""
	return l.Write(func(agent agentv1.AgentServiceClient, size int32, token string) (rows []string, next string, err error) {
		if f.Session != "" && of == "" {
			if of, err = client.Session(ctx, agent, f.Session); err != nil {
				return nil, "", err
			}
		}
		page, err := agent.ListApprovals(ctx, &agentv1.ListApprovalsRequest{AllStates: f.All, Session: of, PageSize: size, PageToken: token})
		for _, a := range page.GetApprovals() {
			rows = append(rows, row(a))
		}
		client.SayBroken(o.Err, page.GetBroken())
		return rows, page.GetNextPageToken(), err
	})
}

func row(a *agentv1.Approval) string {
	what := a.GetIntent().GetText()
	if t := a.GetTargets(); len(t) > 0 {
		what = t[0].GetPath()
	}
	return strings.Join([]string{
		a.GetName(), client.Word(a.GetState(), "APPROVAL_STATE_"), client.Word(a.GetKind(), "APPROVAL_KIND_"), cmp.Or(a.GetTool(), "-"), client.Word(a.GetRisk(), "RISK_"),
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
