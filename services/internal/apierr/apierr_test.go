package apierr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

func TestEveryServiceNamesTheSharedReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{ReasonUnauthenticated, ReasonPermissionDenied, ReasonLimitExceeded} { // package auth answers so for the gateway, too
		if _, ok := commonv1.GatewayErrorReason_value["GATEWAY_ERROR_REASON_"+reason]; !ok {
			t.Errorf("gateway: the contract does not name %s", reason)
		}
	}
	for service, values := range map[string]map[string]int32{
		"promptbuilder": promptbuilderv1.ErrorReason_value, "agent": agentv1.ErrorReason_value, "flowstore": flowstorev1.ErrorReason_value,
	} {
		for _, reason := range []string{
			ReasonInvalidField, ReasonLimitExceeded, ReasonInternal, ReasonDraining, ReasonCancelled, ReasonDeadlineExceeded,
			ReasonNamespaceDenied, ReasonUnknownMethod, ReasonUnauthenticated, ReasonPermissionDenied,
		} {
			if _, ok := values["ERROR_REASON_"+reason]; !ok {
				t.Errorf("%s: the contract does not name %s", service, reason)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	own := New(codes.NotFound, "NODE_NOT_FOUND", "no such node", "node", "nodes/x")
	for name, tt := range map[string]struct {
		err    error
		code   codes.Code
		reason string
	}{
		"own":                 {own, codes.NotFound, "NODE_NOT_FOUND"},
		"own, wrapped":        {fmt.Errorf("while reading: %w", own), codes.NotFound, "NODE_NOT_FOUND"},
		"caller left":         {fmt.Errorf("recv: %w", context.Canceled), codes.Canceled, ReasonCancelled},
		"too slow":            {context.DeadlineExceeded, codes.DeadlineExceeded, ReasonDeadlineExceeded},
		"untyped":             {&fs.PathError{Op: "open", Path: "/etc/secret", Err: fs.ErrPermission}, codes.Internal, ReasonInternal},
		"status of a service": {status.Error(codes.InvalidArgument, "secret"), codes.Internal, ReasonInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := FromStatus(Status(tt.err, "r-1").Err())
			if !ok || got.Code != tt.code || got.Reason != tt.reason {
				t.Errorf("got %+v, ok %v; want %v %s", got, ok, tt.code, tt.reason)
			}
			if strings.Contains(got.Message, "secret") {
				t.Errorf("the message tells what is inside: %s", got.Message)
			}
			if tt.code == codes.Internal && got.Metadata["request_id"] != "r-1" {
				t.Errorf("no request id in %v", got.Metadata)
			}
		})
	}
	if Status(nil, "") != nil {
		t.Error("no error became one")
	}
}

func TestThereAndBack(t *testing.T) {
	t.Parallel()
	want := &Error{
		Code: codes.FailedPrecondition, Reason: "CYCLE", Message: "輪になります", Metadata: map[string]string{"path": "a,b"},
		Violations:    []Violation{{"parents[0]", "is below", ""}, {"parents[1]", "does not exist", "NODE_NOT_FOUND"}},
		Preconditions: []Precondition{{"CYCLE", "flows/x", "the edge would close a cycle"}},
		RetryAfter:    2 * time.Second,
	}
	got, ok := FromStatus(want.GRPCStatus().Err())
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("ok %v, diff %s", ok, diff)
	}
	if _, ok := FromStatus(status.Error(codes.NotFound, "not ours")); ok {
		t.Error("a foreign status was taken for ours")
	}
	if _, ok := FromStatus(errors.New("no status")); ok {
		t.Error("an error without a status was taken for ours")
	}
}

