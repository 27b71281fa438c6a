package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/transfer"
)

func importCommand() *cobra.Command {
	var o transfer.ImportOptions
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Store conversations that other programs exported 会話を取り込む",
		Long: `Store the conversations of files, through a running tsumugi serve: the conversations.json of ChatGPT and of Claude, the ZIP archives
they come in, and what tsumugi export writes. - is the standard input.

The same file again adds what is new and changes nothing else. The exit code is 0 where everything arrived, 2 where something did
not, which is told, and 1 where the service could not be asked.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Files, o.In, o.Out = args, c.InOrStdin(), c.OutOrStdout()
			return transfer.Import(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().StringVar(&o.Format, "format", "auto", "who wrote the files: auto, chatgpt, claude or tsumugi")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "tell what would be done, and store nothing")
	return c
}

func exportCommand() *cobra.Command {
	var o transfer.ExportOptions
	c := &cobra.Command{
		Use:   "export [FLOW...]",
		Short: "Write flows with their nodes into a file 会話を書き出す",
		Long: `Write flows with their nodes as lines of JSON, which tsumugi import takes: the same ids, texts and edges. Without FLOW all of them, and
the nodes that no flow holds. FLOW is flows/{uuid}, the UUID, or what the flow is called, where one alone is called so.

The exit code is 0 where everything was written, 2 where something could not be read, which is told and stands in the file as a
problem, and 1 where there is no export.`,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Flows, o.Out, o.Problems = args, c.OutOrStdout(), c.ErrOrStderr()
			return transfer.Export(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().StringVarP(&o.File, "output", "o", "", "the file; empty: the standard output")
	return c
}
