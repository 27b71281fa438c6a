package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// maxInput is the most bytes that are read of a message or a result: more than any service takes.
const maxInput = 1 << 20

// Modes are the modes of a message by what the command calls them.
var modes = map[string]agentv1.MessageMode{
	"queue": agentv1.MessageMode_MESSAGE_MODE_QUEUE, "side": agentv1.MessageMode_MESSAGE_MODE_SIDE,
	"interrupt": agentv1.MessageMode_MESSAGE_MODE_INTERRUPT, "supersede": agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE,
}

// Message is a message to a session.
type Message struct {
	// Text is what it says; `-` alone: what the standard input has.
	Text string
	// Mode is queue, side, interrupt or supersede; empty: queue.
	Mode string
	// Question is the id of the one that it answers; empty: whichever is open.
	Question string
	// RequestID is a UUID by which the same message is taken once.
	RequestID string
}

// Send sends a message, and tells what happens until its turn ends or waits.
func Send(ctx context.Context, o Options, m Message) error {
	mode, known := modes[cmp.Or(m.Mode, "queue")]
	if !known {
		return fmt.Errorf("--mode is %q; it must be one of %s", m.Mode, strings.Join(slices.Sorted(maps.Keys(modes)), ", "))
	}
	if m.Text == "-" {
		var err error
		if m.Text, err = client.ReadText(o.In, maxInput, "the standard input"); err != nil {
			return err
		}
	}
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		req := &agentv1.SendMessageRequest{Session: name, Text: m.Text, Mode: mode, Question: m.Question, RequestId: m.RequestID}
		if mode == agentv1.MessageMode_MESSAGE_MODE_INTERRUPT || mode == agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE {
			s, err := agent.GetSession(ctx, &agentv1.GetSessionRequest{Name: name})
			if err != nil {
				return err
			}
			req.Approvals = s.GetWaitingOn()
			if mode == agentv1.MessageMode_MESSAGE_MODE_INTERRUPT {
				req.Turn = s.GetTurn().GetId()
			}
		}
		stream, err := agent.SendMessage(ctx, req)
		if err != nil {
			return err
		}
		return o.follow(ctx, agent, name, stream.Recv)
	})
}

// Watch tells what happens to a session until its task ends, or ctx: from now on, or behind an event.
func Watch(ctx context.Context, o Options, from *int64) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		stream, err := agent.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: name, FromSeq: from})
		if err != nil {
			return err
		}
		return o.follow(ctx, agent, name, stream.Recv)
	})
}

// follow tells events until there are no more.
func (o Options) follow(ctx context.Context, agent agentv1.AgentServiceClient, name string, next func() (*agentv1.SessionEvent, error)) error {
	seen, works := int64(-1), false
	for {
		e, err := next()
		if err != nil || ctx.Err() != nil {
			if ctx.Err() != nil || works || seen >= 0 && !errors.Is(err, io.EOF) {
				client.Say(o.Err, "come back with: %s\n", o.command("watch", client.ID(name), "--from", strconv.FormatInt(max(seen, 0), 10)))
			}
			return end(ctx, err)
		}
		seen = max(seen, e.GetSeq())
		works = e.GetSession().GetStatus() == agentv1.SessionStatus_SESSION_STATUS_IN_PROGRESS
		if err := o.tell(ctx, agent, name, e); err != nil {
			return end(ctx, err)
		}
	}
}

// end is what the end of a stream means: of one that ended by itself, or that the person has left by Ctrl-C, no error.
func end(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil //nolint:nilerr // there is nothing to tell of
	}
	return err
}

// tell tells an event, and behind the session as it is what it waits for.
func (o Options) tell(ctx context.Context, agent agentv1.AgentServiceClient, name string, e *agentv1.SessionEvent) error {
	if text := o.event(name, e); text != "" {
		client.Say(o.Out, "%6s  %s\n", number(e.GetSeq()), client.Indent(text, "        "))
	}
	if e.GetSession() == nil {
		return nil
	}
	p := &page{}
	p.question(o, e.GetSession())
	client.Say(o.Out, "%s", p.String())
	return o.waiting(ctx, agent, e.GetSession())
}

// number is that of an event; empty where it has none.
func number(seq int64) string {
	if seq == 0 {
		return ""
	}
	return strconv.FormatInt(seq, 10)
}
