package transport

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
)

// maxSeen bounds the approvals that a message names: no more wait at once.
const maxSeen = 100

var modes = map[agentv1.MessageMode]session.OnPending{
	agentv1.MessageMode_MESSAGE_MODE_UNSPECIFIED: session.Queue, agentv1.MessageMode_MESSAGE_MODE_QUEUE: session.Queue,
	agentv1.MessageMode_MESSAGE_MODE_INTERRUPT: session.Interrupt, agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE: session.Supersede,
	agentv1.MessageMode_MESSAGE_MODE_SIDE: "",
}

// SendMessage sends a message and follows what comes of it.
func (s *Server) SendMessage(q *agentv1.SendMessageRequest, stream grpc.ServerStreamingServer[agentv1.SessionEvent]) error {
	ctx := stream.Context()
	f := &apierr.Fields{}
	f.Required(q)
	mode, known := modes[q.GetMode()]
	if !known {
		f.Add("mode", "must be one of QUEUE, SIDE, INTERRUPT and SUPERSEDE, is %d", q.GetMode())
	}
	m := sessionservice.Message{Text: q.GetText(), Mode: mode, Turn: q.GetTurn(), Question: q.GetQuestion(), RequestID: text(requestID(f, q.GetRequestId()))}
	checkMode(f, q)
	if len(q.GetApprovals()) > maxSeen {
		f.Add("approvals", "has %d items; the limit is %d", len(q.GetApprovals()), maxSeen)
	} else {
		for i, name := range q.GetApprovals() {
			m.Approvals = append(m.Approvals, text(id(f, fmt.Sprintf("approvals[%d]", i), wire.Approvals, name)))
		}
	}
	session, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return err
	}
	if err := mayStop(ctx, q.GetMode()); err != nil {
		return err
	}
	if q.GetMode() == agentv1.MessageMode_MESSAGE_MODE_SIDE {
		return s.aside(stream, session, m)
	}
	t, w, err := s.sessions.Send(ctx, who(ctx), session, m)
	if err != nil {
		return fault(err)
	}
	defer w.Close()
	if err := stream.Send(accepted(t)); err != nil {
		return err
	}
	return s.tell(stream, session, w)
}

// checkMode finds what the mode of a message would leave without effect.
func checkMode(f *apierr.Fields, q *agentv1.SendMessageRequest) {
	interrupts := q.GetMode() == agentv1.MessageMode_MESSAGE_MODE_INTERRUPT
	if q.GetTurn() != "" && !interrupts {
		f.Add("turn", "only with mode INTERRUPT: a message of another mode stops no turn")
	}
	if len(q.GetApprovals()) > 0 && !interrupts && q.GetMode() != agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE {
		f.Add("approvals", "only with mode SUPERSEDE or INTERRUPT: a message of another mode closes no approval")
	}
	if q.GetQuestion() != "" && q.GetMode() == agentv1.MessageMode_MESSAGE_MODE_SIDE {
		f.Add("question", "must be empty: a message that is answered aside answers no question")
	}
}

// mayStop refuses a session's own token what ends work or closes approvals: it would take from a person what they are about to decide.
func mayStop(ctx context.Context, mode agentv1.MessageMode) error {
	own := auth.From(ctx).Session
	if own == "" || mode != agentv1.MessageMode_MESSAGE_MODE_INTERRUPT && mode != agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE {
		return nil
	}
	return apierr.New(codes.PermissionDenied, apierr.ReasonPermissionDenied,
		"this token is bound to the session itself: what it sends is queued, or answered with SIDE, and stops nothing", "session", own)
}

func accepted(t sessionservice.Taken) *agentv1.SessionEvent {
	return &agentv1.SessionEvent{Seq: t.Seq, Time: stamp(t.Session.Updated), Event: &agentv1.SessionEvent_Accepted{Accepted: &agentv1.MessageAccepted{
		Message: t.Message, Position: int32(t.Position), Decided: resource(wire.Approvals, t.Decided), Replayed: t.Replayed, NotDecided: t.Why,
	}}}
}

// aside answers a message beside the work of the session.
func (s *Server) aside(stream grpc.ServerStreamingServer[agentv1.SessionEvent], session string, m sessionservice.Message) error {
	ctx := stream.Context()
	a, said, err := s.sessions.Aside(ctx, who(ctx), session, m)
	if err != nil {
		return fault(err)
	}
	return stream.Send(&agentv1.SessionEvent{Event: &agentv1.SessionEvent_Aside{Aside: &agentv1.Aside{Message: a.Message, Reply: a.Reply, Cut: said.Cut}}})
}

// CancelTurn stops the task of a session.
func (s *Server) CancelTurn(ctx context.Context, q *agentv1.CancelTurnRequest) (*agentv1.Session, error) {
	f := &apierr.Fields{}
	f.Required(q)
	if _, known := agentv1.CancelMode_name[int32(q.GetMode())]; !known {
		f.Add("mode", "must be GRACEFUL or HARD, is %d", q.GetMode())
	}
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	return answer(s.sessions.Cancel(ctx, who(ctx), id, q.GetTurn(), q.GetMode() == agentv1.CancelMode_CANCEL_MODE_HARD))
}

// SubmitToolResult answers a call of a client tool.
func (s *Server) SubmitToolResult(ctx context.Context, q *agentv1.SubmitToolResultRequest) (*agentv1.SubmitToolResultResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	replayed, err := s.sessions.Submit(ctx, who(ctx), id, q.GetCall(), clienttool.Result{Text: q.GetOutput(), Failed: q.GetFailed()})
	if err != nil {
		return nil, fault(err)
	}
	return &agentv1.SubmitToolResultResponse{Replayed: replayed}, nil
}
