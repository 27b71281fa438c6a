package e2e

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// What changes is told over gRPC and to a browser, with who did it; streams end with the service, and a browser that comes back after
// a restart is told what it missed.
func watched(t *testing.T, m mode) {
	w := open(t, m, nobody)
	stream, err := w.flows.WatchEvents(w.ctx, &flowstorev1.WatchEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hello, err := stream.Recv()
	if err != nil || hello.GetEvent() != "hello" {
		t.Fatalf("%v, %v", hello, err)
	}
	browser := w.sse(t, "/v1/events:watchEvents")
	known := browser.until(t, "event: hello")
	made := w.rest(t, http.MethodPost, "/v1/flows", []byte(`{"displayName":"夜"}`), "Tsumugi-Client", "desk 1")
	flow := &flowstorev1.Flow{}
	made.into(t, flow)
	if e, err := stream.Recv(); err != nil || e.GetEvent() != "flow_created" || e.GetFlow() != flow.Name || e.GetOrigin() != "desk 1" || e.GetSeq() != hello.GetSeq()+1 {
		t.Errorf("%v, %v", e, err)
	}
	if lines := browser.until(t, "event: flow_created"); !strings.Contains(browser.line(t), `"origin":"desk 1"`) || lines[0] == known[0] {
		t.Errorf("a browser reads %q behind %q", lines, known)
	}
	w.restart(t)
	_, err = stream.Recv()
	if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.Unavailable || e.Reason != "DRAINING" {
		t.Errorf("the services stop, and a stream ends with %v", err)
	}
	browser = w.sse(t, "/v1/events:watchEvents", "Last-Event-ID", strings.TrimPrefix(known[0], "id: "))
	if got := browser.until(t, "event: hello"); got[0] != known[0] {
		t.Errorf("a browser that knows %q is greeted with %q", known[0], got)
	}
	browser.until(t, "event: flow_created")
	if got := browser.line(t); !strings.Contains(got, flow.Name) {
		t.Errorf("%s, want %s", got, flow.Name)
	}
}

// lines are those of a stream over SSE.
type lines struct{ *bufio.Scanner }

// sse opens a stream of events, which ends with the test.
func (w *world) sse(t *testing.T, path string, headers ...string) lines {
	t.Helper()
	q, err := w.request(w.ctx, http.MethodGet, path, nil, slices.Concat([]string{"Accept", sse}, headers)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, r.Status)
	}
	return lines{bufio.NewScanner(r.Body)}
}

func (l lines) line(t *testing.T) string {
	t.Helper()
	if !l.Scan() {
		t.Fatalf("the stream is over: %v", l.Err())
	}
	return l.Text()
}

// until reads up to a line, and gives the two last ones.
func (l lines) until(t *testing.T, want string) []string {
	t.Helper()
	before := ""
	for {
		got := l.line(t)
		if got == want {
			return []string{before, got}
		}
		before = got
	}
}
