package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/show"
)

func flowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "flow",
		Short: "Look at the flows of a running tsumugi serve",
		Args:  cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(showFlowCommand())
	return c
}

func showFlowCommand() *cobra.Command {
	var o show.Options
	c := &cobra.Command{
		Use:   "show FLOW",
		Short: "Draw a flow and tell its nodes 流れを図で見る",
		Long: `Draw a flow, its branches and where they merge, and tell the beginning of each node.

FLOW is flows/{uuid}, the UUID, or what the flow is called, where one alone is called so. In the drawing

  1→2<       leads to node 2, which several continue
    2<3>5    is one of these, which leads to where branches merge
  >5→6       goes on from there
  2<>5       is an edge from where branches part straight to where they merge
  ×6→2       is an edge that a hand made and that paths leave out`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Flow, o.Out = args[0], c.OutOrStdout()
			return show.Run(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().IntVar(&o.Nodes, "nodes", 100, "how many nodes are told")
	return c
}
