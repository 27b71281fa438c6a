package main

import (
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/auditlog"
)

func auditCommand() *cobra.Command {
	var o auditlog.Options
	var verify, replay bool
	var export, check, keys string
	c := &cobra.Command{
		Use:   "audit [NAME]",
		Short: "Tell what happened in a session, and whether that is as it was written 監査記録",
		Long: `Tell what happened in a session of a running tsumugi serve: a line for each row of its audit. ` + named + ` One that was
deleted is named whole.

--verify has the service check that no row was changed, taken away or put in, --replay that the session which the rows make is the one that is
stored, and that its texts and approvals are as they were written. --export writes the rows into a file, and --check verifies such a file with the keys of the agent alone, without a service. The exit code
is 1 where something is not as it was written.`,
		Example: `  tsumugi audit "$S" --verify --replay
  tsumugi audit "$S" --export audit.jsonl
  tsumugi audit --check audit.jsonl --keys tsumugi-data/agent/audit-keys.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Out, o.Err = c.OutOrStdout(), c.ErrOrStderr()
			if (check != "") == (len(args) == 1) || (check != "") != (keys != "") {
				return errors.New("name a session, or with --check and --keys the files of an export and of its keys")
			}
			if check != "" {
				return auditlog.Check(o, check, keys)
			}
			o.Name = args[0]
			switch {
			case export != "":
				return auditlog.Export(ctx, o, export)
			case verify || replay:
				return auditlog.Verify(ctx, o, replay)
			}
			return auditlog.Tell(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	f := c.Flags()
	f.Int64Var(&o.After, "after", 0, "tell only rows behind this one")
	f.BoolVar(&verify, "verify", false, "check that the rows are as they were made")
	f.BoolVar(&replay, "replay", false, "make the session again from its rows, too, and compare; and look at its texts and approvals")
	f.StringVar(&export, "export", "", "write the rows into this file")
	f.StringVar(&check, "check", "", "verify this file of an export")
	f.StringVar(&keys, "keys", "", "the keys for --check: audit-keys.yaml in agent.data, or the file of agent.sessions.audit_keys")
	c.MarkFlagsMutuallyExclusive("check", "verify")
	c.MarkFlagsMutuallyExclusive("check", "replay")
	c.MarkFlagsMutuallyExclusive("check", "export", "after")
	return c
}
