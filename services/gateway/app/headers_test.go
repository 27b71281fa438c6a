package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/gen/openapi"
	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// What a service sees of the headers of a request: a short list, and nothing that a client made up about itself.
func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	for _, r := range []struct{ method, path, body string }{{"GET", "/v1/nodes/" + id, ""}, {"POST", "/v1/store:flushStore", "{}"}} {
		do(t, newRequest(t, r.method, server.URL+r.path, r.body,
			"X-Request-Id", "r-1", "Traceparent", trace, "Tracestate", "a=b", "Idempotency-Key", key, "Authorization", "Bearer t", "Last-Event-ID", "1", "Tsumugi-Client", "desk 1",
			"Grpc-Metadata-Tsumugi-Namespace", "other", "Tsumugi-Namespace", "other", "Grpc-Metadata-X-Request-Id", "r-2", "Grpc-Metadata-Tsumugi-Client", "desk 2",
			"X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "evil.example", "Forwarded", "for=6.6.6.6", "Cookie", "c=1", "X-Secret", "s", "X-Http-Method-Override", "DELETE"))
		_, md := s.last()
		got := map[string]string{}
		for key, values := range md {
			switch key {
			case ":authority", "content-type", "user-agent", "grpc-accept-encoding", "tsumugi-namespace": // of gRPC and of grpcclient
			default:
				got[key] = strings.Join(values, " | ")
			}
		}
		want := map[string]string{
			"x-request-id": "r-1", "traceparent": trace, "tracestate": "a=b", "idempotency-key": key, "authorization": "Bearer t", "tsumugi-client": "desk 1",
			"x-forwarded-for": "127.0.0.1", "x-forwarded-host": strings.TrimPrefix(server.URL, "http://"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if ns := md.Get("tsumugi-namespace"); len(ns) != 1 || ns[0] != "default" {
			t.Errorf("a client chose its namespace: %v", ns)
		}
	}
}

// The id of a request is the same in the answer, at the service and in the log; one that is missing or unfit is made.
func TestRequestID(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	s := &services{}
	server, _ := start(t, s, func(_ *app.Config, d *app.Deps) { d.Log = zap.New(core) })
	for _, sent := range []string{"r-1", "", "has space", "紡ぎ", strings.Repeat("x", 129), `"quoted"`} {
		got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "", "X-Request-Id", sent))
		answer := got.header.Values("X-Request-Id")
		_, md := s.last()
		line := logs.TakeAll()
		if len(answer) != 1 || len(line) != 1 {
			t.Fatalf("%q: answered %v, logged %v", sent, answer, line)
		}
		if (answer[0] == sent) != (sent == "r-1") || len(answer[0]) > 36 {
			t.Errorf("%q became %q", sent, answer[0])
		}
		if diff := cmp.Diff([]string{answer[0]}, md.Get("x-request-id")); diff != "" || line[0].ContextMap()["request_id"] != answer[0] {
			t.Errorf("%q: %v %s", sent, line[0].ContextMap(), diff)
		}
	}
}

func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	got := do(t, newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "", "Accept", "text/event-stream", "TE", "trailers"))
	for name := range got.header {
		switch name {
		case "Content-Type", "Content-Length", "Date", "X-Request-Id", "X-Content-Type-Options":
		default:
			t.Errorf("an answer with %s: %s", name, got.header.Get(name))
		}
	}
	if got.header.Get("Content-Type") != "application/json" || got.status != 200 {
		t.Errorf("%d %s", got.status, got.header.Get("Content-Type"))
	}
	var node map[string]any
	if err := json.Unmarshal([]byte(got.body), &node); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "nodes/" + id, "etag": "", "createTime": nil, "deleteTime": nil, "model": "", "tags": []any{}, "generation": nil, "summary": nil, "note": "", "warnings": []any{}, "texts": []any{
		map[string]any{"role": "user", "content": "紡ぎ", "tokenCount": 6.0, "durationSeconds": 1.2, "tokensPerSecond": 0.0, "characterCount": 0.0, "offset": 0.0}}}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Error(diff)
	}
}

