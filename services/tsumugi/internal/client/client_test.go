package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	if got := client.Visible("夜\n\t\x1b[2J\a\r\u009b\x7f"); got != "夜\n\t␛[2J␇␍␦␦" {
		t.Errorf("%q", got)
	}
	const hidden = "\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u3164\ufeff\U000e0001\U000e0041\U000e007f"
	for _, r := range hidden {
		if got, want := client.Visible("a"+string(r)+"b"), fmt.Sprintf(`a\u{%04X}b`, r); got != want {
			t.Errorf("%q, want %s", got, want)
		}
	}
	for _, seen := range []string{"葛\U000e0100城の夜　「か\u3099」、ｶﾞ—…\u00a0", "👩\u200d🚀 ❤\ufe0f", "می\u200cخواهم", "\ue000", `\u{202E}`} {
		if got := client.Visible(seen); got != seen {
			t.Errorf("%q, want %q", got, seen)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"a": errors.New("a"),
		"nobody answers at here:1 (nothing listens there): start `tsumugi serve`, or name its gRPC address with --addr": status.Error(codes.Unavailable, "dial tcp: connect: connection refused"),
		"here:1 answered: b": status.Error(codes.Internal, "b"),
		"here:1 asks who you are: its time is over. A command takes a token from the variable TSUMUGI_TOKEN, or from a file: --token-file FILE": apierr.New(codes.Unauthenticated, apierr.ReasonUnauthenticated, "its time is over").GRPCStatus().Err(),
		"flows/x is full":         apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, "flows/x is full").GRPCStatus().Err(),
		"goal: must be one line":  apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, "session.goal: must be one line").About("session.goal", "must be one line").GRPCStatus().Err(),
		"session.policy is loose": apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, "session.policy is loose").About("session.policy", "is loose").GRPCStatus().Err(),
		"2 fields of the request are wrong:\n  goal: must be one line\n  request_id: is no UUID": apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, "x").
			About("session.goal", "must be one line").About("request_id", "is no UUID").GRPCStatus().Err(),
	} {
		if got := client.Plain(err, "here:1"); got == nil || got.Error() != want {
			t.Errorf("%v: %v, want %s", err, got, want)
		}
	}
	if err := client.Plain(nil, "here:1"); err != nil {
		t.Error(err)
	}
}

// pages answers ListFlows with flows of these names and ids 1, 2 and so on, one on a page, with an empty page between them;
// "" is one that cannot be read.
type pages struct {
	flowstorev1.FlowStoreServiceClient
	names []string
	asked *flowstorev1.ListFlowsRequest
}

func flowName(i int) string { return fmt.Sprintf("flows/0192f0c1-7d3a-7c52-9b1e-%012d", i+1) }

func (p *pages) ListFlows(_ context.Context, req *flowstorev1.ListFlowsRequest, _ ...grpc.CallOption) (*flowstorev1.ListFlowsResponse, error) {
	p.asked = req
	at := 0
	if req.GetPageToken() != "" {
		fmt.Sscan(req.GetPageToken(), &at) //nolint:errcheck // ours
	}
	answer := &flowstorev1.ListFlowsResponse{}
	if at+1 < 2*len(p.names) {
		answer.NextPageToken = fmt.Sprint(at + 1)
	}
	if i := at / 2; at%2 == 0 && i < len(p.names) {
		item := &flowstorev1.FlowItem{Flow: &flowstorev1.Flow{Name: flowName(i), DisplayName: p.names[i], UpdateTime: &timestamppb.Timestamp{Seconds: 1_777_000_000}}}
		if p.names[i] == "" {
			item.Problem = "torn"
		}
		answer.Flows = append(answer.Flows, item)
	}
	return answer, nil
}

func TestResolve(t *testing.T) {
	t.Parallel()
	const at = "  (2026-04-24 03:06 UTC)"
	for _, c := range []struct {
		text  string
		names []string
		want  string // the name, or the error
	}{
		{"夜話", []string{"夜話 二", "夜話", "夜話 三"}, flowName(1)},
		{"Novel", []string{"novel", "Novel"}, flowName(1)},
		{flowName(6), nil, flowName(6)},
		{strings.ToUpper(strings.TrimPrefix(flowName(6), "flows/")), nil, flowName(6)},
		{"夜話", []string{"夜話", "x", "夜話"}, "2 flows are called \"夜話\"; take one by its id:\n  " + flowName(0) + "  夜話" + at + "\n  " + flowName(2) + "  夜話" + at},
		{"夜話", []string{"夜話 二", ""}, "no flow is called \"夜話\"; there are:\n  " + flowName(0) + "  夜話 二" + at + "; flows that cannot be read, whose names nobody knows: 1"},
		{"夜話", nil, "no flow is called \"夜話\""},
		{"flows/x", nil, "\"flows/x\" is not a flow: it must be flows/ and a UUID, or the UUID, or what the flow is called"},
		{"", nil, "no flow is called \"\""},
	} {
		p := &pages{names: c.names}
		got, err := client.Resolve(t.Context(), p, c.text)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q in %q: %s\nwant %s", c.text, c.names, got, c.want)
		}
		if p.asked != nil && (p.asked.GetDisplayNameContains() != c.text || c.text == "") {
			t.Errorf("%q: asked for %v", c.text, p.asked)
		}
	}
	many := &pages{}
	for range 15 {
		many.names = append(many.names, "同じ")
	}
	if _, err := client.Resolve(t.Context(), many, "同じ"); err == nil || !strings.HasSuffix(err.Error(), "\n  … 5 more") {
		t.Errorf("%v", err)
	}
	if _, err := client.Resolve(t.Context(), &pages{}, strings.Repeat("長", 257)); err == nil {
		t.Error("a name that no flow can have is looked for")
	}
}

