package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

type event = agentv1.GenerateNodeEvent

var (
	opened    = &event{Event: &agentv1.GenerateNodeEvent_Opened{Opened: &agentv1.Opened{Generation: "generations/" + id}}}
	text      = &event{Id: 1, Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: "夜の\n図書館🧵"}}}
	heartbeat = &event{Event: &agentv1.GenerateNodeEvent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}}
	lagged    = &event{Event: &agentv1.GenerateNodeEvent_Lagged{Lagged: &agentv1.Lagged{Joined: 3}}}
	failed    = &event{Event: &agentv1.GenerateNodeEvent_Failed{Failed: &agentv1.Failed{Reason: "BACKEND_BUSY"}}}
	stored    = &event{Id: 2, Event: &agentv1.GenerateNodeEvent_Stored{Stored: &agentv1.Stored{Node: &flowstorev1.Node{Name: "nodes/" + id}}}}
)

// generation makes services whose streams send these events and end with err.
func generation(err error, events ...*event) *services {
	s := &services{err: err, events: make(chan *event, len(events))}
	for _, e := range events {
		s.events <- e
	}
	close(s.events)
	return s
}

const (
	watch    = "/v1/generations/" + id + ":watchGeneration"
	generate = "/v1/nodes:generateNode"
)

func died() error {
	return apierr.New(codes.Unavailable, "BACKEND_UNAVAILABLE", "モデルが答えない", "backend", "gemma")
}

func TestLines(t *testing.T) {
	t.Parallel()
	server, _ := start(t, generation(nil, opened, text, heartbeat, lagged, failed, stored))
	got := do(t, newRequest(t, "POST", server.URL+generate, `{"flow":"flows/`+id+`"}`))
	if got.status != 200 || got.header.Get("Content-Type") != "application/x-ndjson" || got.header.Get("Cache-Control") != "no-cache" ||
		got.header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%d %v", got.status, got.header)
	}
	var kinds []string
	for line := range strings.SplitSeq(strings.TrimSuffix(got.body, "\n"), "\n") {
		var l struct {
			Result map[string]json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || len(l.Result) != 2 {
			t.Fatalf("%q: %v", line, err)
		}
		delete(l.Result, "id")
		for kind := range l.Result {
			kinds = append(kinds, kind)
		}
	}
	if got := strings.Join(kinds, " "); got != "opened text heartbeat lagged failed stored" {
		t.Error(got)
	}
	if !strings.Contains(got.body, `夜の\n図書館🧵`) {
		t.Errorf("the text was changed: %s", got.body)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	server, _ := start(t, generation(nil, opened, text, heartbeat, lagged, failed, stored))
	got := do(t, newRequest(t, "GET", server.URL+watch, "", "Accept", "text/event-stream, */*"))
	if got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" || got.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v", got.status, got.header)
	}
	want := []string{"event: opened\ndata: {", "id: 1\nevent: text\ndata: {", ": heartbeat", "event: lagged\ndata: {", "event: failed\ndata: {", "id: 2\nevent: stored\ndata: {", ""}
	for i, e := range strings.Split(got.body, "\n\n") {
		if i >= len(want) || !strings.HasPrefix(e, want[i]) || strings.Count(e, "\n") > 2 {
			t.Errorf("event %d is %q", i, e)
		}
	}
	if !strings.Contains(got.body, `夜の\n図書館🧵`) {
		t.Errorf("the text was changed: %s", got.body)
	}
}

// An error before the first event is an answer like any other, in both forms.
func TestFirstError(t *testing.T) {
	t.Parallel()
	server, _ := start(t, generation(died()))
	for _, accept := range []string{"", "text/event-stream"} {
		for _, r := range []*http.Request{
			newRequest(t, "GET", server.URL+watch, "", "Accept", accept),
			newRequest(t, "POST", server.URL+generate, "{}", "Accept", accept),
		} {
			got := do(t, r)
			if reason, p := got.reason(t); got.status != 503 || reason != "BACKEND_UNAVAILABLE" || p.Message != "モデルが答えない" {
				t.Errorf("Accept: %s: %d %s", accept, got.status, got.body)
			}
		}
	}
}

