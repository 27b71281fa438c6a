package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// stream has its first event read before the HTTP answer begins: a call that fails at once is then answered with the
// HTTP status of its error, and the headers of one that works leave together with its first event.
type stream struct {
	grpc.ClientStream
	ctx   context.Context
	first proto.Message // where Header puts the first event; nil when that was handed out
	end   error         // io.EOF: the stream ended before its first event
}

// SendMsg sends the request.
func (s *stream) SendMsg(m any) error {
	if err := setRequestID(s.ctx, m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// Header waits for the first event and returns the header metadata, or the error that came instead.
func (s *stream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		return nil, err
	}
	if err := s.ClientStream.RecvMsg(s.first); errors.Is(err, io.EOF) {
		s.end = err
	} else if err != nil {
		return nil, err
	}
	return md, nil
}

// RecvMsg gives the next event, first the one that Header has read.
func (s *stream) RecvMsg(m any) error {
	if s.end != nil {
		return s.end
	}
	if s.first == nil {
		return s.ClientStream.RecvMsg(m)
	}
	proto.Merge(m.(proto.Message), s.first)
	s.first = nil
	return nil
}

// outputOf makes an empty answer of a method such as `/tsumugi.agent.v1.AgentService/GenerateNode`.
func outputOf(method string) (proto.Message, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("the call %s is in no proto of ours: %w", method, err)
	}
	rpc, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no call", method)
	}
	answer, err := protoregistry.GlobalTypes.FindMessageByName(rpc.Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", method, err)
	}
	return answer.New().Interface(), nil
}