// inbox answers with sessions and approvals of these ids.
type inbox struct {
	agentv1.AgentServiceClient
	ids   []string
	asked int
}

func (b *inbox) ListSessions(context.Context, *agentv1.ListSessionsRequest, ...grpc.CallOption) (*agentv1.ListSessionsResponse, error) {
	b.asked++
	answer := &agentv1.ListSessionsResponse{}
	for _, id := range b.ids {
		answer.Sessions = append(answer.Sessions, &agentv1.Session{Name: "sessions/" + id})
	}
	return answer, nil
}

func (b *inbox) ListApprovals(_ context.Context, req *agentv1.ListApprovalsRequest, _ ...grpc.CallOption) (*agentv1.ListApprovalsResponse, error) {
	answer := &agentv1.ListApprovalsResponse{}
	for _, id := range b.ids {
		if req.GetAllStates() {
			answer.Approvals = append(answer.Approvals, &agentv1.Approval{Name: "approvals/" + id})
		}
	}
	return answer, nil
}

func TestSessionsAndApprovalsByTheirEnds(t *testing.T) {
	t.Parallel()
	const one, two = "0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41", "0192f0c1-7d3a-7c52-9b1e-3f6a5c0e2e41"
	for text, want := range map[string]string{
		one: "sessions/" + one, "sessions/" + strings.ToUpper(one): "sessions/" + one, "D2E41": "sessions/" + one, "sessions/e2e41": "sessions/" + two,
		"2e41":           "the ids of 2 sessions end with \"2e41\"; take one of them whole:\n  sessions/" + one + "\n  sessions/" + two,
		"ffff":           `no id of the newest 1000 sessions ends with "ffff"`,
		"e41":            `"e41" names no session: it must be sessions/ and a UUID, or the UUID, or the last 4 or more characters of one`,
		"nope":           `no id of sessions ends with "nope": an id is a UUID, of 0-9, a-f and -`,
		"夜話です":           `no id of sessions ends with "夜話です": an id is a UUID, of 0-9, a-f and -`,
		"夜話":             `"夜話" names no session: it must be sessions/ and a UUID, or the UUID, or the last 4 or more characters of one`,
		"approvals/2e41": `"approvals/2e41" names no session: it must be sessions/ and a UUID, or the UUID, or the last 4 or more characters of one`,
	} {
		got, err := client.Session(t.Context(), &inbox{ids: []string{one, two}}, text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	if got, err := client.Approval(t.Context(), &inbox{ids: []string{one}}, "2e41"); err != nil || got != "approvals/"+one {
		t.Errorf("%s, %v", got, err)
	}
	whole := &inbox{}
	if _, err := client.Session(t.Context(), whole, one); err != nil || whole.asked != 0 {
		t.Errorf("a whole id is looked up: %v", err)
	}
}

// A call that waits for a result is known by the end of its id, as sessions and approvals are.
func TestOpenCall(t *testing.T) {
	t.Parallel()
	const one, two = "0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41", "0192f0c1-7d3a-7c52-9b1e-3f6a5c0e2e41"
	open := []*agentv1.OpenToolCall{{Call: one, Tool: "sky"}, {Call: two, Tool: "sea"}}
	const other = "0192f0c1-7d3a-7c52-9b1e-3f6a5c0d0000"
	for text, want := range map[string]string{
		one: one, strings.ToUpper(two): two, "5c0d2e41": one, "C0E2E41": two, other: other,
		"2e41": "the ids of 2 calls that wait for a result end with \"2e41\"; take one of them whole:\n  " + one + "\n  " + two,
		"e41":  `"e41" names no call: it must be its UUID, or the last 4 or more characters of it`,
		"":     `"" names no call: it must be its UUID, or the last 4 or more characters of it`,
		"晴れ晴れ": "no call that waits for a result has an id that ends with \"晴れ晴れ\"; there are:\n  " + one + "  sky\n  " + two + "  sea",
	} {
		got, err := client.OpenCall(open, text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
	if _, err := client.OpenCall(nil, "2e41"); err == nil || err.Error() != `no call waits for a result, so none has an id that ends with "2e41"` {
		t.Error(err)
	}
}
