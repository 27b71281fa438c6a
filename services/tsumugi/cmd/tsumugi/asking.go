package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// tokenVariable holds a token for the commands that ask a running tsumugi serve.
const tokenVariable = "TSUMUGI_TOKEN"

// agentDataVariable is the environment variable of the setting agent.data.
const agentDataVariable = "TSUMUGI_AGENT__DATA"

// askingFlags are those by which a command finds the services and says who asks. The token is there when the command runs.
// There is no flag for the token itself: everybody on the machine can see the arguments of programs.
func askingFlags(c *cobra.Command, addr, shown *string) {
	var file string
	var approver bool
	c.Flags().StringVar(addr, "addr", client.DefaultAddr, "gRPC address of a running tsumugi serve")
	c.Flags().StringVar(&file, "token-file", "", "file with the token that says who asks; empty: the variable "+tokenVariable)
	c.Flags().BoolVar(&approver, "approver", false, "show the approver secret of a tsumugi serve on this machine that has no file of tokens; "+agentDataVariable+" is the agent's data folder")
	c.MarkFlagsMutuallyExclusive("approver", "token-file")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if approver {
			*shown, err = approverSecret(*addr, cmp.Or(os.Getenv(agentDataVariable), agent.DefaultConfig().Data))
			return err
		}
		*shown, err = readToken(file, os.Getenv(tokenVariable))
		return err
	}
}

// shownBy are the flags by which a command was shown a token, as they are typed again in a shell.
func shownBy(c *cobra.Command) []string {
	if approver, _ := c.Flags().GetBool("approver"); approver {
		return []string{"--approver"}
	}
	file, _ := c.Flags().GetString("token-file")
	if file == "" {
		return nil
	}
	return []string{"--token-file", "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"}
}

// approverSecret reads the secret in the data folder of an agent. It is shown only when it is asked for, and to this machine alone: whoever listens
// at an address learns it.
func approverSecret(addr, folder string) (string, error) {
	if !lifecycle.Loopback(addr) {
		return "", fmt.Errorf("--approver: the approver secret is for a server on this machine, and %s is none; --token-file takes the token of another one", addr)
	}
	shown, err := token.ReadSecret(filepath.Join(folder, token.SecretName))
	if err != nil {
		return "", fmt.Errorf("--approver: %w; the first start of tsumugi serve makes the secret in its agent.data, which %s names for this command", err, agentDataVariable)
	}
	return shown, nil
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
