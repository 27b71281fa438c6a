// Package upstream is the gateway's side of a connection to a service: it adds to each call what REST says in headers,
// and looks at the first event of a stream before the answer begins.
package upstream

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// IdempotencyKey is the header, and the metadata key, whose value is taken as the request's `request_id`.
const IdempotencyKey = "idempotency-key"

// conn is a connection on which the calls are completed.
type conn struct{ grpc.ClientConnInterface }

// New wraps the connection to a service.
func New(to grpc.ClientConnInterface) grpc.ClientConnInterface { return conn{to} }

// Invoke makes a call with one answer.
func (c conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := setRequestID(ctx, args); err != nil {
		return err
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// NewStream makes a call with a stream of answers.
func (c conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	answer, err := outputOf(method)
	if err != nil {
		return nil, err
	}
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &stream{ClientStream: s, ctx: ctx, first: answer}, nil
}

// setRequestID takes the header Idempotency-Key for the `request_id` of a request that has one. A request without the
// field changes nothing when it is repeated, so the header says nothing new there.
func setRequestID(ctx context.Context, request any) error {
	md, _ := metadata.FromOutgoingContext(ctx)
	keys := md.Get(IdempotencyKey)
	message, ok := request.(proto.Message)
	if len(keys) == 0 || !ok {
		return nil
	}
	m := message.ProtoReflect()
	field := m.Descriptor().Fields().ByName("request_id")
	if field == nil || field.Kind() != protoreflect.StringKind {
		return nil
	}
	if id := m.Get(field).String(); id != "" && id != keys[0] {
		return differ(id, keys[0])
	}
	m.Set(field, protoreflect.ValueOfString(keys[0]))
	return nil
}

func differ(id, key string) error {
	e := apierr.New(codes.InvalidArgument, problem.InvalidField,
		fmt.Sprintf("requestId: the header Idempotency-Key says %q and the request %q; give one of them", key, id))
	e.Violations = []apierr.Violation{{Field: "requestId", Description: "differs from the header Idempotency-Key"}}
	return e
}
