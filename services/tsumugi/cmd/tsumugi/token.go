package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/tokens"
)

func tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make and revoke the tokens by which callers are known 利用者のトークン",
		Long: `Make, list and revoke the tokens of a file, which ` + "`tsumugi serve --auth.tokens FILE`" + ` and the programs of the services follow: what is written
holds from the next call on, without a restart.`,
		Args: cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var o tokens.Options
	// The environment variable of the setting auth.tokens names the same file.
	c.PersistentFlags().StringVar(&o.File, "tokens", os.Getenv("TSUMUGI_TSUMUGI__AUTH__TOKENS"), "the file of tokens, that auth.tokens names")
	c.AddCommand(addTokenCommand(&o), listTokensCommand(&o), revokeTokenCommand(&o))
	return c
}

func prepare(c *cobra.Command, o *tokens.Options) {
	o.Out, o.Err, o.Now = c.OutOrStdout(), c.ErrOrStderr(), time.Now()
}

func addTokenCommand(o *tokens.Options) *cobra.Command {
	var one tokens.New
	c := &cobra.Command{
		Use:   "add --name NAME",
		Short: "Make a token, and show it, once",
		Long: `Make a token, and write it to the standard output, once: the file holds a salted hash of it. All else is written beside it, so that
TOKEN=$(tsumugi token add ...) holds the token alone.

The roles are user (everything in the namespace), approver (decides what an agent may do), admin (may loosen rules), none of which includes
another, and service, for the agent's own program (docs/security.md).`,
		Example: `  tsumugi token add --tokens tokens.yaml --name 千夏 --namespace team-a --role user --role approver --expires 90d
  tsumugi token add --tokens tokens.yaml --name agent --role service > agent.token`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			prepare(c, o)
			return tokens.Add(*o, one)
		},
	}
	f := c.Flags()
	f.StringVar(&one.Name, "name", "", "the person who gets it: the same name for all tokens of one person")
	f.StringVar(&one.Namespace, "namespace", "", "where its bearer acts; empty: default")
	f.StringArrayVar(&one.Roles, "role", nil, "user, approver, admin or service, once for each; none: user")
	f.StringVar(&one.Expires, "expires", "", "how long it holds, such as 90d, 2w or 12h; empty: until it is revoked")
	f.StringVar(&one.Session, "session", "", "sessions/{uuid}: the bearer is this session of the agent, and can decide nothing")
	return c
}

func listTokensCommand(o *tokens.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens of the file, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			prepare(c, o)
			return tokens.List(*o)
		},
	}
}

func revokeTokenCommand(o *tokens.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a token out of the file: its bearer is refused from the next call on, and streams end",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			prepare(c, o)
			return tokens.Revoke(*o, args[0])
		},
	}
}
