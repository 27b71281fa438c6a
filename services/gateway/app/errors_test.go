package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
)

// What a service answers is passed on as it is, under the HTTP status of its code.
func TestErrorsOfServices(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]int{
		codes.Canceled: 499, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504, codes.NotFound: 404, codes.AlreadyExists: 409,
		codes.PermissionDenied: 403, codes.Unauthenticated: 401, codes.ResourceExhausted: 429, codes.FailedPrecondition: 400,
		codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500, codes.Unavailable: 503, codes.DataLoss: 500,
	} {
		e := apierr.New(code, "SOME_REASON", "図書館は閉まっている", "node", "nodes/x")
		e.Violations = []apierr.Violation{{Field: "node.texts[2].role", Description: "must be user"}}
		server, _ := start(t, &services{err: e})
		got := do(t, newRequest(t, "POST", server.URL+"/v1/nodes", "{}"))
		reason, p := got.reason(t)
		if got.status != want || reason != "SOME_REASON" || p.Code != int(code) || p.Message != e.Message || p.metadata("node") != "nodes/x" {
			t.Errorf("%v: %d %s", code, got.status, got.body)
		}
		if !strings.Contains(got.body, `"texts[2].role"`) {
			t.Errorf("%v: the violations are gone: %s", code, got.body)
		}
		authenticate := got.header.Get("WWW-Authenticate")
		if code == codes.Unauthenticated && authenticate != "Bearer" || code != codes.Unauthenticated && authenticate != "" {
			t.Errorf("%v: WWW-Authenticate: %s", code, authenticate)
		}
	}
}

// A service names its fields as in the proto; the caller wrote JSON, of which the body may be one field of the request.
func TestFieldsAreNamedAsInTheJSON(t *testing.T) {
	t.Parallel()
	nodes, add := "/v1/nodes", "/v1/flows/"+id+":addNode"
	for _, tt := range []struct{ path, field, want, said string }{
		{nodes, "node.texts[2].token_count", "texts[2].tokenCount", "texts[2].tokenCount: "},
		{nodes, "node_id", "nodeId", "nodeId: "},
		{nodes, "node", "", "the body: "},
		{nodes, "nonsense.of_ours", "nonsense.of_ours", "nonsense.of_ours: "},
		{nodes, "node.texts[2].role.deeper", "node.texts[2].role.deeper", "node.texts[2].role.deeper: "},
		{add, "new_node.texts[0].content", "newNode.texts[0].content", "newNode.texts[0].content: "},
		{add, "parents[1]", "parents[1]", "parents[1]: "},
		{add, "", "", "the body: "},
	} {
		e := apierr.New(codes.InvalidArgument, "INVALID_FIELD", tt.field+": is wrong").About(tt.field, "is wrong")
		server, _ := start(t, &services{err: e})
		_, p := do(t, newRequest(t, "POST", server.URL+tt.path, "{}")).reason(t)
		got := "none"
		for _, d := range p.Details {
			for _, v := range d.FieldViolations {
				got = v.Field
			}
		}
		if got != tt.want || p.Message != tt.said+"is wrong" {
			t.Errorf("%s: field %q, message %q; want %q", tt.field, got, p.Message, tt.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]string{0: "", time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		e := apierr.New(codes.ResourceExhausted, "LIMIT_EXCEEDED", "too much")
		e.RetryAfter = delay
		server, _ := start(t, &services{err: e})
		if got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "")); got.header.Get("Retry-After") != want {
			t.Errorf("%s: Retry-After: %q, want %q", delay, got.header.Get("Retry-After"), want)
		}
	}
}

// fails is a connection on which every call ends with an error.
type fails struct{ err error }

func (c fails) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return c.err }
func (c fails) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, c.err
}

