package grpcclient

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetriesAreNotInTheMessage(t *testing.T) {
	t.Parallel()
	own := apierr.New(codes.Unavailable, "BACKEND_LOADING", "the model is loading", "backend", "b")
	wrapped := own.GRPCStatus().Proto()
	wrapped.Message = "max retries exhausted: failed after 4 attempts: rpc error: code = Unavailable desc = the model is loading"
	got, ok := apierr.FromStatus(unwrapped(status.FromProto(wrapped).Err()))
	if !ok || got.Message != own.Message || got.Reason != own.Reason {
		t.Errorf("got %+v, %v; want %+v", got, ok, own)
	}
	if err := unwrapped(own); !errors.Is(err, own) {
		t.Errorf("an answer without a report became %v", err)
	}
	if err := unwrapped(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// Every call that changes nothing is repeated, and no other. A new Get, List, Diff or Search belongs into the list.
func TestIdempotentMethods(t *testing.T) {
	t.Parallel()
	var want []string
	for _, file := range []protoreflect.FileDescriptor{agentv1.File_tsumugi_agent_v1_agent_proto, flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto, promptbuilderv1.File_tsumugi_promptbuilder_v1_promptbuilder_proto} {
		methods := file.Services().Get(0).Methods()
		for i := range methods.Len() {
			if m := methods.Get(i); repeatable(m) {
				want = append(want, string(m.FullName()))
			}
		}
	}
	var config struct {
		MethodConfig []struct {
			Name []struct{ Service, Method string }
		}
	}
	if err := json.Unmarshal([]byte(serviceConfig(true)), &config); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range config.MethodConfig[0].Name {
		got = append(got, n.Service+"."+n.Method)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("retried %q\nwant    %q", got, want)
	}
}

func repeatable(m protoreflect.MethodDescriptor) bool {
	name := string(m.Name())
	reads := strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Diff") || strings.HasPrefix(name, "Search") ||
		slices.Contains([]string{"ValidateFlow", "BuildStory", "BuildSystem", "BuildAgent", "BuildContext", "BuildNodeContext", "BuildNodeDetail", "RenderTemplate", "ParseIdea", "CountTokens", "ExplainPolicy", "VerifyAudit"}, name)
	return reads && !m.IsStreamingServer()
}

// failing answers UNAVAILABLE a few times.
type failing struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	calls atomic.Int32
	once  bool // it forbids to repeat
}

func (f *failing) answer() (*flowstorev1.Node, error) {
	if f.calls.Add(1) < 3 {
		e := apierr.New(codes.Unavailable, "X", "not now")
		e.Once = f.once
		return nil, e
	}
	return &flowstorev1.Node{}, nil
}

func (f *failing) GetNode(context.Context, *flowstorev1.GetNodeRequest) (*flowstorev1.Node, error) {
	return f.answer()
}

func (f *failing) CreateNode(context.Context, *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	return f.answer()
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call  func(context.Context, flowstorev1.FlowStoreServiceClient) error
		calls int32
		code  codes.Code
		once  bool
	}{
		"a read is repeated": {func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{})
			return err
		}, 3, codes.OK, false},
		"not where the service forbids it": {func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{})
			return err
		}, 1, codes.Unavailable, true},
		"a create is not": {func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
			_, err := c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{})
			return err
		}, 1, codes.Unavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failing{once: tt.once}
			conn := connect(t, f)
			err := tt.call(t.Context(), flowstorev1.NewFlowStoreServiceClient(conn))
			if status.Code(err) != tt.code || f.calls.Load() != tt.calls {
				t.Errorf("%d calls, %v", f.calls.Load(), err)
			}
		})
	}
}

func connect(t *testing.T, f *failing) *grpc.ClientConn {
	t.Helper()
	server := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig()})
	flowstorev1.RegisterFlowStoreServiceServer(server.Registrar(), f)
	l := bufconn.Listen(1 << 16)
	go server.Serve(l) //nolint:errcheck // ends with the test
	conn, err := Dial("test", Options{Dialer: l.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// TestToTheLast: a server that is about to stop says NOT_SERVING. Calls go to another one then, if there is one; whoever
// has to leave something with this very server still reaches it.
func TestToTheLast(t *testing.T) {
	t.Parallel()
	server := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig()})
	well := &failing{}
	well.calls.Store(2)
	flowstorev1.RegisterFlowStoreServiceServer(server.Registrar(), well)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	server.Unready()
	for _, last := range []bool{false, true} {
		conn, err := Dial(l.Addr().String(), Options{ToTheLast: last})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = flowstorev1.NewFlowStoreServiceClient(conn).CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{})
		want := codes.Unavailable
		if last {
			want = codes.OK
		}
		if status.Code(err) != want {
			t.Errorf("to the last %v: %v, want %v", last, err, want)
		}
	}
}

func TestDialTargets(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"127.0.0.1:7450":      "dns:///127.0.0.1:7450",
		"flowstore:7450":      "dns:///flowstore:7450",
		"dns:///flowstore:1":  "dns:///flowstore:1",
		"unix:/run/flow.sock": "unix:/run/flow.sock",
	} {
		conn, err := Dial(target, Options{})
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if conn.Target() != want {
			t.Errorf("%s became %s", target, conn.Target())
		}
		conn.Close()
	}
	if _, err := Dial("bad://\x00", Options{}); err == nil {
		t.Error("an impossible address is accepted")
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	conn, err := Dial("127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = flowstorev1.NewFlowStoreServiceClient(conn).CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}

// What a person reads about a service that is away names its address, and nothing of grpc.
func TestReason(t *testing.T) {
	t.Parallel()
	conn, err := Dial("127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if check := Ready("flowstore", conn)(t.Context()); check.OK || check.Message != "does not answer: nothing listens there" {
		t.Errorf("%+v", check)
	}
	if got := Reason(status.Error(codes.Unavailable, "the process is stopping")); got != "the process is stopping" {
		t.Errorf("%q", got)
	}
}

// TestReasonsAreSentences for people who know nothing of grpc; what has none keeps the words of the system.
func TestReasonsAreSentences(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"connection active but health check failed. status=NOT_SERVING":                                                "it is starting or stopping, and takes no requests now",
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`: "nothing listens there",
		"error reading from server: EOF": "it closed the connection",
		`connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:7453: i/o timeout"`: "dial tcp 10.0.0.1:7453: i/o timeout",
	} {
		if got := Reason(status.Error(codes.Unavailable, message)); got != want {
			t.Errorf("%q is told as %q", message, got)
		}
	}
	if got := Reason(status.Error(codes.Internal, "the file says: connection refused")); got != "the file says: connection refused" {
		t.Errorf("what is no fault of a connection is told as %q", got)
	}
}
