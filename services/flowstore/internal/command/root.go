// Package command is the command line of flowstore: the service itself, and tools for the tree of text files that work
// without it.
//
// Each subcommand has a file of its own. What it prints for the person goes to the command's output, and trouble to its
// error output.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

// errTold says that a command failed, and that it has said why.
var errTold = errors.New("the trouble was told")

// Main runs the command line and gives the exit code of the process: 1 where something could not be done,
// but for the commands with codes of their own.
func Main(args []string, out io.Writer, trouble *os.File) int {
	root := Root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(trouble)
	err := root.Execute()
	if err == nil {
		return 0
	}
	if !errors.Is(err, errTold) {
		fmt.Fprintf(trouble, "flowstore: %v\n", err)
	}
	if own := (*exit)(nil); errors.As(err, &own) {
		return own.code
	}
	return 1
}

// Root is the command line. Without a subcommand it serves, as programs of one service do.
func Root() *cobra.Command {
	root := serveCommand()
	root.Use = "flowstore"
	root.Version = lifecycle.Version("flowstore")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.AddCommand(serveCommand(), initCommand(), textconvCommand(), resolveCommand(), checkCommand(), repairCommand())
	return root
}
