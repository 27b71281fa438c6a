package transport

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/watch"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// WatchSession tells what happens to a session.
func (s *Server) WatchSession(q *agentv1.WatchSessionRequest, stream grpc.ServerStreamingServer[agentv1.SessionEvent]) error {
	f := &apierr.Fields{}
	f.Required(q)
	if q.GetFromSeq() < 0 {
		f.Add("from_seq", "is %d; it must be the seq of an event, from 0 on", q.GetFromSeq())
	}
	id, err := sessionID(stream.Context(), f, "name", q.GetName())
	if err != nil {
		return err
	}
	w, err := s.sessions.Watch(stream.Context(), who(stream.Context()), id, q.FromSeq)
	if err != nil {
		return fault(err)
	}
	defer w.Close()
	return s.tell(stream, id, w)
}

// tell sends events until there are no more. When the server begins to stop, the stream ends: whoever comes again misses nothing.
func (s *Server) tell(stream grpc.ServerStreamingServer[agentv1.SessionEvent], id string, w *watch.Stream) error {
	ctx, stop := context.WithCancelCause(stream.Context())
	defer stop(nil)
	defer drainWith(stream.Context(), func() { stop(store.ErrClosed) })()
	for {
		e, err := s.next(ctx, w)
		if errors.Is(context.Cause(ctx), store.ErrClosed) {
			return fault(store.ErrClosed)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, store.ErrNotFound) {
			err = &sessionservice.NotFoundError{What: "session", ID: id} // It was deleted.
		}
		if err != nil {
			return fault(err)
		}
		message, err := s.sessionEvent(ctx, id, e)
		if err != nil {
			return fault(err)
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

// next gives what is to be sent next, at the latest after a heartbeat: an event without anything.
func (s *Server) next(ctx context.Context, w *watch.Stream) (watch.Event, error) {
	soon, cancel := context.WithTimeout(ctx, s.heartbeat)
	defer cancel()
	e, err := w.Next(soon)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return watch.Event{Seq: w.Seq()}, nil
	}
	return e, err
}

// sessionEvent is an event as callers see it.
func (s *Server) sessionEvent(ctx context.Context, id string, e watch.Event) (*agentv1.SessionEvent, error) {
	out := &agentv1.SessionEvent{Seq: e.Seq, Time: stamp(e.Time)}
	switch of := e.Of.(type) {
	case watch.Snapshot:
		v, err := s.sessions.View(ctx, who(ctx).Namespace, of.Session)
		if err != nil {
			return nil, err
		}
		out.Event = &agentv1.SessionEvent_Session{Session: fromSession(v)}
	case watch.ApprovalChange:
		a, ok := of.Approval.For(who(ctx))
		if !ok {
			told(out, watch.Record{Row: of.Row})
			break
		}
		out.Event = &agentv1.SessionEvent_Approval{Approval: &agentv1.ApprovalChange{Approval: s.fromApproval(ctx, a), Change: of.Change}}
	case nil:
		out.Event = &agentv1.SessionEvent_Heartbeat{Heartbeat: &agentv1.SessionHeartbeat{}}
	default:
		told(out, of)
	}
	if c := out.GetToolCall(); c.GetState() == watch.Begun {
		return out, s.open(ctx, id, c)
	}
	return out, nil
}

// open adds what the client is to do, where a call that has begun is its own and waits for its result still.
func (s *Server) open(ctx context.Context, id string, c *agentv1.ToolCallChange) error {
	v, err := s.sessions.Get(ctx, who(ctx), id)
	var gone *sessionservice.NotFoundError
	if errors.As(err, &gone) { // It was deleted, and what it did is told all the same.
		return nil
	}
	for _, one := range v.Open {
		if one.Call == c.GetCall() {
			c.Open = fromOpen(one)
		}
	}
	return err
}

// told fills in what needs nothing beside the event.
func told(out *agentv1.SessionEvent, of any) {
	switch of := of.(type) {
	case watch.StateChange:
		out.Event = &agentv1.SessionEvent_StateChange{StateChange: &agentv1.StateChange{
			What: string(of.Of), From: of.From, To: of.To, Trigger: string(of.Trigger),
		}}
	case watch.TurnChange:
		c := &agentv1.TurnChange{Turn: of.Turn, State: turnStates[of.Running], Reason: of.Reason, Message: of.Message, Text: of.Text, Detail: of.Detail}
		if of.Stopped {
			c.State = agentv1.TurnState_TURN_STATE_STOPPED
		}
		out.Event = &agentv1.SessionEvent_TurnChange{TurnChange: c}
	case watch.Answer:
		out.Event = &agentv1.SessionEvent_Answer{Answer: &agentv1.Answer{
			Reply: of.Reply, Rationale: of.Rationale, Question: of.Question, Step: string(of.Step), NextStep: string(of.NextStep),
		}}
	case watch.CallChange:
		out.Event = &agentv1.SessionEvent_ToolCall{ToolCall: &agentv1.ToolCallChange{
			Call: of.Call, Tool: of.Tool, State: of.State, Reason: of.Reason, Result: of.Result,
		}}
	case watch.Refused:
		out.Event = &agentv1.SessionEvent_Refused{Refused: &agentv1.Refused{Reason: of.Reason, Message: of.Why, AllowedSteps: steps(of.Allowed)}}
	case watch.Warning:
		out.Event = &agentv1.SessionEvent_Warning{Warning: &agentv1.Warning{Code: of.Code, Message: of.Text}}
	case watch.Aside:
		out.Event = &agentv1.SessionEvent_Aside{Aside: &agentv1.Aside{Message: of.Message, Reply: of.Reply}}
	case watch.Record:
		out.Event = &agentv1.SessionEvent_Record{Record: wire.FromRow(of.Row)}
	}
}

func steps(all []session.Step) (out []agentv1.Step) {
	for _, s := range all {
		out = append(out, value[agentv1.Step](agentv1.Step_value, "STEP_", string(s)))
	}
	return out
}
