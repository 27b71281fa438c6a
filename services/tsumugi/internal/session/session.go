// Package session is `tsumugi session`: sessions of the agent at a terminal, and what happens to them as lines that a person reads.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/jsoninput"
)

// Options are those of all commands.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// By are the flags by which it was shown, for the commands that are told; none: a variable holds it.
	By []string
	// Name is `sessions/{uuid}`, the UUID, or how the UUID ends.
	Name string
	In   io.Reader
	// Out gets what was asked for, Err what is told beside it.
	Out, Err io.Writer
}

// ask asks the agent about the session that Name means.
func (o Options) ask(ctx context.Context, ask func(agent agentv1.AgentServiceClient, name string) error) error {
	return client.AskSession(ctx, o.Addr, o.Token, o.Name, ask)
}

// New makes a session, and writes its name to Out, alone on a line; what does not fit together in it goes to Err.
func New(ctx context.Context, o Options, s *agentv1.Session) error {
	return client.AskAgent(o.Addr, o.Token, func(agent agentv1.AgentServiceClient) error {
		if s.GetContinueFrom() != "" {
			var err error
			if s.ContinueFrom, err = client.Session(ctx, agent, s.GetContinueFrom()); err != nil {
				return err
			}
		}
		made, err := agent.CreateSession(ctx, &agentv1.CreateSessionRequest{Session: s})
		if err != nil {
			return err
		}
		for _, w := range slices.Concat(made.GetWarnings(), made.GetNotices()) {
			client.Say(o.Err, "! %s\n", w)
		}
		_, err = fmt.Fprintln(o.Out, made.GetName())
		return err
	})
}

// List lists sessions, newest first: all, or those that wait for a person.
func List(ctx context.Context, o Options, waiting bool, most int) error {
	l := client.Listing{Addr: o.Addr, Token: o.Token, Flag: "sessions", Most: most, Head: "NAME\tSTEP\tSTATUS\tWAITS\tUPDATED\tGOAL", Out: o.Out, Err: o.Err}
	return l.Write(func(agent agentv1.AgentServiceClient, size int32, token string) (rows []string, next string, err error) {
		page, err := agent.ListSessions(ctx, &agentv1.ListSessionsRequest{Waiting: waiting, PageSize: size, PageToken: token})
		for _, s := range page.GetSessions() {
			rows = append(rows, row(s))
		}
		client.SayBroken(o.Err, page.GetBroken())
		return rows, page.GetNextPageToken(), err
	})
}

func row(s *agentv1.Session) string {
	waits := "-"
	switch n := len(s.GetWaitingOn()); {
	case n > 0:
		waits = fmt.Sprintf("approvals: %d", n)
	case s.GetQuestion() != nil:
		waits = "an answer"
	case len(s.GetOpenToolCalls()) > 0:
		waits = "a result"
	}
	return strings.Join([]string{
		s.GetName(), step(s.GetStep()), goes(s.GetStatus()), waits, day(s.GetUpdateTime()), client.Cut(client.OneLine(s.GetGoal()), 40),
	}, "\t")
}

func step(s agentv1.Step) string { return client.Word(s, "STEP_") }

func goes(s agentv1.SessionStatus) string { return client.Word(s, "SESSION_STATUS_") }

func day(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format("2006-01-02 15:04Z")
}

// Show tells a session.
func Show(ctx context.Context, o Options) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		s, err := agent.GetSession(ctx, &agentv1.GetSessionRequest{Name: name})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s", o.told(s))
		return o.waiting(ctx, agent, s)
	})
}

// Update changes what a person may change: the fields of the mask.
func Update(ctx context.Context, o Options, s *agentv1.Session, fields []string) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		s.Name = name
		changed, err := agent.UpdateSession(ctx, &agentv1.UpdateSessionRequest{Session: s, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s", o.told(changed))
		return nil
	})
}

// Delete takes away what a session says.
func Delete(ctx context.Context, o Options) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		gone, err := agent.DeleteSession(ctx, &agentv1.DeleteSessionRequest{Name: name})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s is deleted; its flow and its audit stay.\n", name)
		if n := gone.GetLostTurns(); n > 0 {
			client.Say(o.Err, "! turns that could not be put into its flow, and are gone: %d\n", n)
		}
		return nil
	})
}

// Cancel stops the task of a session, and tells what the messages said that waited: nothing comes of them; hard: what runs is ended at once.
func Cancel(ctx context.Context, o Options, hard bool) error {
	mode := agentv1.CancelMode_CANCEL_MODE_GRACEFUL
	if hard {
		mode = agentv1.CancelMode_CANCEL_MODE_HARD
	}
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		before, err := agent.GetSession(ctx, &agentv1.GetSessionRequest{Name: name})
		if err != nil {
			return err
		}
		s, err := agent.CancelTurn(ctx, &agentv1.CancelTurnRequest{Session: name, Turn: before.GetTurn().GetId(), Mode: mode})
		if err != nil {
			return err
		}
		client.Say(o.Out, "%s\n", where(s))
		return o.closed(ctx, agent, before, s.GetSeq())
	})
}

// closed tells the messages that were closed from a session as it was up to an event.
func (o Options) closed(ctx context.Context, agent agentv1.AgentServiceClient, before *agentv1.Session, last int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := agent.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: before.GetName(), FromSeq: &before.Seq})
	if err != nil {
		return err
	}
	for seq := before.GetSeq(); seq < last; {
		e, err := stream.Recv()
		if err != nil {
			return end(ctx, err)
		}
		if c := e.GetTurnChange(); c.GetReason() == "CLOSED" {
			client.Say(o.Out, "%s\n", turn(c))
		}
		seq = e.GetSeq()
	}
	return nil
}

// Revoke takes back a standing rule.
func Revoke(ctx context.Context, o Options, rule string) error {
	return o.ask(ctx, func(agent agentv1.AgentServiceClient, name string) error {
		if _, err := agent.RevokeRule(ctx, &agentv1.RevokeRuleRequest{Session: name, Rule: rule}); err != nil {
			return err
		}
		client.Say(o.Out, "The rule %s is taken back.\n", rule)
		return nil
	})
}

// ClientTools reads tools that the client carries out, one from each file: a JSON object with the fields of ClientTool, of which inputSchema
// may be the schema itself in place of its text. It is then kept as it stands in the file.
func ClientTools(files []string) (all []*agentv1.ClientTool, err error) {
	for _, file := range files {
		text, err := content(file)
		if err != nil {
			return nil, err
		}
		t, err := clientTool(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func clientTool(text string) (*agentv1.ClientTool, error) {
	members, err := jsoninput.Object(text, "a JSON object with name, description, inputSchema and timeoutSeconds")
	if err != nil {
		return nil, err
	}
	if schema, given := members["inputSchema"]; given && !bytes.HasPrefix(schema, []byte{'"'}) {
		if members["inputSchema"], err = json.Marshal(string(schema)); err != nil {
			return nil, err
		}
	}
	whole, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	t := &agentv1.ClientTool{}
	return t, jsoninput.Merge(whole, t)
}

// content is the text of a file.
func content(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	return client.ReadText(f, maxInput, file)
}