// What gRPC itself reports gets the gateway's words, one ErrorInfo, and nothing of the inside.
func TestErrorsOfTransport(t *testing.T) {
	t.Parallel()
	foreign, err := status.New(codes.NotFound, "row 5 of /var/lib/x").WithDetails(&errdetails.ErrorInfo{Reason: "X", Domain: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		err    error
		status int
		reason string
	}{
		"no connection":       {status.Error(codes.Unavailable, "dial tcp 10.0.0.7:7451: secret"), 503, "SERVICE_UNAVAILABLE"},
		"too large":           {status.Error(codes.ResourceExhausted, "secret"), 429, "LIMIT_EXCEEDED"},
		"too slow":            {status.Error(codes.DeadlineExceeded, "secret"), 504, "DEADLINE_EXCEEDED"},
		"gone":                {status.Error(codes.Canceled, "secret"), 499, "CANCELLED"},
		"another server":      {status.Error(codes.Unimplemented, "secret"), 501, "UNKNOWN_METHOD"},
		"a status of nobody":  {status.Error(codes.NotFound, "secret"), 500, "INTERNAL"},
		"a status of another": {foreign.Err(), 500, "INTERNAL"},
		"an error of Go":      {errors.New("secret"), 500, "INTERNAL"},
	} {
		conn := fails{tt.err}
		server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.FlowStore, d.Agent = conn, conn })
		for _, path := range []string{"/v1/nodes/" + id, watch} {
			got := do(t, newRequest(t, "GET", server.URL+path, "", "X-Request-Id", "r-1"))
			reason, p := got.reason(t)
			if got.status != tt.status || reason != tt.reason || strings.Contains(got.body, "secret") || strings.Contains(got.body, "/var") {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
			if reason == "SERVICE_UNAVAILABLE" && (got.header.Get("Retry-After") != "1" || p.metadata("service") == "") {
				t.Errorf("%s: %v %s", name, got.header, got.body)
			}
			if reason == "INTERNAL" && p.metadata("request_id") != "r-1" {
				t.Errorf("%s: nobody finds this in the log: %s", name, got.body)
			}
		}
	}
}

// A service that is not there: one sentence that names it, and the gateway lives.
func TestServiceIsAway(t *testing.T) {
	t.Parallel()
	conn, err := grpcclient.Dial("127.0.0.1:1", grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.Agent = conn })
	got := do(t, newRequest(t, "POST", server.URL+generate, "{}"))
	reason, p := got.reason(t)
	if got.status != 503 || reason != "SERVICE_UNAVAILABLE" || p.metadata("service") != "agent" || strings.Contains(got.body, "127.0.0.1:1") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "")); got.status != 200 {
		t.Errorf("another service: %d %s", got.status, got.body)
	}
}

// Every reason of every service can be written as JSON: its details are known to this program (grpc-gateway#1842).
func TestEveryReason(t *testing.T) {
	t.Parallel()
	var reasons []string
	for _, values := range []map[int32]string{flowstorev1.ErrorReason_name, agentv1.ErrorReason_name, promptbuilderv1.ErrorReason_name} {
		for _, name := range values {
			reasons = append(reasons, strings.TrimPrefix(name, "ERROR_REASON_"))
		}
	}
	slices.Sort(reasons)
	for _, reason := range slices.Compact(reasons) {
		e := apierr.New(codes.FailedPrecondition, reason, "no", "path", "a, b")
		e.Violations = []apierr.Violation{{Field: "f", Description: "d"}}
		e.Preconditions = []apierr.Precondition{{Type: "t", Subject: "s", Description: "d"}}
		e.RetryAfter = time.Second
		server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.FlowStore = fails{e.GRPCStatus().Err()} })
		got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, ""))
		if have, p := got.reason(t); have != reason || got.status != 400 || len(p.Details) != 4 {
			t.Errorf("%s: %d %s", reason, got.status, got.body)
		}
	}
}

type panics struct{ fails }

func (panics) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	panic("secret")
}

func TestPanic(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.FlowStore, d.Log = panics{}, zap.New(core) })
	got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "", "X-Request-Id", "r-2"))
	if reason, p := got.reason(t); got.status != 500 || reason != "INTERNAL" || p.metadata("request_id") != "r-2" || strings.Contains(got.body, "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	lines := logs.FilterMessage("panic").All()
	if len(lines) != 1 || lines[0].ContextMap()["request_id"] != "r-2" || !strings.Contains(fmt.Sprint(lines[0].ContextMap()["stack"]), "panics.Invoke") {
		t.Errorf("the log says %v", lines)
	}
}

// breaks is a stream whose second event panics.
type breaks struct {
	fails
	grpc.ClientStream
	events int
}

func (b *breaks) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return b, nil
}
func (b *breaks) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (b *breaks) SendMsg(any) error            { return nil }
func (b *breaks) CloseSend() error             { return nil }
func (b *breaks) RecvMsg(m any) error {
	if b.events++; b.events > 1 {
		panic("secret")
	}
	proto.Merge(m.(proto.Message), opened)
	return nil
}