// An error after the first event is the last line, or the last event.
func TestLaterError(t *testing.T) {
	t.Parallel()
	for accept, cut := range map[string]func(body string) (string, bool){
		"": func(body string) (string, bool) {
			_, last, ok := strings.Cut(strings.TrimSuffix(body, "}\n"), "\n"+`{"error":`)
			return last, ok
		},
		"text/event-stream": func(body string) (string, bool) {
			_, last, ok := strings.Cut(strings.TrimSuffix(body, "\n\n"), "\n\nevent: error\ndata: ")
			return last, ok
		},
	} {
		server, _ := start(t, generation(died(), opened))
		got := do(t, newRequest(t, "GET", server.URL+watch, "", "Accept", accept))
		last, ok := cut(got.body)
		var p problem
		if err := json.Unmarshal([]byte(last), &p); got.status != 200 || !ok || err != nil {
			t.Fatalf("Accept: %s: %d %q, %v", accept, got.status, got.body, err)
		}
		if reason := p.reason(t); reason != "BACKEND_UNAVAILABLE" || p.Code != int(codes.Unavailable) || p.metadata("backend") != "gemma" {
			t.Errorf("Accept: %s: %+v", accept, p)
		}
	}
}

// A stream that is no generation has the same forms.
func TestCheckStore(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	for accept, want := range map[string][]string{
		"":                  {`{"result":{"progress":{"filesRead":0,"files":1}}}`, `{"result":{"finding":{"kind":"KIND_CYCLE","path":"flows/000/000.yaml",`},
		"text/event-stream": {"event: progress\ndata: {", "event: finding\ndata: {"},
	} {
		got := do(t, newRequest(t, "GET", server.URL+"/v1/store:checkStore", "", "Accept", accept))
		for _, text := range want {
			if got.status != 200 || !strings.Contains(strings.ReplaceAll(got.body, `": `, `":`), text) {
				t.Errorf("Accept: %s: %d %s", accept, got.status, got.body)
			}
		}
	}
}

func TestRepairStore(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	got := do(t, newRequest(t, "POST", server.URL+"/v1/store:repairStore", `{"apply": true}`))
	if want := "apply true, current false"; got.status != 200 || !strings.Contains(got.body, want) {
		t.Errorf("%d %s, want %q", got.status, got.body, want)
	}
}

func TestStreamWithoutEvents(t *testing.T) {
	t.Parallel()
	server, _ := start(t, generation(nil))
	if got := do(t, newRequest(t, "GET", server.URL+watch, "")); got.status != 200 || got.body != "" || got.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d %v %q", got.status, got.header, got.body)
	}
}

func TestLastEventID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query, header string
		want          int32
	}{
		{"", "", 0}, {"", "7", 7}, {"?after=3", "", 3},
		{"?after=3", "7", 7}, // a browser keeps the address of the page and adds the header
		{"?after=3", "0", 0},
	} {
		s := generation(nil, opened)
		server, _ := start(t, s)
		do(t, newRequest(t, "GET", server.URL+watch+tt.query, "", "Last-Event-ID", tt.header))
		request, _ := s.last()
		if got := request.(*agentv1.WatchGenerationRequest); got.GetAfter() != tt.want || got.GetName() != "generations/"+id {
			t.Errorf("%s, Last-Event-ID: %s: %v", tt.query, tt.header, got)
		}
	}
}

