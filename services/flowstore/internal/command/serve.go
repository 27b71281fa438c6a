package command

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

type settings struct {
	lifecycle.Settings `yaml:",inline"`
	app.Config         `yaml:",inline"`
	GRPC               grpcserver.Config `yaml:"grpc"`
}

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve [--config FILE.yaml] [--KEY VALUE ...]",
		Short: "Answer over gRPC until stopped; what flowstore does without a subcommand, too",
		// Every setting is a flag: config reads them, so that file, environment and flags have one set of rules.
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if config.AsksHelp(args) && c.HasSubCommands() {
				listSubcommands(c)
			}
			trouble, ok := c.ErrOrStderr().(*os.File)
			if !ok {
				trouble = os.Stderr
			}
			if lifecycle.Main(program(), args, os.Environ(), c.OutOrStdout(), trouble) != 0 {
				return errTold
			}
			return nil
		},
	}
}

func listSubcommands(root *cobra.Command) {
	out := root.OutOrStdout()
	fmt.Fprintln(out, "Subcommands; `flowstore NAME --help` tells more of each:")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(out, "  %-10s %s\n", c.Name(), c.Short)
		}
	}
	fmt.Fprintln(out)
}

func program() lifecycle.Program {
	s := settings{
		Settings: lifecycle.DefaultSettings("127.0.0.1:7453", "127.0.0.1:7493"),
		Config:   app.DefaultConfig(), GRPC: grpcserver.DefaultConfig(),
	}
	return lifecycle.Program{
		Name: "flowstore", Summary: "keeps nodes and flows as a tree of text files",
		Config: &s, Settings: &s.Settings, GRPC: &s.GRPC,
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) {
			return app.New(ctx, s.Config, app.Deps{Log: e.Log, Metrics: e.Metrics, Alone: true})
		},
		Try: `grpcurl -plaintext -d '{"flow": {"displayName": "夜明けの町"}}' ADDRESS tsumugi.flowstore.v1.FlowStoreService/CreateFlow`,
	}
}
