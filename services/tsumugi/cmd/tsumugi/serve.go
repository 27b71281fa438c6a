package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [--config FILE.yaml] [--KEY VALUE ...]",
		Short: "Run every service in one process",
		// Every setting is a flag: config reads them, so that file, environment and flags have one set of rules.
		DisableFlagParsing: true,
		RunE:               serve,
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { settings(c.OutOrStdout()) })
	return c
}

func serve(c *cobra.Command, args []string) error {
	if config.AsksHelp(args) {
		return c.Help()
	}
	cfg := allinone.DefaultConfig()
	if err := config.LoadProgram(&cfg, allinone.Sections, args, os.Environ()); err != nil {
		return err
	}
	cfg.In(config.FileOf(args))
	log := obs.NewLogger(cfg.Log, os.Stderr)
	defer log.Sync()
	p, err := allinone.Open(c.Context(), cfg, log)
	if err != nil {
		return err
	}
	signals, release := lifecycle.Signals()
	defer release()
	greet(c.OutOrStdout(), p, cfg)
	return p.Run(context.WithoutCancel(c.Context()), lifecycle.Options{Signals: signals})
}

// greet says where everything is and gives a line to paste.
func greet(out io.Writer, p *allinone.Process, cfg allinone.Config) {
	fmt.Fprintf(out, `tsumugi is up. Data is in %s.
  gRPC   %s
  REST   http://%s   (OpenAPI at /openapi.json)
  admin  http://%s/readyz, /livez, /metrics
Try: curl -s%s -H 'Content-Type: application/json' -d '{"displayName": "my novel"}' http://%s/v1/flows
`, cfg.FlowStore.Data, p.GRPC(), p.HTTP(), p.Admin(), bearer(cfg), p.HTTP())
	if notice := p.Notice(); notice != "" {
		fmt.Fprintln(out, notice)
	}
}

// bearer is the header of a call, where a token is asked for.
func bearer(cfg allinone.Config) string {
	if !cfg.Auth.On() {
		return ""
	}
	return ` -H "Authorization: Bearer $` + tokenVariable + `"`
}

// settings lists every setting with its default.
func settings(out io.Writer) {
	cfg := allinone.DefaultConfig()
	fmt.Fprint(out, `Run every service in one process.

Usage: tsumugi serve [--config FILE.yaml] [--KEY VALUE ...]

Each setting is a key of the file, an environment variable or a flag: gateway.max_body is TSUMUGI_GATEWAY__MAX_BODY and
--gateway.max_body; log.level, which belongs to no service, is TSUMUGI_TSUMUGI__LOG__LEVEL. A flag wins over the
environment, and that over the file. The defaults are:

`)
	if err := config.Print(out, &cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