// The stream of events has its numbers as ids, so that a browser comes back with the last one, also behind a heartbeat.
func TestWatchEvents(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	const path = "/v1/events:watchEvents"
	got := do(t, newRequest(t, "GET", server.URL+path+"?sinceSeq=5&events=node_created&events=node_deleted&flows=flows/"+id+"&nodes=nodes/"+id, "", "Accept", "text/event-stream"))
	want := "id: 9007199254740990\nevent: hello\n" +
		`data: {"seq":"9007199254740990","event":"hello","time":null,"node":"","flow":"","path":"","origin":"","lastSeq":"9007199254740991"}` + "\n\n" +
		"id: 9007199254740991\nevent: node_created\n" +
		`data: {"seq":"9007199254740991","event":"node_created","time":null,"node":"nodes/` + id + `","flow":"","path":"","origin":""}` + "\n\n" +
		"id: 9007199254740993\n: heartbeat\n\n"
	if diff := cmp.Diff(want, got.body); diff != "" || got.status != 200 {
		t.Errorf("%d %s", got.status, diff)
	}
	request, _ := s.last()
	if diff := cmp.Diff(&flowstorev1.WatchEventsRequest{
		SinceSeq: proto.Int64(5), Events: []string{"node_created", "node_deleted"}, Flows: []string{"flows/" + id}, Nodes: []string{"nodes/" + id},
	}, request, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string]int64{"": 9007199254740993, "?sinceSeq=3": 9007199254740993, "?since_seq=3": 9007199254740993} {
		do(t, newRequest(t, "GET", server.URL+path+query, "", "Last-Event-ID", "9007199254740993"))
		request, _ := s.last()
		if got := request.(*flowstorev1.WatchEventsRequest); got.SinceSeq == nil || got.GetSinceSeq() != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	if got := do(t, newRequest(t, "GET", server.URL+path, "")); strings.Count(got.body, `{"result":{"seq":"`) != 3 {
		t.Errorf("as lines: %s", got.body)
	}
	for _, wrong := range []string{"x", "-1", "9223372036854775808"} {
		refused := do(t, newRequest(t, "GET", server.URL+path, "", "Last-Event-ID", wrong))
		if reason, p := refused.reason(t); refused.status != 400 || reason != "INVALID_FIELD" || !strings.Contains(p.Message, "Last-Event-ID: must be the id of an event") {
			t.Errorf("Last-Event-ID: %s: %d %s", wrong, refused.status, p.Message)
		}
	}
}

// open sends a request and gives the answer once its headers are there.
func open(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Each event is on its way before the next one is there (grpc-gateway#4537).
func TestEventsAreFlushed(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event)}
	server, _ := start(t, s)
	first := make(chan struct{})
	go func() { s.events <- opened; close(first) }()
	resp := open(t, newRequest(t, "GET", server.URL+watch, "", "Accept", "text/event-stream"))
	defer resp.Body.Close()
	receive(t, first)
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"event: opened", "id: 1", ": heartbeat"} {
		for lines.Scan() && lines.Text() != want {
		}
		if lines.Text() != want {
			t.Fatalf("the stream ended before %q: %v", want, lines.Err())
		}
		switch want { // the next event is made when the one before has been read
		case "event: opened":
			s.events <- text
		case "id: 1":
			s.events <- heartbeat
		}
	}
	close(s.events)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

// A client that leaves ends its call at the service, also where it sent a body (grpc-gateway#5236).
func TestDisconnect(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event), gone: make(chan error, 1)}
	server, _ := start(t, s)
	for i, request := range []func() *http.Request{
		func() *http.Request { return newRequest(t, "GET", server.URL+watch, "") },
		func() *http.Request { return newRequest(t, "GET", server.URL+watch, "", "Accept", "text/event-stream") },
		func() *http.Request { return newRequest(t, "POST", server.URL+generate, "{}") },
		func() *http.Request {
			return newRequest(t, "POST", server.URL+generate, `{"text":"`+strings.Repeat("紡", 1<<10)+`"}`, "Accept", "text/event-stream")
		},
	} {
		for range 20 {
			ctx, leave := context.WithCancel(t.Context())
			go func() { s.events <- opened }()
			resp := open(t, request().WithContext(ctx))
			leave()
			resp.Body.Close()
			if err := receive(t, s.gone); !errors.Is(err, context.Canceled) && status.Code(err) != codes.Canceled {
				t.Fatalf("request %d: the handler ended with %v", i, err)
			}
		}
	}
}

// A client that stays and does not read is cut off: the call behind it would wait for ever.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event), gone: make(chan error, 1)}
	server, _ := start(t, s, func(c *app.Config, _ *app.Deps) { c.WriteTimeout = time.Second })
	big := &event{Id: 1, Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: strings.Repeat("x", 1<<20)}}}
	go func() {
		for {
			select {
			case s.events <- big:
			case <-t.Context().Done():
				return
			}
		}
	}()
	resp := open(t, newRequest(t, "GET", server.URL+watch, ""))
	defer resp.Body.Close()
	if err := receive(t, s.gone); err == nil {
		t.Error("the call at the service ended well")
	}
}

// A stream that ends by itself while the gateway stops ends as if nothing were.
func TestDrainGrace(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event, 2)}
	server, gateway := start(t, s)
	s.events <- opened
	resp := open(t, newRequest(t, "GET", server.URL+watch, ""))
	defer resp.Body.Close()
	gateway.Drain()
	s.events <- stored
	close(s.events)
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), "stored") || strings.Contains(string(body), "error") {
		t.Errorf("%s, %v", body, err)
	}
}

// When the gateway stops, a stream that does not end by itself ends with a reason, and the caller can go elsewhere.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := &services{events: make(chan *event, 1), gone: make(chan error, 2)}
	server, gateway := start(t, s, func(c *app.Config, _ *app.Deps) { c.DrainGrace = time.Millisecond })
	s.events <- opened
	resp := open(t, newRequest(t, "GET", server.URL+watch, ""))
	defer resp.Body.Close()
	gateway.Drain()
	gateway.Drain()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), "\n"+`{"error":`) || !strings.Contains(string(body), "DRAINING") {
		t.Errorf("%s, %v", body, err)
	}
	if err := receive(t, s.gone); err == nil {
		t.Error("the call at the service went on")
	}
	// From here on no stream begins; other calls are answered.
	late := do(t, newRequest(t, "GET", server.URL+watch, ""))
	if reason, _ := late.reason(t); late.status != 503 || reason != "DRAINING" {
		t.Errorf("%d %s", late.status, late.body)
	}
	if got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "")); got.status != 200 {
		t.Errorf("a call during the drain: %d %s", got.status, got.body)
	}
}
