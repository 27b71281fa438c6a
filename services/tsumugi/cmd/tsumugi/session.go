package main

import (
	"context"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/session"
)

// named is how a person says which session is meant.
const named = "NAME is sessions/{uuid}, the UUID, or its last 4 or more characters, where one alone of the newest 1,000 sessions ends so."

func sessionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "session",
		Short: "Have a model work in a folder, under rules and with your word エージェントのセッション",
		Long:  "Make sessions of the agent in a running tsumugi serve, talk to them and look at them (docs/sessions.md).\n\n" + named,
		Args:  cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSessionCommand(), listSessionsCommand(), sendCommand(), watchCommand(), updateSessionCommand(), toolResultCommand(), callToolCommand(), revokeRuleCommand(), cancelCommand(),
		onSession("show NAME", "Tell a session, and what it waits for", session.Show),
		onSession("tools NAME", "List the tools of a session, as its model is shown them", session.Tools),
		onSession("delete NAME", "Take away what a session says; its flow and its audit stay", session.Delete))
	return c
}

// running is what a command of sessions is given when it runs, until Ctrl-C.
func running(c *cobra.Command, o *session.Options) (context.Context, context.CancelFunc) {
	o.In, o.Out, o.Err, o.By = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), shownBy(c)
	return signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
}

// onSession is a command about a session that takes its name and nothing else.
func onSession(use, short string, run func(context.Context, session.Options) error) *cobra.Command {
	return withSession(use, short, cobra.ExactArgs(1), func(ctx context.Context, o session.Options, _ []string) error { return run(ctx, o) })
}

// withSession is a command whose first argument names a session; run is given the others.
func withSession(use, short string, args cobra.PositionalArgs, run func(context.Context, session.Options, []string) error) *cobra.Command {
	var o session.Options
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + ".\n\n" + named,
		Args:  args,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := running(c, &o)
			defer stop()
			o.Name = args[0]
			return run(ctx, o, args[1:])
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	return c
}

// items are the flags of what a person says a session is about, and the fields that they set.
func items(c *cobra.Command, s *agentv1.Session) {
	f := c.Flags()
	f.StringVar(&s.Goal, "goal", "", "what is to be reached, in a line")
	f.StringVar(&s.WhyNow, "why-now", "", "why now, in a line")
	f.StringArrayVar(&s.Constraints, "constraint", nil, "what must hold; at most twice")
	f.StringArrayVar(&s.PlanBrief, "plan", nil, "the plan in short; at most three times")
	f.StringArrayVar(&s.OpenQuestions, "question", nil, "what is not known yet; at most twice")
	f.StringArrayVar(&s.ContextRefs, "ref", nil, "what the work is about: file:PATH, plan:UUID of an approved plan, or conversation:NUMBER of a turn, sessions/UUID/NUMBER, nodes/UUID or flows/UUID")
	f.StringVar(&s.Policy, "policy", "", "a policy of the configuration; empty: the default one")
	f.Func("budget", "what it may spend, NAME=NUMBER, once for each: message-model-calls, message-tool-calls, message-seconds, session-model-calls, "+
		"session-tool-calls, session-bytes-written; those that are left out have no limit but that of the service", func(text string) error { return session.SetBudget(s, text) })
	f.Func("rules", "a JSON file with all rules that ask or deny beside those of the policy: a list of objects with id, effect, tool, path, riskAtLeast, reason", func(file string) (err error) {
		s.AddedRules, err = session.Rules(file)
		return err
	})
}

// fields are the names that the contract has for the flags of items.
var fields = map[string]string{
	"goal": "goal", "why-now": "why_now", "constraint": "constraints", "plan": "plan_brief", "question": "open_questions", "ref": "context_refs", "policy": "policy",
	"rules": "added_rules", "budget": "budgets",
}