// An answer must fit the headers that any client accepts, whatever a request made us say.
func TestAnswerFitsTrailers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("長い文", 1000)
	f := &Fields{}
	for i := range 5000 {
		f.Add(fmt.Sprintf("node.texts[%d].role", i), "must be one of user, assistant, system, tool")
	}
	var many *Error
	if !errors.As(f.Err(), &many) {
		t.Fatal("no error")
	}
	for name, e := range map[string]*Error{
		"long message":    New(codes.NotFound, "X", long),
		"long metadata":   New(codes.NotFound, "X", long, "path", long, "other", long),
		"many violations": many,
		"long violations": {Code: codes.InvalidArgument, Reason: "X", Message: long, Violations: []Violation{{long, long, ""}, {long, long, ""}}},
		"preconditions":   {Code: codes.FailedPrecondition, Reason: "X", Message: long, Preconditions: []Precondition{{long, long, long}, {long, long, long}, {"a", "b", "c"}}},
		"bad bytes":       New(codes.NotFound, "X", "\xff\xfe", "k", "\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e.GRPCStatus()
			wire, err := proto.Marshal(s.Proto())
			if err != nil {
				t.Fatal(err)
			}
			if size := len(wire)*4/3 + 3*len(s.Message()); size > 7<<10 {
				t.Errorf("%d bytes of trailers", size)
			}
			if !utf8.ValidString(s.Message()) {
				t.Error("the message is cut inside a character")
			}
			if got, ok := FromStatus(s.Err()); !ok || got.Reason != e.Reason {
				t.Errorf("the reason was lost: %+v", got)
			}
		})
	}
	var bad *errdetails.BadRequest
	for _, d := range many.GRPCStatus().Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			bad = b
		}
	}
	n := len(bad.GetFieldViolations())
	last := bad.FieldViolations[n-1]
	if want := fmt.Sprintf("is wrong too, and so are %d more for which this answer has no room", len(many.Violations)-n); n < 10 || last.Field != many.Violations[n-1].Field || last.Description != want {
		t.Errorf("%d violations, the last is %v, want %s", n, last, want)
	}
	if !strings.HasSuffix(many.Message, "(and 4999 more)") {
		t.Errorf("message %q", many.Message)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	f := &Fields{}
	if f.Err() != nil {
		t.Error("no wrong field is an error")
	}
	f.Required(&flowstorev1.AddNodeRequest{Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{}}})
	f.Add("children[3]", "must be a name such as nodes/{uuid}")
	var e *Error
	if !errors.As(f.Err(), &e) {
		t.Fatal("no error")
	}
	want := []Violation{
		{"children[3]", "must be a name such as nodes/{uuid}", ""},
		{"flow", "is required", ""},
		{"new_node.texts", "at least one is required", ""},
	}
	if diff := cmp.Diff(want, e.Violations); diff != "" {
		t.Error(diff)
	}
	if e.Code != codes.InvalidArgument || e.Reason != ReasonInvalidField || e.Message != "children[3]: must be a name such as nodes/{uuid} (and 2 more)" {
		t.Errorf("got %+v", e)
	}
}

// TestAlso: what other refusals say of a field is told whole, under their reasons, where the field is not noted yet, or is noted as missing and no more.
func TestAlso(t *testing.T) {
	t.Parallel()
	f := &Fields{}
	f.Required(&flowstorev1.AddNodeRequest{})
	f.Add("a", "is too long")
	first := New(codes.InvalidArgument, ReasonInvalidField, "").About("a", "is blank").About("goal", "must be one line").About("goal", "is too long").
		About("flow", "must be flows/{uuid}").About("flow", "is blank")
	f.Also(first, nil, errors.New("x"), New(codes.NotFound, "FLOW_NOT_FOUND", "").About("b", "is not there").About("flow", "is not there"))
	var e *Error
	if !errors.As(f.Err(), &e) {
		t.Fatal("no error")
	}
	want := []Violation{
		{"a", "is too long", ""}, {"b", "is not there", "FLOW_NOT_FOUND"}, {"flow", "must be flows/{uuid}", ""}, {"flow", "is blank", ""},
		{"goal", "must be one line", ""}, {"goal", "is too long", ""},
	}
	if diff := cmp.Diff(want, e.Violations); diff != "" || f.Len() != len(want) {
		t.Errorf("%d: %s", f.Len(), diff)
	}
}

func TestWithMetadataCopies(t *testing.T) {
	t.Parallel()
	a := New(codes.Internal, "X", "m", "k", "v")
	b := a.WithMetadata("node", "n")
	if len(a.Metadata) != 1 || b.Metadata["node"] != "n" || b.Metadata["k"] != "v" {
		t.Errorf("a %v, b %v", a.Metadata, b.Metadata)
	}
}

func ExampleFields() {
	f := &Fields{}
	f.Required(&flowstorev1.GetNodeRequest{})
	f.Add("page_size", "must be 0 or more, is %d", -1)
	fmt.Println(f.Err())
	// Output: name: is required (and 1 more)
}
