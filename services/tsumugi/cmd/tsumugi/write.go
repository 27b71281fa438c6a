package main

import (
	"cmp"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/write"
)

func writeCommand() *cobra.Command {
	var o write.Options
	c := &cobra.Command{
		Use:   "write [FLOW | --file novel.txt [NAME]]",
		Short: "Continue a story at the terminal 端末で続きを書く",
		Long: `Continue a story with a model, through a running ` + "`tsumugi serve`" + `. Each time it shows from which line on the model sees the text,
the answer as it comes, and how much of the prompt the model server read again; then it asks what becomes of the answer:

  k  keep it and go on 残して続ける     a  again もう一度     t  three ways 三つの案     e  edit 直す     s  stop 終わる
  r  draw the {A|B} anew 引き直す, where there are any

FLOW is flows/{uuid} or the UUID, as --file tells it, or what the flow is called, where one alone is called so.
Ctrl-C ends the answer that is coming; what has come is kept. Nothing is ever lost: an answer that is not kept stays in the flow
as a branch. EDITOR is the editor. Without a terminal the same keys are read from the standard input, one on a line.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			interrupts := make(chan os.Signal, 1)
			signal.Notify(interrupts, os.Interrupt)
			defer signal.Stop(interrupts)
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM)
			defer stop()
			if len(args) == 1 {
				o.Flow = args[0]
			}
			o.In, o.Out, o.Err, o.Interrupts = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), interrupts
			o.Editor = cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
			return write.Run(ctx, o)
		},
	}
	f := c.Flags()
	askingFlags(c, &o.Addr, &o.Token)
	f.StringVar(&o.File, "file", "", "begin a new flow from this text (UTF-8); NAME is what it is called")
	f.StringVar(&o.Variants, "variants", "", "answers side by side each time: a number from 2, or all: one for each option of {A|B}")
	f.IntVar(&o.Repeat, "repeat", 0, "answers one behind the other each time")
	f.IntVar(&o.Tokens, "tokens", 0, "the most tokens of one answer; 0: the default of the agent")
	f.StringVar(&o.Note, "note", "", "author's note, instead of the flow's")
	f.StringVar(&o.Backend, "backend", "", "name of a backend; empty: the default")
	f.IntVar(&o.Slack, "slack", 25, "percent of the window that a cut may leave unused, so that it stays and the model server keeps its cache")
	f.StringVar(&o.Preset, "preset", "", "name of a preset (GET /v1/presets), such as the form in which the model is asked: mistral, gemma, raw")
	f.BoolVar(&o.Neutralize, "neutralize", false, "make text of what looks like a control token or a fence in the story; what was found is told either way")
	f.BoolVar(&o.Yes, "yes", false, "ask nothing: one round, keep the first answer that is whole (with --repeat the last), and end; where there is none, that is an error")
	return c
}
