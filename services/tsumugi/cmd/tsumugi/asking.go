package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/internal/token"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/write"
)

// tokenVariable holds a token for the commands that ask a running tsumugi serve.
const tokenVariable = "TSUMUGI_TOKEN"

// askingFlags are those by which a command finds the services and says who asks. The token is there when the command runs.
// There is no flag for the token itself: everybody on the machine can see the arguments of programs.
func askingFlags(c *cobra.Command, addr, shown *string) {
	var file string
	c.Flags().StringVar(addr, "addr", write.DefaultAddr, "gRPC address of a running tsumugi serve")
	c.Flags().StringVar(&file, "token-file", "", "file with the token that says who asks; empty: the variable "+tokenVariable)
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		*shown, err = readToken(file, os.Getenv(tokenVariable))
		return err
	}
}

// readToken reads the token that a file or the variable holds; empty where neither is named.
func readToken(file, variable string) (string, error) {
	if file != "" {
		return token.ReadSecret(file)
	}
	if variable = strings.TrimSpace(variable); variable == "" {
		return "", nil
	}
	if err := token.CheckShown(variable); err != nil {
		return "", fmt.Errorf("the variable %s holds no token: %w", tokenVariable, err)
	}
	return variable, nil
}
