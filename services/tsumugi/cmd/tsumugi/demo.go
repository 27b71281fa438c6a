package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/demo"
)

func demoCommand() *cobra.Command {
	var o demo.Options
	c := &cobra.Command{
		Use:   "demo",
		Short: "Continue a story with a real model and show every step",
		Long: `Continue a short Japanese story with a real model: the prompt's breakdown, the continuation as it is generated, a retry
that becomes a second branch, the files that were written, and the path read back over REST.

Without --model-url it installs and starts a small model (needs Python 3.10 or later with pip, once a network). Everything that it
starts ends with it, and its data are removed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Out = c.OutOrStdout()
			return demo.Run(ctx, o)
		},
	}
	c.Flags().StringVar(&o.ModelURL, "model-url", "", "address of a model server of yours, such as http://127.0.0.1:8080")
	c.Flags().StringVar(&o.ModelKind, "model-kind", "", "kind of that server: llamacpp (default) or koboldcpp")
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave it running at the end, until Ctrl-C")
	return c
}