func newSessionCommand() *cobra.Command {
	var o session.Options
	var s agentv1.Session
	var tools []string
	c := &cobra.Command{
		Use:   "new",
		Short: "Make a session, and write its name to the standard output",
		Long: `Make a session, and write its name to the standard output, alone on a line, so that S=$(tsumugi session new ...) holds it. Nothing moves until
a message comes: tsumugi session send.`,
		Example: `  S=$(tsumugi session new --goal 'The README tells how to install it' --root work --locale en)
  tsumugi session send "$S" 'Write the section on installing.'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			ctx, stop := running(c, &o)
			defer stop()
			if s.ClientTools, err = session.ClientTools(tools); err != nil {
				return err
			}
			return session.New(ctx, o, &s)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	items(c, &s)
	f := c.Flags()
	f.StringVar(&s.Root, "root", "", "a work folder of the tools file; empty: the session has no files")
	f.StringVar(&s.Backend, "backend", "", "a backend of the backends file; empty: the default one")
	f.StringVar(&s.Locale, "locale", "", "the language of prompts and sentences, ja or en; empty: ja")
	f.StringVar(&s.ContinueFrom, "continue", "", "a session without an open turn, whose memory, and each item that this one does not bring, are taken over")
	f.StringArrayVar(&tools, "client-tool", nil, "a JSON file with a tool that you carry out: name, description, inputSchema, timeoutSeconds")
	return c
}

func listSessionsCommand() *cobra.Command {
	var o session.Options
	var waiting bool
	var most int
	c := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := running(c, &o)
			defer stop()
			return session.List(ctx, o, waiting, most)
		},
	}
	askingFlags(c, &o.Addr, &o.Token)
	c.Flags().BoolVar(&waiting, "waiting", false, "only those that wait for a person: an approval or a question")
	c.Flags().IntVar(&most, "sessions", 50, "how many are listed")
	return c
}

func sendCommand() *cobra.Command {
	var m session.Message
	c := withSession("send NAME TEXT...", "Send a message, and tell what happens until its turn ends or waits for a person", cobra.MinimumNArgs(2),
		func(ctx context.Context, o session.Options, text []string) error {
			m.Text = strings.Join(text, " ")
			return session.Send(ctx, o, m)
		})
	c.Long += ` TEXT - is the standard input.

While the session works, --mode says what the message does: queue waits until the turn has ended, side is answered at once beside the work, interrupt
stops the turn, and supersede takes the place of everything that waits for an approval. Ctrl-C stops nothing: tsumugi session watch goes on.`
	c.Flags().StringVar(&m.Mode, "mode", "queue", "queue, side, interrupt or supersede")
	c.Flags().StringVar(&m.Question, "answers", "", "the question that it answers, by the id that show tells: refused where it is not open any more; empty: whichever is open")
	c.Flags().StringVar(&m.RequestID, "request-id", "", "a UUID: the same message again is taken once")
	return c
}

func cancelCommand() *cobra.Command {
	var hard bool
	c := withSession("cancel NAME", "Stop the task of a session: nothing more begins, and messages that wait are closed", cobra.ExactArgs(1),
		func(ctx context.Context, o session.Options, _ []string) error { return session.Cancel(ctx, o, hard) })
	c.Flags().BoolVar(&hard, "hard", false, "end what runs at once; without it a call may end by itself within agent.sessions.grace")
	return c
}

func watchCommand() *cobra.Command {
	var from int64
	var c *cobra.Command
	c = withSession("watch NAME", "Tell what happens to a session, until its task ends or Ctrl-C", cobra.ExactArgs(1),
		func(ctx context.Context, o session.Options, _ []string) error {
			if c.Flags().Changed("from") {
				return session.Watch(ctx, o, &from)
			}
			return session.Watch(ctx, o, nil)
		})
	c.Flags().Int64Var(&from, "from", 0, "the number of the last line that you have seen; 0: from the beginning; without it: from now on")
	return c
}

func updateSessionCommand() *cobra.Command {
	var s agentv1.Session
	var c *cobra.Command
	c = withSession("update NAME", "Change what a session is about, also while it works", cobra.ExactArgs(1),
		func(ctx context.Context, o session.Options, _ []string) error {
			var changed []string
			for flag, field := range fields {
				if c.Flags().Changed(flag) {
					changed = append(changed, field)
				}
			}
			slices.Sort(changed)
			return session.Update(ctx, o, &s, changed)
		})
	items(c, &s)
	c.Flags().StringVar(&s.Etag, "etag", "", "the version that is changed; empty: whichever there is")
	return c
}

func toolResultCommand() *cobra.Command {
	var failed bool
	c := withSession("result NAME CALL", "Answer a call of a tool that you carry out, with the standard input", cobra.ExactArgs(2),
		func(ctx context.Context, o session.Options, args []string) error {
			return session.Result(ctx, o, args[0], failed)
		})
	c.Long += ` CALL is the call's UUID, or the last 4 or more
characters of it, of those that wait for a result.`
	c.Flags().BoolVar(&failed, "failed", false, "the tool failed, and the standard input says why")
	return c
}

func callToolCommand() *cobra.Command {
	var call session.Call
	c := withSession("call NAME TOOL [ARGUMENTS]", "Call a tool of a session yourself, through the same rules as its model", cobra.RangeArgs(2, 3),
		func(ctx context.Context, o session.Options, args []string) error {
			call.Tool, call.Arguments = args[0], strings.Join(args[1:], "")
			return session.CallTool(ctx, o, call)
		})
	c.Long += ` ARGUMENTS are a JSON object; without them {}.

The exit code is 0 where the call was EXECUTED, and with --dry-run; 1 for every other status, WAITING included, and where the call was not taken.`
	c.Example = `  tsumugi session call "$S" read '{"path": "README.md"}'
  tsumugi session call "$S" write '{"path": "a.txt", "content": "a\n"}' --dry-run`
	f := c.Flags()
	f.BoolVar(&call.DryRun, "dry-run", false, "judge the call and show what it would do; nothing is written")
	f.StringVar(&call.Digest, "digest", "", "of a call that policy asks about: the digest that --dry-run gave")
	f.BoolVar(&call.Unshown, "acknowledge-unshown", false, "not all of it could be shown, and it shall be done all the same")
	return c
}

func revokeRuleCommand() *cobra.Command {
	return withSession("revoke NAME RULE", "Take back what was allowed for the rest of a session", cobra.ExactArgs(2),
		func(ctx context.Context, o session.Options, args []string) error {
			return session.Revoke(ctx, o, args[0])
		})
}

func policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Ask what policy makes of a call, and why 方針の説明",
		Args:  cobra.NoArgs, // an unknown command below it, which cobra would answer with the help and no error
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	explain := withSession("explain NAME TOOL [ARGUMENTS]", "Tell what policy says of a call of a session, with every rule that was looked at", cobra.RangeArgs(2, 3),
		func(ctx context.Context, o session.Options, args []string) error {
			return session.Explain(ctx, o, args[0], strings.Join(args[1:], ""))
		})
	explain.Long += ` ARGUMENTS are a JSON object; without them {}. Nothing is
asked or carried out. A rule that fits is marked with x, the one that has decided with >.`
	explain.Example = `  tsumugi policy explain "$S" write '{"path": "notes.md", "content": "x"}'`
	c.AddCommand(explain)
	return c
}
