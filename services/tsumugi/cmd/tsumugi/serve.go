package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

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
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return c.Help()
	}
	cfg := allinone.DefaultConfig()
	flags, rest, err := config.Args(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%q is not a setting; tsumugi serve --help lists them", rest[0])
	}
	file := flags["config"]
	delete(flags, "config")
	err = config.Load(&cfg, config.Source{File: file, Env: os.Environ(), Flags: flags, Sections: allinone.Sections})
	if err != nil {
		return err
	}
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
Try: curl -s -H 'Content-Type: application/json' -d '{"displayName": "my novel"}' http://%s/v1/flows
`, cfg.FlowStore.Data, p.GRPC(), p.HTTP(), p.Admin(), p.HTTP())
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range config.Keys(&cfg) {
		fmt.Fprintf(w, "  --%s\t%s\t%s\n", k.Name, k.Value, k.Help)
	}
	if err := w.Flush(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		fmt.Fprintln(os.Stderr, err)
	}
}