// One line a request, with the path template and without the query.
func TestLog(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	server, _ := start(t, &services{err: notFound()}, func(_ *app.Config, d *app.Deps) { d.Log = zap.New(core) })
	do(t, newRequest(t, "GET", server.URL+"/v1/flows/"+id+":listPathNodes?pageToken=secret", "", "Traceparent", trace))
	lines := logs.All()
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	got := lines[0].ContextMap()
	for _, changing := range []string{"request_id", "duration", "bytes"} {
		if got[changing] == nil {
			t.Errorf("no %s", changing)
		}
		delete(got, changing)
	}
	want := map[string]any{"method": "GET", "route": "/v1/{flow=flows/*}:listPathNodes", "path": "/v1/flows/" + id + ":listPathNodes",
		"status": int64(404), "peer": "127.0.0.1", "reason": "NODE_NOT_FOUND", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A call that fails for a cause of which the caller learns less is one line too, and the cause stands in it; also in a
// stream, which began well.
func TestLogOfAFault(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	server, _ := start(t, generation(died(), opened, text), func(_ *app.Config, d *app.Deps) {
		d.Log, d.FlowStore = zap.New(core), fails{errors.New("dial tcp: refused")}
	})
	for path, want := range map[string]map[string]any{
		"/v1/nodes/" + id: {"level": zap.ErrorLevel, "reason": "INTERNAL", "service": "flowstore", "error": "dial tcp: refused"},
		watch:             {"level": zap.WarnLevel, "reason": "BACKEND_UNAVAILABLE", "service": "agent", "error": "rpc error: code = Unavailable desc = モデルが答えない"},
	} {
		do(t, newRequest(t, "GET", server.URL+path, ""))
		lines := logs.TakeAll()
		if len(lines) != 1 {
			t.Fatalf("%s: %v", path, lines)
		}
		line := lines[0].ContextMap()
		got := map[string]any{"level": lines[0].Level, "reason": line["reason"], "service": line["service"], "error": line["error"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// Ids, paths, methods and hosts that callers make up do not become series (tikv/pd#11040).
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) { d.Metrics = registry })
	ask := func(i int) {
		do(t, newRequest(t, "GET", server.URL+fmt.Sprintf("/v1/nodes/%d", i), ""))
		do(t, newRequest(t, "GET", server.URL+fmt.Sprintf("/v1/x%d/", i), ""))
		do(t, newRequest(t, fmt.Sprintf("M%d", i), server.URL+"/v1/nodes/1", ""))
		do(t, newRequest(t, "GET", server.URL+"/", "", "Host", fmt.Sprintf("h%d", i)))
	}
	count := func() (series int, nodes float64) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			series += len(f.GetMetric())
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetValue() == "/v1/{name=nodes/*}" {
						nodes += m.GetCounter().GetValue()
					}
				}
			}
		}
		return series, nodes
	}
	ask(0)
	before, _ := count()
	for i := range 50 {
		ask(i + 1)
	}
	after, nodes := count()
	if before != after || after == 0 || nodes != 51 {
		t.Errorf("%d series became %d; %v requests for nodes", before, after, nodes)
	}
	if _, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Metrics: registry}); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	front := do(t, newRequest(t, "GET", server.URL+"/", ""))
	if front.status != 200 || !strings.Contains(front.body, "/openapi.json") || front.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %s", front.status, front.body)
	}
	api := do(t, newRequest(t, "GET", server.URL+"/openapi.json", ""))
	if api.status != 200 || api.body != string(openapi.JSON) || api.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", api.status, api.header)
	}
	var doc struct {
		Info struct{ Title, Version, Description string }
	}
	if err := json.Unmarshal([]byte(api.body), &doc); err != nil || doc.Info.Title != "Tsumugi" || doc.Info.Version == "" ||
		!strings.Contains(doc.Info.Description, "ErrorInfo") {
		t.Errorf("%+v, %v", doc, err)
	}
}

// What a request may say in headers, and what a stream is, stands at every operation of the OpenAPI file.
func TestOpenAPIHeaders(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Produces    []string
			Parameters  []struct {
				In, Name, Description string
				Schema                struct {
					Ref string `json:"$ref"`
				}
			}
			Responses map[string]struct{ Description string }
		}
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(openapi.JSON, &doc); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			operations++
			headers, repeatable := map[string]bool{}, false
			for _, p := range o.Parameters {
				headers[p.Name] = p.In == "header" && p.Description != ""
				_, inBody := doc.Definitions[strings.TrimPrefix(p.Schema.Ref, "#/definitions/")].Properties["requestId"]
				repeatable = repeatable || inBody || p.Name == "requestId"
			}
			if !headers["X-Request-Id"] || !headers["Grpc-Timeout"] || headers["Idempotency-Key"] != repeatable {
				t.Errorf("%s %s takes the headers %v; repeatable: %v", method, path, headers, repeatable)
			}
			ok := o.Responses["200"].Description
			if streams := len(o.Produces) > 1; strings.Contains(ok, "(streaming") || streams != strings.Contains(ok, "Events") {
				t.Errorf("%s %s answers with %q", method, path, ok)
			}
		}
	}
	if operations != len(routes.All()) {
		t.Errorf("%d operations, and %d routes", operations, len(routes.All()))
	}
}
