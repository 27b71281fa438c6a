package interceptor

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// stream shows each message to the stages that asked for it.
type stream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
}

// Context is that of the innermost stage.
func (s *stream) Context() context.Context { return s.ctx }

// RecvMsg reads the next message of the caller.
func (s *stream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err != nil {
		return Unreadable(err)
	}
	if err := s.call.holds(); err != nil {
		return err
	}
	if s.call.active != nil {
		s.call.active()
	}
	if s.call.received != nil {
		s.call.received(m)
	}
	return nil
}

// SendMsg sends a message to the caller, unless its token was revoked meanwhile: a stream may last for hours.
func (s *stream) SendMsg(m any) error {
	if err := s.call.holds(); err != nil {
		return err
	}
	err := s.ServerStream.SendMsg(m)
	if err == nil && s.call.active != nil {
		s.call.active()
	}
	return err
}

// Unreadable gives the error for a message of the caller that grpc could not read. grpc has answered with its code and
// a bare status by then; with this error the log and the metrics say the same. io.EOF stays as it is.
func Unreadable(err error) error {
	s := status.Convert(err)
	switch {
	case errors.Is(err, io.EOF):
		return err
	case s.Code() == codes.ResourceExhausted:
		return apierr.New(s.Code(), apierr.ReasonLimitExceeded, s.Message())
	case s.Code() == codes.Internal:
		return apierr.New(s.Code(), apierr.ReasonInvalidField, s.Message())
	}
	return err
}

// Unknown answers for a method that the server does not have, as the handler of grpc.UnknownServiceHandler.
func Unknown(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.Method(ss.Context())
	return apierr.New(codes.Unimplemented, apierr.ReasonUnknownMethod, "this server has no method "+method, "method", method)
}
