package grpcserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// faults are what a handler can do wrong, and what the caller may know of it.
var faults = []struct {
	name   string
	fail   func() error
	code   codes.Code
	reason string
	log    string
}{
	{"own", func() error { return apierr.New(codes.NotFound, "NODE_NOT_FOUND", "no such node") }, codes.NotFound, "NODE_NOT_FOUND", ""},
	{"own, wrapped", func() error { return fmt.Errorf("secret: %w", apierr.New(codes.Aborted, "X", "told")) }, codes.Aborted, "X", "secret: told"},
	{"untyped", func() error { return errors.New("secret path") }, codes.Internal, "INTERNAL", "secret path"},
	{"status of another service", func() error { return status.Error(codes.InvalidArgument, "secret") }, codes.Internal, "INTERNAL", "secret"},
	{"panic", func() error { panic("secret value") }, codes.Internal, "INTERNAL", "panic: secret value"},
	{"panic with an error", func() error { panic(apierr.New(codes.NotFound, "X", "secret")) }, codes.Internal, "INTERNAL", "panic: secret"},
	{"nil pointer", func() error { var n *flowstorev1.Node; n.Name = "x"; return nil }, codes.Internal, "INTERNAL", "nil pointer"},
	{"deadline of its own", func() error { return context.DeadlineExceeded }, codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "context deadline exceeded"},
}

func TestErrorsOfCallsAndStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, &fake{
				create: func(context.Context, *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
					return nil, tt.fail()
				},
				watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
					for range 3 {
						if err := s.Send(text("さくら")); err != nil {
							return err
						}
					}
					return tt.fail()
				},
			}, nil)
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "r-7")
			var trailer metadata.MD
			_, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{}, grpc.Trailer(&trailer))
			check(t, err, tt.code, tt.reason)
			if got := trailer.Get("x-request-id"); len(got) != 1 || got[0] != "r-7" {
				t.Errorf("request id in the trailer: %v", got)
			}
			events, err := drainEvents(t, r)
			check(t, err, tt.code, tt.reason)
			if len(events) != 3 {
				t.Errorf("%d events arrived", len(events))
			}
			calls := r.logs.FilterMessage("call").All()
			if len(calls) != 2 || calls[0].ContextMap()["request_id"] != "r-7" {
				t.Fatalf("logged: %v", calls)
			}
			for _, c := range calls {
				text, _ := c.ContextMap()["error"].(string)
				if tt.log == "" && text != "" || !strings.Contains(text, tt.log) {
					t.Errorf("the log says %q of the cause", text)
				}
				if _, stack := c.ContextMap()["stack"]; stack != strings.HasPrefix(text, "panic") {
					t.Errorf("stack in the log: %v", stack)
				}
			}
		})
	}
}

// check compares an answer and finds what must not be told.
func check(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	e, ok := apierr.FromStatus(err)
	if !ok || e.Code != code || e.Reason != reason {
		t.Errorf("got %v, want %v %s", err, code, reason)
	}
	if all := status.Convert(err).Proto().String(); strings.Contains(all, "secret") || strings.Contains(all, ".go:") {
		t.Errorf("the caller is told too much: %s", all)
	}
	if e != nil && e.Reason == apierr.ReasonInternal && (len(e.Metadata) != 1 || e.Metadata["request_id"] == "") {
		t.Errorf("metadata %v, want the request id alone", e.Metadata)
	}
}

func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{}, nil)
	for _, method := range []string{"/tsumugi.flowstore.v1.FlowStoreService/Nonsense", "/no.such.Service/Nonsense"} {
		err := r.conn.Invoke(t.Context(), method, &flowstorev1.Node{}, &flowstorev1.Node{})
		check(t, err, codes.Unimplemented, apierr.ReasonUnknownMethod)
	}
	_, err := r.flows.GetNode(t.Context(), &flowstorev1.GetNodeRequest{}) // registered, but there is no code for it
	check(t, err, codes.Internal, apierr.ReasonInternal)
}

// grpc answers these itself, as bare statuses; they are logged all the same.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{}, func(o *grpcserver.Options) { o.Config.MaxMessageBytes = 64 * config.KiB })
	large := &flowstorev1.CreateNodeRequest{NodeId: strings.Repeat("x", 70<<10)}
	_, err := r.flows.CreateNode(t.Context(), large)
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "65536") {
		t.Errorf("too large: %v", err)
	}
	broken := []byte{0xff, 0xff}
	err = r.conn.Invoke(t.Context(), flowstorev1.FlowStoreService_CreateNode_FullMethodName, broken, &flowstorev1.Node{}, grpc.ForceCodec(raw{}))
	if status.Code(err) != codes.Internal {
		t.Errorf("broken: %v", err)
	}
	s, err := r.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, agentv1.AgentService_WatchGeneration_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(large); err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(&agentv1.GenerateNodeEvent{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large for a stream: %v", err)
	}
	if err := r.server.Stop(t.Context()); err != nil { // grpc answers before the line is written
		t.Error(err)
	}
	var logged []string
	for _, c := range r.logs.FilterMessage("call").All() {
		logged = append(logged, fmt.Sprint(c.ContextMap()["code"], " ", c.ContextMap()["reason"]))
	}
	slices.Sort(logged)
	want := []string{"Internal INVALID_FIELD", "ResourceExhausted LIMIT_EXCEEDED", "ResourceExhausted LIMIT_EXCEEDED"}
	if !slices.Equal(logged, want) {
		t.Errorf("logged %q", logged)
	}
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (raw) Unmarshal([]byte, any) error   { return nil }
func (raw) Name() string                  { return "proto" }

func TestOutputOnlyIsCleared(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{create: func(_ context.Context, q *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		return q.Node, nil
	}}, nil)
	got, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Model: "m", CreateTime: timestamppb.Now()}})
	if err != nil || got.CreateTime != nil || got.Model != "m" {
		t.Errorf("got %v, %v", got, err)
	}
}
