package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/prompt"
)

func promptCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "prompt",
		Short: "Build prompts, see what they are made of and what changed プロンプトの内訳を見る",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		buildCommand("system", "Build a system prompt", "BuildSystem", prompt.System),
		buildCommand("agent", "Build the prompt of one turn of an agent", "BuildAgent", prompt.Agent),
		contextCommand(),
	)
	return c
}

func buildCommand(use, short, method string, run func(context.Context, prompt.Options) error) *cobra.Command {
	var o prompt.Options
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Long: short + ` through a running tsumugi serve, and write it to the standard output, byte for byte.

The request is that of ` + method + ` (docs/system-prompt.md), in JSON or YAML; without one it is empty. What files hold is base64 in it, and a file
as it is with --file. --explain shows in place of the text its
sections with bytes, tokens, class and digest, the boundaries between them, and what became of each file. --json writes the whole reply;
kept in a file, --diff compares a later build with it and tells which section moved the prefix.`,
		Example: `  tsumugi prompt ` + use + ` -f request.yaml --file AGENTS.md --explain
  tsumugi prompt ` + use + ` -f request.yaml --json > before.json
  tsumugi prompt ` + use + ` -f request.yaml --explain --diff before.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.In, o.Out, o.Err = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
			return run(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().StringVarP(&o.Request, "request", "f", "", "the file with the request; - is the standard input")
	c.Flags().StringArrayVar(&o.Files, "file", nil, "a file to print besides those of the request: PATH, or NAME=PATH")
	c.Flags().BoolVar(&o.Explain, "explain", false, "show the sections in place of the text")
	c.Flags().BoolVar(&o.JSON, "json", false, "write the whole reply")
	c.Flags().StringVar(&o.Diff, "diff", "", "the file with an earlier reply, to compare with")
	return c
}

func contextCommand() *cobra.Command {
	var o prompt.ContextOptions
	c := &cobra.Command{
		Use:   "context FLOW",
		Short: "Build what a model is told of a flow before a new prompt",
		Long: `Build what a model is told of a flow before a new prompt, and write it to the standard output, byte for byte: a line for each node on the
way, the last in full, and the nodes that --ref, --tag and --query choose. FLOW is flows/{uuid}, the UUID, or what the flow is called, where
one alone is called so. --explain shows in place of the text what became of each node. --json writes the whole reply; kept in a file, --diff
compares a later context with it and tells which line moved the prefix, and what became of the nodes.`,
		Example: `  tsumugi prompt context 港町 --prompt '季節は？' --tag 方言 --explain
  tsumugi prompt context 港町 --prompt '季節は？' --json > before.json
  tsumugi prompt context 港町 --prompt 'では冬は？' --diff before.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			o.Flow, o.Out, o.Err = args[0], c.OutOrStdout(), c.ErrOrStderr()
			return prompt.Context(ctx, o)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().StringVar(&o.Parent, "parent", "", "the node that the prompt follows; empty: the current one")
	c.Flags().StringVar(&o.Prompt, "prompt", "", "what is asked now")
	c.Flags().StringArrayVar(&o.Refs, "ref", nil, "a node that is of use")
	c.Flags().StringArrayVar(&o.Tags, "tag", nil, "a tag of nodes that are of use")
	c.Flags().StringVar(&o.Query, "query", "", "a search (docs/search.md) that finds nodes of use")
	c.Flags().StringVar(&o.Backend, "backend", "", "the backend that counts the tokens; empty: an estimate")
	c.Flags().StringVar(&o.Locale, "locale", "", "the language of the texts; empty: ja")
	c.Flags().BoolVar(&o.Explain, "explain", false, "show the nodes in place of the text")
	c.Flags().BoolVar(&o.JSON, "json", false, "write the whole reply")
	c.Flags().StringVar(&o.Diff, "diff", "", "the file with an earlier reply, to compare with")
	return c
}
