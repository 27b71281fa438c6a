package main

import (
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/find"
)

func searchCommand() *cobra.Command {
	var o find.Options
	c := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find nodes by what stands in them 会話を探す",
		Long: `Find nodes of a running tsumugi serve, and tell each with what was found in it, between » and «.

A query has words, "words as they stand", -words that must not be there, and filters: tag:夜 model:gemma role:user flow:"a name"
after:2026-05 before:2026-06. Put it in single quotes, so that the shell leaves its marks alone, and behind -- where it begins with a hyphen.`,
		Example: `  tsumugi search '検索 "quick fix" tag:draft'
  tsumugi search -- '-tag:done after:2026-05'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Query, o.Out = strings.Join(args, " "), c.OutOrStdout()
			return find.Run(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().IntVar(&o.Nodes, "nodes", 20, "how many nodes are told")
	return c
}
