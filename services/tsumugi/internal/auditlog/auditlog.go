// Package auditlog is `tsumugi audit`: what happened in a session as its audit tells it, whether that is as it was written, and a file of it
// that whoever has the keys can check without a service.
package auditlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Options are those of all uses of the command.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Name is `sessions/{uuid}`, the UUID, or how the UUID ends.
	Name string
	// After is the number of the row behind which rows are told.
	After int64
	// Out gets what was asked for, Err what is told beside it.
	Out, Err io.Writer
}

// ErrBroken says that rows are not as they were made, which Out tells.
var ErrBroken = errors.New("the audit is not as it was made")

func (o Options) ask(ctx context.Context, ask func(service agentv1.AgentServiceClient, name string) error) error {
	return client.AskSession(ctx, o.Addr, o.Token, o.Name, ask)
}

// Tell tells rows, each on a line: its number, when, who, what, with which verdict, and why. Of those that cannot be read Err is told, and the end is
// ErrBroken.
func Tell(ctx context.Context, o Options) error {
	return o.ask(ctx, func(service agentv1.AgentServiceClient, name string) error {
		var last error
		for r, err := range records(ctx, service, name, o.After) {
			var unread *unreadError
			switch {
			case errors.As(err, &unread):
				client.Say(o.Err, "! %s\n", client.OneLine(err.Error()))
				last = ErrBroken
			case err != nil:
				return err
			default:
				client.Say(o.Out, "%s\n", line(r))
			}
		}
		return last
	})
}

// unreadError is about rows that the service cannot read.
type unreadError struct{ rows *agentv1.BrokenRows }

func (e *unreadError) Error() string {
	return fmt.Sprintf("rows %d to %d: %s", e.rows.GetFirstSeq(), e.rows.GetLastSeq(), e.rows.GetProblem())
}

// records are the rows of a session behind one. An *unreadError stands in the place of rows that cannot be read; behind any other error there are none.
func records(ctx context.Context, service agentv1.AgentServiceClient, name string, after int64) iter.Seq2[*agentv1.AuditRecord, error] {
	return func(yield func(*agentv1.AuditRecord, error) bool) {
		req := &agentv1.ListAuditRecordsRequest{Session: name, AfterSeq: after, PageSize: 1000}
		for {
			page, err := service.ListAuditRecords(ctx, req)
			if err != nil {
				yield(nil, err)
				return
			}
			broken := page.GetBroken()
			for _, r := range page.GetRecords() {
				for len(broken) > 0 && broken[0].GetLastSeq() < r.GetSeq() {
					if !yield(nil, &unreadError{broken[0]}) {
						return
					}
					broken = broken[1:]
				}
				if !yield(r, nil) {
					return
				}
			}
			for _, b := range broken {
				if !yield(nil, &unreadError{b}) {
					return
				}
			}
			if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
				return
			}
		}
	}
}

func line(r *agentv1.AuditRecord) string {
	text := fmt.Sprintf("%6d  %s  %s %s  %s %s: %s", r.GetSeq(), r.GetTime().AsTime().Format("2006-01-02 15:04:05Z"), r.GetActorKind(), r.GetActor(),
		r.GetKind(), r.GetVerdict(), client.OneLine(r.GetReason()))
	if r.GetBefore() != "" || r.GetAfter() != "" {
		text += fmt.Sprintf("  [%s → %s]", cmp.Or(client.Cut(r.GetBefore(), 12), "-"), cmp.Or(client.Cut(r.GetAfter(), 12), "-"))
	}
	return text
}

// Verify has the service go through the rows; replay has it make the session again from them, and look at its texts and approvals, too. ErrBroken.
func Verify(ctx context.Context, o Options, replay bool) error {
	return o.ask(ctx, func(service agentv1.AgentServiceClient, name string) error {
		v, err := service.VerifyAudit(ctx, &agentv1.VerifyAuditRequest{Session: name, Replay: replay})
		if err != nil {
			return err
		}
		whole := v.GetIntact()
		if whole {
			client.Say(o.Out, "%s: rows as they were made: %d\n", name, v.GetRecords())
		} else {
			client.Say(o.Out, "%s: %s\n", name, v.GetProblem())
		}
		switch {
		case replay && v.GetReplayed() && !whole: // What bad rows make proves nothing.
		case replay && v.GetReplayed():
			client.Say(o.Out, "The session that they make is the one that is stored.\n")
		case replay:
			client.Say(o.Out, "The session that they make is not the one that is stored: %s\n", v.GetReplayProblem())
			whole = false
		}
		if !whole {
			return ErrBroken
		}
		return nil
	})
}

// Export writes all rows of a session into a file, for Check. It is there when it is whole. Of a session that cannot be read nobody knows which row is
// the last, and nothing is written: ErrBroken.
func Export(ctx context.Context, o Options, file string) error {
	return o.ask(ctx, func(service agentv1.AgentServiceClient, name string) error {
		v, err := service.VerifyAudit(ctx, &agentv1.VerifyAuditRequest{Session: name})
		if err != nil {
			return err
		}
		if v.GetHead() == nil {
			client.Say(o.Out, "%s: %s. Nothing is exported.\n", name, v.GetProblem())
			return ErrBroken
		}
		err = client.WriteFile(file, func(w io.Writer) error { return agent.ExportAudit(w, v.GetHead(), records(ctx, service, name, 0)) })
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s has the rows of %s up to %d.\n", file, name, v.GetHead().GetSeq())
		if !v.GetIntact() {
			client.Say(o.Out, "%s\n", v.GetProblem())
			return ErrBroken
		}
		return nil
	})
}

// Check verifies a file that Export has written, with the keys of the service's agent.data alone: no service is asked.
func Check(o Options, file, keys string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	r, err := agent.CheckAudit(f, keys)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	client.Say(o.Out, "%s (namespace %s): rows as they were made: %d; the last is row %d.\n", r.Session, r.Namespace, r.Rows, r.Head)
	return nil
}
