// Command tsumugi runs every service in one process, shows what they do, and installs a small model to try them with.
package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

func main() {
	if code, child := agent.Child(); child {
		os.Exit(code)
	}
	root := &cobra.Command{
		Use:           "tsumugi",
		Short:         "Prompts that fit, conversations that stay: services between an application and its language models",
		Version:       lifecycle.Version("tsumugi"),
		SilenceUsage:  true,
		SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{
			HiddenDefaultCmd: true,
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(serveCommand(), demoCommand(), modelCommand(), writeCommand(), flowCommand(), sessionCommand(), approvalCommand(), auditCommand(), policyCommand(), searchCommand(), promptCommand(), importCommand(), exportCommand(), tokenCommand())
	if err := root.Execute(); err != nil {
		client.Say(os.Stderr, "tsumugi: %s\n", err)
		own, code := (interface{ ExitCode() int })(nil), 1
		if errors.As(err, &own) {
			code = own.ExitCode()
		}
		os.Exit(code)
	}
}