// A panic after the first event cannot become an answer: the connection breaks, so that nobody takes the rest for whole.
func TestPanicInStream(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.Agent = &breaks{} })
	resp := open(t, newRequest(t, "GET", server.URL+watch, ""))
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(body), "opened") || strings.Contains(string(body), "secret") {
		t.Errorf("%q, %v", body, err)
	}
}

// A detail that only a newer service knows is left out, and the rest of the error is told.
func TestUnknownDetail(t *testing.T) {
	t.Parallel()
	st := apierr.New(codes.NotFound, "NODE_NOT_FOUND", "there is no such node").GRPCStatus().Proto()
	st.Details = append(st.Details, &anypb.Any{TypeUrl: "type.googleapis.com/tsumugi.future.v9.Hint", Value: []byte{8, 1}})
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.FlowStore = fails{status.FromProto(st).Err()} })
	got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, ""))
	if reason, p := got.reason(t); got.status != 404 || reason != "NODE_NOT_FOUND" || len(p.Details) != 1 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A slow service is not waited for longer than the limit, or than the caller says, and never longer than the maximum.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		usual, most time.Duration
		header      string
	}{
		"the usual":         {time.Millisecond, time.Hour, ""},
		"what is asked for": {time.Hour, time.Hour, "2m"},
		"the maximum":       {time.Millisecond, 2 * time.Millisecond, "99999999H"},
		"none asked for":    {time.Millisecond, 2 * time.Millisecond, "0S"},
	} {
		s := &services{wait: make(chan struct{})}
		server, _ := start(t, s, func(c *app.Config, _ *app.Deps) { c.Timeout, c.MaxTimeout = tt.usual, tt.most })
		got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "", "Grpc-Timeout", tt.header))
		if reason, _ := got.reason(t); got.status != 504 || reason != "DEADLINE_EXCEEDED" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// Requests beyond the limit are refused at once; a stream holds its place until it ends.
func TestInFlight(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event, 1)}
	server, _ := start(t, s, func(c *app.Config, _ *app.Deps) { c.MaxInFlight = 1 })
	s.events <- opened
	resp := open(t, newRequest(t, "GET", server.URL+watch, ""))
	defer resp.Body.Close()
	got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, ""))
	if reason, p := got.reason(t); got.status != 429 || reason != "LIMIT_EXCEEDED" || p.metadata("limit") != "1" || got.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(s.events)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	if got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "")); got.status != 200 {
		t.Errorf("the place was not given back: %d %s", got.status, got.body)
	}
}

// A body that does not come is given up.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{}, func(c *app.Config, _ *app.Deps) { c.BodyTimeout = time.Millisecond })
	r := newRequest(t, "POST", server.URL+"/v1/nodes", "")
	body := newStuck(t)
	r.Body, r.ContentLength = body, 10
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%d", resp.StatusCode)
	}
}

// stuck is a body of which nothing comes until the test ends.
type stuck chan struct{}

func newStuck(t *testing.T) stuck {
	s := make(stuck)
	t.Cleanup(func() { close(s) })
	return s
}

func (s stuck) Read([]byte) (int, error) {
	<-s
	return 0, errors.New("the test is over")
}

func (s stuck) Close() error { return nil }

// Each reason of the gateway itself is in the contract, and is answered in one of these tests.
func TestReasonsOfTheGateway(t *testing.T) {
	t.Parallel()
	answered := []string{
		"UNSPECIFIED", "ROUTE_NOT_FOUND", "METHOD_NOT_ALLOWED", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "UNKNOWN_HOST",
		"INVALID_JSON", "INVALID_FIELD", "LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE", "UNKNOWN_METHOD", "CANCELLED",
		"DEADLINE_EXCEEDED", "INTERNAL", "DRAINING", "BODY_TIMEOUT", "UNAUTHENTICATED", "PERMISSION_DENIED",
		"CROSS_ORIGIN",
	}
	for _, name := range commonv1.GatewayErrorReason_name {
		if reason := strings.TrimPrefix(name, "GATEWAY_ERROR_REASON_"); !slices.Contains(answered, reason) {
			t.Errorf("no test makes the gateway answer %s", reason)
		}
	}
}
