package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// maxQueued is how many messages a writer lets wait, pause how long it waits then.
const (
	maxQueued = 3
	pause     = 10 * time.Millisecond
)

// refused says that an error is a no of a server that works, which changes nothing: somebody else was faster.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.Aborted, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

// gone says that nobody knows what became of a request.
func gone(err error) bool { return status.Code(err) == codes.Unavailable }

// write sends messages to a session until stop is closed, the server is gone, or the model has no answers left.
func (t *trial) write(ctx context.Context, s *server, one *session, stop <-chan struct{}) error {
	for one.next < len(one.orders) {
		select {
		case <-stop:
			return nil
		default:
		}
		now, err := s.client.GetSession(ctx, &agentv1.GetSessionRequest{Name: one.name})
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		m := one.message(now)
		if m == nil {
			time.Sleep(pause)
			continue
		}
		if !m.aside() {
			one.next++
		}
		if on, err := t.send(ctx, s, m, one.random.IntN(2) == 0); err != nil || !on {
			return err
		}
	}
	return nil
}

// message draws the next message to a session as it is now; nil: none now.
func (s *session) message(now *agentv1.Session) *message {
	q := &agentv1.SendMessageRequest{Session: s.name, RequestId: requestID(), Text: "order " + s.orders[s.next].id + ";"}
	waits := now.GetTurn() != nil || len(now.GetWaitingOn()) > 0
	switch draw := s.random.IntN(120); { // It is drawn each time that the writer looks: mostly a session is left alone until it rests.
	case !waits, draw < 6 && now.GetQueued() < maxQueued:
		q.Mode = agentv1.MessageMode_MESSAGE_MODE_QUEUE
	case draw < 9:
		q.Mode, q.Text = agentv1.MessageMode_MESSAGE_MODE_SIDE, asideMark+" "+q.GetRequestId()
	case draw < 10:
		q.Mode, q.Turn, q.Approvals = agentv1.MessageMode_MESSAGE_MODE_INTERRUPT, now.GetTurn().GetId(), now.GetWaitingOn()
	case draw < 11 && len(now.GetWaitingOn()) > 0:
		q.Mode, q.Approvals = agentv1.MessageMode_MESSAGE_MODE_SUPERSEDE, now.GetWaitingOn()
	default:
		return nil
	}
	return &message{session: s, request: q}
}

// send sends a message and notes what became of it. It gives false when the server is gone. A writer that follows hears what comes of the
// message, until the session rests.
func (t *trial) send(ctx context.Context, s *server, m *message, follows bool) (on bool, err error) {
	id, _, err := s.ask(ctx, m, follows)
	switch {
	case refused(err):
		return true, nil
	case gone(err):
		t.ledger.took(m)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("SendMessage %v: %w", m.request, err)
	}
	m.id = id
	t.ledger.took(m)
	return true, nil
}

// ask sends a message, and gives the id under which it is stored.
func (s *server) ask(ctx context.Context, m *message, follows bool) (id string, replayed bool, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := s.client.SendMessage(ctx, m.request)
	if err != nil {
		return "", false, err
	}
	first, err := stream.Recv()
	if err != nil {
		return "", false, err
	}
	if m.aside() {
		return first.GetAside().GetMessage(), false, nil
	}
	for follows && err == nil {
		_, err = stream.Recv()
	}
	if err != nil && !errors.Is(err, io.EOF) && !gone(err) { // It is stored, whatever becomes of the stream.
		return "", false, err
	}
	return first.GetAccepted().GetMessage(), first.GetAccepted().GetReplayed(), nil
}
