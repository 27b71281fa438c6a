package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/approval"
)

const namedApproval = "NAME is approvals/{uuid}, the UUID, or its last 4 or more characters, where one alone of the newest 1,000 approvals ends so."

func approvalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "approval",
		Short: "See what an agent asks, and decide 承認",
		Long: `See what the agents of a running tsumugi serve ask, and decide (docs/sessions.md).

Deciding takes the role approver: a token that has it, or on this machine without a file of tokens --approver.

` + namedApproval,
		Args: cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(listApprovalsCommand(), approveCommand(), denyCommand(), editCommand(), extendCommand(), outcomeCommand(),
		onApproval("show NAME", "Show an approval with everything that would change", cobra.ExactArgs(1),
			func(ctx context.Context, o approval.Options, _ []string) error { return approval.Show(ctx, o) }))
	return c
}

// deciding is what a command of approvals is given when it runs, until Ctrl-C.
func deciding(c *cobra.Command, o *approval.Options) (context.Context, context.CancelFunc) {
	o.In, o.Out, o.Err, o.By = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), shownBy(c)
	o.Person = obs.Terminal(os.Stdin) && obs.Terminal(os.Stdout)
	return signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
}

// onApproval is a command whose first argument names an approval; run is given the others.
func onApproval(use, short string, args cobra.PositionalArgs, run func(context.Context, approval.Options, []string) error) *cobra.Command {
	var o approval.Options
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + ".\n\n" + namedApproval,
		Args:  args,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := deciding(c, &o)
			defer stop()
			o.Name = args[0]
			return run(ctx, o, args[1:])
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	return c
}

func listApprovalsCommand() *cobra.Command {
	var o approval.Options
	var f approval.Filter
	c := &cobra.Command{
		Use:   "list",
		Short: "List what waits for a decision, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := deciding(c, &o)
			defer stop()
			return approval.List(ctx, o, f)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().StringVar(&f.Session, "session", "", "only those of this session")
	c.Flags().BoolVar(&f.All, "all", false, "those that were decided, too")
	c.Flags().IntVar(&f.Most, "approvals", 50, "how many are listed")
	return c
}

// sureFlags are those by which a person says that the approval which is shown is meant.
func sureFlags(c *cobra.Command, a *approval.Answer) {
	c.Flags().StringVar(&a.Digest, "digest", "", "the digest of the approval that you have looked at: then nobody is asked, and another one is not decided")
	c.Flags().BoolVar(&a.Yes, "yes", false, "whatever is shown is meant: nobody is asked")
	c.MarkFlagsMutuallyExclusive("digest", "yes")
}

func approveCommand() *cobra.Command {
	a := approval.Answer{Decision: agentv1.Decision_DECISION_APPROVE}
	c := onApproval("approve NAME", "Show an approval whole, ask, and approve it", cobra.ExactArgs(1),
		func(ctx context.Context, o approval.Options, _ []string) error { return approval.Decide(ctx, o, a) })
	c.Example = `  tsumugi approval approve 1f0c --approver
  tsumugi approval approve 1f0c --approver --digest 9b2f… --scope exact`
	sureFlags(c, &a)
	f := c.Flags()
	f.StringVar(&a.Reason, "reason", "", "why; the model is told")
	f.StringVar(&a.Scope, "scope", "", "once (default); exact: equal calls too, path: those of the tool at the path that is offered and below, for the rest of the session")
	f.StringVar(&a.Path, "path", "", "the path of --scope path; needed only where several are offered")
	f.BoolVar(&a.Unshown, "acknowledge-unshown", false, "not all of it could be shown, and it shall be approved all the same")
	return c
}

func denyCommand() *cobra.Command {
	a := approval.Answer{Decision: agentv1.Decision_DECISION_DENY}
	c := onApproval("deny NAME", "Show an approval and deny it", cobra.ExactArgs(1),
		func(ctx context.Context, o approval.Options, _ []string) error { return approval.Decide(ctx, o, a) })
	c.Flags().StringVar(&a.Reason, "reason", "", "why; the model is told")
	return c
}

func editCommand() *cobra.Command {
	var file, reason string
	c := onApproval("edit NAME --arguments FILE", "Change the arguments of a call that waits", cobra.ExactArgs(1),
		func(ctx context.Context, o approval.Options, _ []string) error {
			if file == "-" {
				return approval.Edit(ctx, o, o.In, reason)
			}
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // only read
			return approval.Edit(ctx, o, f, reason)
		})
	c.Long += `

An edit approves nothing: another approval takes the place of this one, and is to be decided.`
	c.Flags().StringVar(&file, "arguments", "", "the file with the arguments as they shall be, a JSON object; - is the standard input")
	c.Flags().StringVar(&reason, "reason", "", "why; the model is told")
	if err := c.MarkFlagRequired("arguments"); err != nil {
		panic(err) // the flag is two lines above
	}
	return c
}

func extendCommand() *cobra.Command {
	c := onApproval("extend NAME DURATION", "Give an approval that waits more time, such as 30m or 2h", cobra.ExactArgs(2),
		func(ctx context.Context, o approval.Options, args []string) error {
			by, err := time.ParseDuration(args[0])
			if err != nil {
				return fmt.Errorf("%q is no length of time; it must be one such as 30m or 2h", args[0])
			}
			return approval.Extend(ctx, o, by)
		})
	c.Long += ` In all it may wait 24 hours.`
	return c
}

func outcomeCommand() *cobra.Command {
	var a approval.Answer
	c := onApproval("outcome NAME happened|not-happened", "Tell whether a call has happened of which nobody can tell", cobra.ExactArgs(2),
		func(ctx context.Context, o approval.Options, args []string) error {
			return approval.Outcome(ctx, o, args[0], a)
		})
	c.Long += `

Look at the work folder, or at what the tool acts on, before you answer: the call is never made again by itself.`
	sureFlags(c, &a)
	c.Flags().StringVar(&a.Reason, "reason", "", "why; the model is told")
	return c
}
