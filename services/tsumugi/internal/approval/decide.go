package approval

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// maxArguments is the most bytes of changed arguments: more than the service takes.
const maxArguments = 1 << 20

// scopes are how far an approval reaches, by what the command calls it.
var scopes = map[string]agentv1.DecisionScope{
	"once": agentv1.DecisionScope_DECISION_SCOPE_ONCE, "exact": agentv1.DecisionScope_DECISION_SCOPE_SESSION_EXACT, "path": agentv1.DecisionScope_DECISION_SCOPE_SESSION_TOOL_PATH,
}

func scopeName(s agentv1.DecisionScope) string {
	for name, scope := range scopes {
		if scope == s {
			return name
		}
	}
	return s.String()
}

// Answer is what a person decides, and how sure they are.
type Answer struct {
	Decision agentv1.Decision
	// Reason is told to the model.
	Reason string
	// Scope is once, exact or path, Path that of the last; empty: the one that is offered.
	Scope, Path string
	// Arguments are those of an edit.
	Arguments string
	// Digest is that of the approval that was looked at before; Yes: whatever is shown now is meant. Without both a person is asked.
	Digest string
	Yes    bool
	// Unshown: not all of it could be shown, and it shall be approved all the same.
	Unshown bool
}

// Decide shows an approval, asks where nobody has said that this one is meant, and decides with the digest of what was shown.
func Decide(ctx context.Context, o Options, a Answer) error {
	scope, known := scopes[a.Scope]
	if !known && a.Scope != "" {
		return fmt.Errorf("--scope is %q; it must be one of %s", a.Scope, strings.Join(slices.Sorted(maps.Keys(scopes)), ", "))
	}
	if a.asks() && !o.Person {
		return errors.New("nobody is asked, since this is no terminal: look at the approval with `tsumugi approval show`, and give its digest with --digest, or --yes")
	}
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		seen, err := o.show(ctx, agent, name)
		if err != nil {
			return err
		}
		if seen.GetDigest() == "" {
			return fmt.Errorf("%s is not yours to decide: it takes a token with the role approver (--token-file), or on this machine the approver secret (--approver). Nothing was decided", name)
		}
		if a.Digest != "" && a.Digest != seen.GetDigest() {
			return fmt.Errorf("%s is not the one that you have looked at: its digest is %s. Nothing was decided", name, seen.GetDigest())
		}
		if a.asks() && !o.sure(a.Decision) {
			client.Say(o.Out, "Nothing was decided.\n")
			return nil
		}
		now, err := agent.DecideApproval(ctx, &agentv1.DecideApprovalRequest{
			Name: name, Decision: a.Decision, Digest: seen.GetDigest(), ContentDigest: seen.contentDigest, Reason: a.Reason,
			Scope: scope, Path: cmp.Or(a.Path, seen.offered(scope)), Arguments: a.Arguments, AcknowledgeUnshown: a.Unshown,
		})
		if err != nil {
			return err
		}
		o.outcome(name, a, now)
		return nil
	})
}

// offered is the path that goes with a scope, where exactly one is offered: with several it is for a person to say which.
func (s shown) offered(scope agentv1.DecisionScope) string {
	var paths []string
	for _, o := range s.GetOffers() {
		if o.GetScope() == scope {
			paths = append(paths, o.GetPath())
		}
	}
	if len(paths) != 1 {
		return ""
	}
	return paths[0]
}

// asks says that a person is asked first. A denial harms nothing, and an edit approves nothing.
func (a Answer) asks() bool {
	safe := a.Decision == agentv1.Decision_DECISION_DENY || a.Decision == agentv1.Decision_DECISION_EDIT
	return !safe && !a.Yes && a.Digest == ""
}

// sure asks y or N: anything but y is no.
func (o Options) sure(d agentv1.Decision) bool {
	client.Say(o.Out, "\n%s? [y/N] ", client.Word(d, "DECISION_"))
	line, err := bufio.NewReader(io.LimitReader(o.In, 100)).ReadString('\n')
	if err != nil && line == "" {
		client.Say(o.Out, "\n")
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

func (o Options) outcome(name string, a Answer, now *agentv1.Approval) {
	if a.Decision == agentv1.Decision_DECISION_EDIT {
		client.Say(o.Out, "\n%s is closed, and approves nothing; this one is to be decided:\n\n%slook and decide: %s\n", name, told(now), client.Decide(o.Addr, o.Token, o.By, now))
		return
	}
	text := client.Word(now.GetState(), "APPROVAL_STATE_")
	if r := now.GetDecision().GetStandingRule(); r != "" {
		text += ", and for the rest of the session by the rule " + r
	}
	client.Say(o.Out, "\n%s is %s.\n", name, text)
}

// Edit changes the arguments of a call that waits: file holds them, `-` is In.
func Edit(ctx context.Context, o Options, arguments io.Reader, reason string) error {
	text, err := client.ReadText(arguments, maxArguments, "--arguments")
	if err != nil {
		return err
	}
	if text == "" {
		return errors.New("--arguments is empty; it must be a JSON object")
	}
	return Decide(ctx, o, Answer{Decision: agentv1.Decision_DECISION_EDIT, Arguments: text, Reason: reason})
}

// Outcomes are the answers to a call of which nobody can tell whether it happened.
var outcomes = map[string]agentv1.Decision{"happened": agentv1.Decision_DECISION_HAPPENED, "not-happened": agentv1.Decision_DECISION_NOT_HAPPENED}

// Outcome tells whether a call has happened: happened or not-happened.
func Outcome(ctx context.Context, o Options, word string, a Answer) error {
	d, known := outcomes[word]
	if !known {
		return fmt.Errorf("%q is no outcome; it must be happened or not-happened", word)
	}
	a.Decision = d
	return Decide(ctx, o, a)
}
