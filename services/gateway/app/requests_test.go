package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
)

const (
	id  = "0b6f3f86-1c0f-4a39-9a53-3f6a3f1f2a10"
	key = "8a1c2d04-77b0-4f0e-9d5c-1f4a0c3b6e21"
)

// What is wrong in a request, and what the caller hears. Nothing of it reaches a service.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	big := `{"texts":[{"role":"user","content":"` + strings.Repeat("紡", 20<<20/3) + `"}]}`
	for name, tt := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		reason, says       string
	}{
		"unknown path":              {method: "GET", path: "/v1/novels", status: 404, reason: "ROUTE_NOT_FOUND", says: "there is no path /v1/novels; GET /openapi.json lists them all"},
		"unknown path, write":       {method: "POST", path: "/v2/nodes", body: "{}", status: 404, reason: "ROUTE_NOT_FOUND"},
		"slash at the end":          {method: "GET", path: "/v1/nodes/" + id + "/", status: 404, reason: "ROUTE_NOT_FOUND"},
		"no version":                {method: "GET", path: "/nodes/" + id, status: 404, reason: "ROUTE_NOT_FOUND"},
		"an unknown verb":           {method: "POST", path: "/v1/flows/" + id + ":addNodes", body: "{}", status: 404, reason: "ROUTE_NOT_FOUND"},
		"an unknown verb, GET":      {method: "GET", path: "/v1/flows/" + id + ":listPathNode", status: 404, reason: "ROUTE_NOT_FOUND"},
		"a verb alone":              {method: "POST", path: "/v1/flows/:addNode", body: "{}", status: 404, reason: "ROUTE_NOT_FOUND"},
		"slash in an id":            {method: "GET", path: "/v1/nodes/a%2Fb", status: 404, reason: "ROUTE_NOT_FOUND"},
		"path traversal":            {method: "GET", path: "/v1/nodes/..%2F..%2Fconfig.yaml", status: 404, reason: "ROUTE_NOT_FOUND"},
		"path traversal, plain":     {method: "GET", path: "/v1/nodes/../../config.yaml", status: 404, reason: "ROUTE_NOT_FOUND"},
		"DELETE":                    {method: "DELETE", path: "/v1/generations/" + id, status: 405, reason: "METHOD_NOT_ALLOWED", says: "does not take DELETE; it takes GET, OPTIONS"},
		"DELETE with a body":        {method: "DELETE", path: "/v1/nodes/" + id, body: `{"mode":"REMOVE_MODE_SPLICE"}`, status: 400, reason: "INVALID_JSON", says: "a DELETE request has no body here"},
		"DELETE misspelt":           {method: "DELETE", path: "/v1/nodes/" + id + "?mod=REMOVE_MODE_SPLICE", status: 400, reason: "INVALID_FIELD", says: "mod: there is no such parameter; did you mean mode?"},
		"PATCH":                     {method: "PATCH", path: "/v1/flows", status: 405, reason: "METHOD_NOT_ALLOWED"},
		"no method":                 {method: "BREW", path: "/v1/flows/" + id, status: 405, reason: "METHOD_NOT_ALLOWED"},
		"GET of a write":            {method: "GET", path: "/v1/nodes:generateNode", status: 405, reason: "METHOD_NOT_ALLOWED", says: "it takes POST, OPTIONS"},
		"GET of a verb":             {method: "GET", path: "/v1/flows/" + id + ":addNode", status: 405, reason: "METHOD_NOT_ALLOWED", says: "it takes POST, OPTIONS"},
		"POST of a page":            {method: "POST", path: "/openapi.json", body: "{}", status: 405, reason: "METHOD_NOT_ALLOWED", says: "it takes GET, HEAD, OPTIONS"},
		"method override":           {method: "POST", path: "/v1/nodes/" + id, headers: []string{"X-HTTP-Method-Override", "GET", "Content-Type", "application/x-www-form-urlencoded"}, status: 405, reason: "METHOD_NOT_ALLOWED"},
		"method override, DELETE":   {method: "POST", path: "/v1/nodes/" + id, headers: []string{"X-HTTP-Method-Override", "DELETE", "Content-Type", "application/x-www-form-urlencoded"}, status: 405, reason: "METHOD_NOT_ALLOWED"},
		"a form as GET":             {method: "POST", path: "/v1/flows/" + id + ":listPathNodes", body: "pageSize=1", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 405, reason: "METHOD_NOT_ALLOWED"},
		"text":                      {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Content-Type", "text/plain"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE", says: "Content-Type: must be application/json, in UTF-8, is \"text/plain\""},
		"a form":                    {method: "POST", path: "/v1/store:flushStore", headers: []string{"Content-Type", "multipart/form-data; boundary=x"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		"no content type":           {method: "POST", path: "/v1/store:flushStore", headers: []string{"Content-Type", ""}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		"another charset":           {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Content-Type", "application/json; charset=shift_jis"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		"compressed":                {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Content-Encoding", "gzip"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE", says: "Content-Encoding: must be left out, since bodies are not compressed, is \"gzip\""},
		"20 MiB":                    {method: "POST", path: "/v1/nodes", body: big, status: 413, reason: "BODY_TOO_LARGE", says: "larger than 16777216 bytes"},
		"unknown host":              {method: "GET", path: "/v1/nodes/" + id, headers: []string{"Host", "evil.example"}, status: 421, reason: "UNKNOWN_HOST", says: `"evil.example"`},
		"unknown host, page":        {method: "GET", path: "/", headers: []string{"Host", "evil.example:7480"}, status: 421, reason: "UNKNOWN_HOST"},
		"another origin":            {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Origin", "https://evil.example"}, status: 403, reason: "CROSS_ORIGIN", says: `"https://evil.example"`},
		"another site":              {method: "DELETE", path: "/v1/nodes/" + id, headers: []string{"Sec-Fetch-Site", "cross-site"}, status: 403, reason: "CROSS_ORIGIN"},
		"another port":              {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"}, status: 403, reason: "CROSS_ORIGIN"},
		"no JSON":                   {method: "POST", path: "/v1/nodes", body: "texts=1", status: 400, reason: "INVALID_JSON", says: "is not one JSON object (line 1, column 1)"},
		"unknown field":             {method: "POST", path: "/v1/nodes", body: `{"txts":[]}`, status: 400, reason: "INVALID_JSON", says: "txts: there is no such field; did you mean texts? There are texts, model, tags, generation, etag, summary, score, note"},
		"the body in its field":     {method: "POST", path: "/v1/nodes", body: `{"node":{}}`, status: 400, reason: "INVALID_JSON", says: "node: there is no such field"},
		"wrong type":                {method: "POST", path: "/v1/nodes", body: `{"model":5}`, status: 400, reason: "INVALID_JSON", says: "model: must be a string"},
		"garbage behind":            {method: "POST", path: "/v1/nodes", body: `{} {}`, status: 400, reason: "INVALID_JSON"},
		"unknown field of a stream": {method: "POST", path: "/v1/nodes:generateNode", body: `{"flw":1}`, headers: []string{"Accept", "text/event-stream"}, status: 400, reason: "INVALID_JSON", says: "flw: there is no such field"},
		"path and body differ":      {method: "POST", path: "/v1/flows/" + id + ":addNode", body: `{"flow":"flows/x"}`, status: 400, reason: "INVALID_JSON", says: "flow: the path says"},
		"path and field differ":     {method: "PATCH", path: "/v1/flows/" + id, body: `{"name":"flows/x","displayName":"n"}`, status: 400, reason: "INVALID_JSON", says: "name: the path says"},
		"a PATCH of text":           {method: "PATCH", path: "/v1/flows/" + id, body: "{}", headers: []string{"Content-Type", "text/plain"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		"parameter misspelt":        {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?pagesize=2", status: 400, reason: "INVALID_FIELD", says: "pagesize: there is no such parameter; did you mean pageSize?"},
		"unknown parameter":         {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?size=2", status: 400, reason: "INVALID_FIELD", says: "size: there is no such parameter; there are node, pageSize, pageToken, view, totals"},
		"parameter of the path":     {method: "GET", path: "/v1/flows/" + id + "?name=flows/x", status: 400, reason: "INVALID_FIELD", says: "there are none here"},
		"parameter beside a body":   {method: "POST", path: "/v1/flows/" + id + ":addNode?nodeId=x", body: "{}", status: 400, reason: "INVALID_FIELD", says: "nodeId: there is no such parameter"},
		"parameter of the body":     {method: "POST", path: "/v1/nodes?node.model=x", body: "{}", status: 400, reason: "INVALID_FIELD", says: "there are nodeId, requestId"},
		"no time":                   {method: "GET", path: "/v1/nodes?createTimeFrom=yesterday", status: 400, reason: "INVALID_FIELD", says: "createTimeFrom: must be "},
		"no number":                 {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?pageSize=all", status: 400, reason: "INVALID_FIELD", says: "pageSize: must be a whole number from -2147483648 to 2147483647"},
		"parameter twice":           {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?pageSize=1&pageSize=2", status: 400, reason: "INVALID_FIELD", says: "is given more than once"},
		"in two spellings":          {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?pageSize=1&page_size=2", status: 400, reason: "INVALID_FIELD", says: `duplicate field "page_size"`},
		"parameter of nothing":      {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?node.x=1", status: 400, reason: "INVALID_FIELD"},
		"broken query":              {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?node=%zz", status: 400, reason: "INVALID_FIELD", says: "the query cannot be read"},
		"query that is not UTF-8":   {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?node=%ff", status: 400, reason: "INVALID_FIELD", says: "node: is not UTF-8"},
		"path that is not UTF-8":    {method: "GET", path: "/v1/nodes/%ff", status: 400, reason: "INVALID_FIELD", says: "name: the path is not UTF-8"},
		"GET with a body":           {method: "GET", path: "/v1/nodes/" + id, body: "{}", status: 400, reason: "INVALID_JSON", says: "a GET request has no body here"},
		"no event id":               {method: "GET", path: "/v1/generations/" + id + ":watchGeneration", headers: []string{"Last-Event-ID", "x"}, status: 400, reason: "INVALID_FIELD", says: "Last-Event-ID: must be the id of an event"},
		"negative event id":         {method: "GET", path: "/v1/generations/" + id + ":watchGeneration", headers: []string{"Last-Event-ID", "-1"}, status: 400, reason: "INVALID_FIELD"},
		"two ids of a request":      {method: "POST", path: "/v1/nodes?requestId=a", body: "{}", headers: []string{"Idempotency-Key", key}, status: 400, reason: "INVALID_FIELD", says: "requestId: the header Idempotency-Key"},
		"idempotency key":           {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Idempotency-Key", "紡ぎ"}, status: 400, reason: "INVALID_FIELD", says: "Idempotency-Key: must be one UUID"},
		"a name of a client":        {method: "POST", path: "/v1/nodes", body: "{}", headers: []string{"Tsumugi-Client", "紡ぎ"}, status: 400, reason: "INVALID_FIELD", says: "Tsumugi-Client: must be 1 to 64 printable ASCII characters"},
		"the name of a hand":        {method: "GET", path: "/v1/nodes/" + id, headers: []string{"Tsumugi-Client", "external"}, status: 400, reason: "INVALID_FIELD"},
		"long authorization":        {method: "GET", path: "/v1/nodes/" + id, headers: []string{"Authorization", "Bearer " + strings.Repeat("x", 8<<10)}, status: 400, reason: "INVALID_FIELD", says: "Authorization: must be at most 8192 bytes"},
		"time without a unit":       {method: "GET", path: "/v1/nodes/" + id, headers: []string{"Grpc-Timeout", "30"}, status: 400, reason: "INVALID_FIELD", says: `is "30"`},
		"time limit":                {method: "GET", path: "/v1/nodes/" + id, headers: []string{"Grpc-Timeout", "soon"}, status: 400, reason: "INVALID_FIELD", says: "Grpc-Timeout: must be a time limit such as 30S"},
	} {
		t.Run(name, func(t *testing.T) {
			got := do(t, newRequest(t, tt.method, server.URL+tt.path, tt.body, tt.headers...))
			reason, p := got.reason(t)
			if got.status != tt.status || reason != tt.reason || !strings.Contains(p.Message, tt.says) {
				t.Errorf("%d %s: %s", got.status, reason, p.Message)
			}
			if got.header.Get("X-Request-Id") == "" {
				t.Error("no X-Request-Id")
			}
			if request, _ := s.last(); request != nil {
				t.Errorf("a service was asked %v", request)
			}
		})
	}
}

// All wrong parameters are told at once.
func TestAllParametersAtOnce(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	_, p := do(t, newRequest(t, "GET", server.URL+"/v1/flows/"+id+":listPathNodes?size=1&pageSize=x&node=%ff", "")).reason(t)
	var fields []string
	for _, d := range p.Details {
		for _, v := range d.FieldViolations {
			fields = append(fields, v.Field)
		}
	}
	if diff := cmp.Diff([]string{"node", "pageSize", "size"}, fields); diff != "" {
		t.Error(diff)
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"HEAD", "/v1/nodes/" + id, 405, "GET, PATCH, DELETE, OPTIONS"},
		{"HEAD", "/v1/generations/" + id + ":watchGeneration", 405, "GET, OPTIONS"},
		{"OPTIONS", "/v1/nodes/" + id, 204, "GET, PATCH, DELETE, OPTIONS"},
		{"OPTIONS", "/v1/nodes", 204, "GET, POST, OPTIONS"},
		{"OPTIONS", "/openapi.json", 204, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/v1/novels", 404, ""},
		{"HEAD", "/", 200, ""},
	} {
		got := do(t, newRequest(t, tt.method, server.URL+tt.path, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"))
		if got.status != tt.status || got.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, Allow: %q", tt.method, tt.path, got.status, got.header.Get("Allow"))
		}
		for name := range got.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s lets other origins in: %s", tt.method, tt.path, name)
			}
		}
	}
}

// TestOrigins: a page of this server writes, and so does a program, which says nothing of origins; what only reads is answered to all, and
// no browser shows it to another origin (TestAllow).
func TestOrigins(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	for _, headers := range [][]string{{}, {"Origin", server.URL}, {"Sec-Fetch-Site", "same-origin", "Origin", server.URL}, {"Sec-Fetch-Site", "none"}} {
		if got := do(t, newRequest(t, "POST", server.URL+"/v1/flows:importFlows", "", headers...)); got.status != 200 {
			t.Errorf("%v: %d %s", headers, got.status, got.body)
		}
	}
	if got := do(t, newRequest(t, "GET", server.URL+"/", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")); got.status != 200 {
		t.Errorf("a link from elsewhere: %d", got.status)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{}, func(c *app.Config, _ *app.Deps) { c.Hosts = []string{"Tsumugi.Example", "fd00::7"} })
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:7480": 200, "localhost.": 200, "127.0.0.1": 200, "127.8.9.1:80": 200, "[::1]": 200, "[::1]:7480": 200,
		"[::ffff:127.0.0.1]:1": 200, "tsumugi.example": 200, "tsumugi.example:443": 200, "[fd00::7]:80": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "127.0.0.1:7480.evil.example": 421, "10.0.0.1": 421, "0.0.0.0": 421, "[::]:7480": 421,
		"sub.tsumugi.example": 421, "127.1": 421, "2130706433": 421, "localhost:80:80": 421, "evil.example#localhost": 421,
	} {
		got := do(t, newRequest(t, "GET", server.URL+"/", "", "Host", host))
		if got.status != want {
			t.Errorf("Host: %s: %d, want %d", host, got.status, want)
		}
	}
}

func TestWhatReachesTheService(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	for name, tt := range map[string]struct {
		method, path, body string
		headers            []string
		want               any
	}{
		"path":          {method: "GET", path: "/v1/nodes/" + id, want: &flowstorev1.GetNodeRequest{Name: "nodes/" + id}},
		"double escape": {method: "GET", path: "/v1/nodes/a%252Fb", want: &flowstorev1.GetNodeRequest{Name: "nodes/a%2Fb"}},
		"Japanese path": {method: "GET", path: "/v1/nodes/紡ぎ", want: &flowstorev1.GetNodeRequest{Name: "nodes/紡ぎ"}},
		"query":         {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?pageSize=5&page_token=c%2Fc%2B%2B&node=タグ1", want: &flowstorev1.ListPathNodesRequest{Flow: "flows/" + id, PageSize: 5, PageToken: "c/c++", Node: "タグ1"}},
		"view":          {method: "GET", path: "/v1/nodes/" + id + "?view=NODE_VIEW_BASIC", want: &flowstorev1.GetNodeRequest{Name: "nodes/" + id, View: flowstorev1.NodeView_NODE_VIEW_BASIC}},
		"all nodes":     {method: "GET", path: "/v1/nodes?view=NODE_VIEW_FULL&pageSize=5", want: &flowstorev1.ListNodesRequest{View: flowstorev1.NodeView_NODE_VIEW_FULL, PageSize: 5}},
		"part of a text": {method: "GET", path: "/v1/nodes/" + id + "?textIndex=0&offset=5&length=7",
			want: &flowstorev1.GetNodeRequest{Name: "nodes/" + id, TextIndex: proto.Int32(0), Offset: 5, Length: 7}},
		"some nodes": {method: "GET", path: "/v1/nodes?order=LIST_ORDER_OLDEST_FIRST&flow=flows/" + id + "&role=user&modelContains=gem%20ma&allTags=夜&allTags=a%2Cb&anyTags=c&createTimeFrom=2026-05-01T09:00:00%2B09:00&create_time_before=2026-06-01T00:00:00.5Z",
			want: &flowstorev1.ListNodesRequest{
				Order: flowstorev1.ListOrder_LIST_ORDER_OLDEST_FIRST, Flow: "flows/" + id, Role: "user", ModelContains: "gem ma", AllTags: []string{"夜", "a,b"}, AnyTags: []string{"c"},
				CreateTimeFrom: timestamppb.New(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)), CreateTimeBefore: timestamppb.New(time.Date(2026, 6, 1, 0, 0, 0, 500_000_000, time.UTC)),
			}},
		"some flows": {method: "GET", path: "/v1/flows?displayNameContains=夜&updateTimeFrom=2026-05-01T00:00:00Z",
			want: &flowstorev1.ListFlowsRequest{DisplayNameContains: "夜", UpdateTimeFrom: timestamppb.New(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))}},
		"a search": {method: "GET", path: "/v1/nodes:searchNodes?query=tag:夜%20-x%20%22a%20b%22&pageSize=5",
			want: &flowstorev1.SearchNodesRequest{Query: `tag:夜 -x "a b"`, PageSize: 5}},
		"tags":           {method: "GET", path: "/v1/tags?prefix=夜&pageToken=x", want: &flowstorev1.ListTagsRequest{Prefix: "夜", PageToken: "x"}},
		"all flows":      {method: "GET", path: "/v1/flows?pageToken=x", want: &flowstorev1.ListFlowsRequest{PageToken: "x"}},
		"totals":         {method: "GET", path: "/v1/flows/" + id + ":listPathNodes?totals=true", want: &flowstorev1.ListPathNodesRequest{Flow: "flows/" + id, Totals: true}},
		"history":        {method: "GET", path: "/v1/flows/" + id + ":listHistoryNodes?pageSize=2&drawing=true", want: &flowstorev1.ListHistoryNodesRequest{Flow: "flows/" + id, PageSize: 2, Drawing: true}},
		"two nodes":      {method: "GET", path: "/v1/nodes/" + id + ":diffNodes?other=nodes/x", want: &flowstorev1.DiffNodesRequest{Node: "nodes/" + id, Other: "nodes/x"}},
		"two heads":      {method: "GET", path: "/v1/flows/" + id + ":diffHeads?node=nodes/x&other=nodes/y", want: &flowstorev1.DiffHeadsRequest{Flow: "flows/" + id, Node: "nodes/x", Other: "nodes/y"}},
		"validate":       {method: "GET", path: "/v1/flows/" + id + ":validateFlow", want: &flowstorev1.ValidateFlowRequest{Flow: "flows/" + id}},
		"body and query": {method: "POST", path: "/v1/nodes?requestId=r", body: `{"model":"phi4-mini:3.8b"}`, want: &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Model: "phi4-mini:3.8b"}, RequestId: "r"}},
		"idempotency key": {method: "POST", path: "/v1/nodes", body: `{"model":"m"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Model: "m"}, RequestId: key}},
		"the same key twice": {method: "POST", path: "/v1/flows/" + id + ":addNode", body: `{"requestId":"` + key + `"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.AddNodeRequest{Flow: "flows/" + id, RequestId: key}},
		"connect": {method: "POST", path: "/v1/flows/" + id + ":connectNodes", body: `{"parent":"nodes/a","child":"nodes/b","displayName":"雨","etag":"e"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.ConnectNodesRequest{Flow: "flows/" + id, Parent: "nodes/a", Child: "nodes/b", DisplayName: "雨", Etag: "e", RequestId: key}},
		"disconnect": {method: "POST", path: "/v1/flows/" + id + ":disconnectNodes", body: `{"parent":"nodes/a","child":"nodes/b"}`,
			want: &flowstorev1.DisconnectNodesRequest{Flow: "flows/" + id, Parent: "nodes/a", Child: "nodes/b"}},
		"reconnect": {method: "POST", path: "/v1/flows/" + id + ":reconnectNodes", body: `{"child":"nodes/c","oldParent":"nodes/a","newParent":"nodes/b"}`,
			want: &flowstorev1.ReconnectNodesRequest{Flow: "flows/" + id, Child: "nodes/c", OldParent: "nodes/a", NewParent: "nodes/b"}},
		"remove": {method: "POST", path: "/v1/flows/" + id + ":removeNode", body: `{"node":"nodes/a","mode":"REMOVE_MODE_SPLICE"}`,
			want: &flowstorev1.RemoveNodeRequest{Flow: "flows/" + id, Node: "nodes/a", Mode: flowstorev1.RemoveMode_REMOVE_MODE_SPLICE}},
		"undo": {method: "POST", path: "/v1/flows/" + id + ":undoFlow", body: `{"etag":"e"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.UndoFlowRequest{Flow: "flows/" + id, Etag: "e", RequestId: key}},
		"redo": {method: "POST", path: "/v1/flows/" + id + ":redoFlow", body: `{"etag":"e"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.RedoFlowRequest{Flow: "flows/" + id, Etag: "e", RequestId: key}},
		"delete a node": {method: "DELETE", path: "/v1/nodes/" + id + "?mode=REMOVE_MODE_SUBTREE&etag=e", headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.DeleteNodeRequest{Name: "nodes/" + id, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE, Etag: "e", RequestId: key}},
		"undelete a node": {method: "POST", path: "/v1/nodes/" + id + ":undeleteNode", body: `{"requestId":"` + key + `"}`,
			want: &flowstorev1.UndeleteNodeRequest{Name: "nodes/" + id, RequestId: key}},
		"delete a flow": {method: "DELETE", path: "/v1/flows/" + id + "?etag=e&requestId=" + key,
			want: &flowstorev1.DeleteFlowRequest{Name: "flows/" + id, Etag: "e", RequestId: key}},
		"undelete a flow": {method: "POST", path: "/v1/flows/" + id + ":undeleteFlow", headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.UndeleteFlowRequest{Name: "flows/" + id, RequestId: key}},
		"nodes in the trash": {method: "GET", path: "/v1/nodes?deleted=true", want: &flowstorev1.ListNodesRequest{Deleted: true}},
		"flows in the trash": {method: "GET", path: "/v1/flows?deleted=true", want: &flowstorev1.ListFlowsRequest{Deleted: true}},
		"update": {method: "PATCH", path: "/v1/flows/" + id + "?updateMask=displayName,story.dialogueLevel,story.title,no_such", body: `{"displayName":"夜","etag":"e"}`,
			want: &flowstorev1.UpdateFlowRequest{Flow: &flowstorev1.Flow{Name: "flows/" + id, DisplayName: "夜", Etag: "e"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"display_name", "story.dialogue_level", "story.title", "no_such"}}}},
		"update a node": {method: "PATCH", path: "/v1/nodes/" + id + "?updateMask=summary,tags", body: `{"summary":{"text":"夜","source":"s"},"tags":["雨"],"etag":"e"}`, headers: []string{"Idempotency-Key", key},
			want: &flowstorev1.UpdateNodeRequest{Node: &flowstorev1.Node{
				Name: "nodes/" + id, Summary: &flowstorev1.NodeSummary{Text: "夜", Source: "s"}, Tags: []string{"雨"}, Etag: "e",
			}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"summary", "tags"}}, RequestId: key}},
		"revisions": {method: "GET", path: "/v1/nodes/" + id + ":listNodeRevisions?pageSize=2&view=NODE_VIEW_FULL",
			want: &flowstorev1.ListNodeRevisionsRequest{Name: "nodes/" + id, PageSize: 2, View: flowstorev1.NodeView_NODE_VIEW_FULL}},
		"restore": {method: "POST", path: "/v1/nodes/" + id + ":restoreNodeRevision", body: `{"revision":"7","etag":"e"}`,
			want: &flowstorev1.RestoreNodeRevisionRequest{Name: "nodes/" + id, Revision: "7", Etag: "e"}},
		"split": {method: "POST", path: "/v1/flows/" + id + ":splitNode", body: `{"node":"nodes/a","textIndex":0,"offset":7,"etag":"e","setCurrent":true}`,
			want: &flowstorev1.SplitNodeRequest{Flow: "flows/" + id, Node: "nodes/a", TextIndex: proto.Int32(0), Offset: proto.Int32(7), Etag: "e", SetCurrent: true}},
		"branch": {method: "POST", path: "/v1/flows/" + id + ":branchFlow", body: `{"node":"nodes/a","displayName":"雨"}`,
			want: &flowstorev1.BranchFlowRequest{Flow: "flows/" + id, Node: "nodes/a", DisplayName: "雨"}},
		"fork": {method: "POST", path: "/v1/flows/" + id + ":forkFlow", body: `{"way":"FORK_WAY_PATH","node":"nodes/a"}`,
			want: &flowstorev1.ForkFlowRequest{Flow: "flows/" + id, Way: flowstorev1.ForkWay_FORK_WAY_PATH, Node: "nodes/a"}},
		"purge a node": {method: "POST", path: "/v1/nodes/" + id + ":purgeNode", body: `{"reason":"r"}`,
			want: &flowstorev1.PurgeNodeRequest{Name: "nodes/" + id, Reason: "r"}},
		"purge a flow": {method: "POST", path: "/v1/flows/" + id + ":purgeFlow", body: `{"reason":"r","purgeNodes":true}`,
			want: &flowstorev1.PurgeFlowRequest{Name: "flows/" + id, Reason: "r", PurgeNodes: true}},
		"rebuild": {method: "POST", path: "/v1/flows/" + id + ":rebuildFlow", body: `{"nodes":["nodes/a","nodes/b"],"etag":"e"}`,
			want: &flowstorev1.RebuildFlowRequest{Flow: "flows/" + id, Nodes: []string{"nodes/a", "nodes/b"}, Etag: "e"}},
		"update lists": {method: "PATCH", path: "/v1/flows/" + id + "?updateMask=heads,links", body: `{"etag":"e","heads":[{"displayName":"雨","node":"nodes/a"}],"links":[{"flow":"flows/b"}]}`,
			want: &flowstorev1.UpdateFlowRequest{Flow: &flowstorev1.Flow{
				Name: "flows/" + id, Etag: "e", Heads: []*flowstorev1.FlowHead{{DisplayName: "雨", Node: "nodes/a"}}, Links: []*flowstorev1.FlowLink{{Flow: "flows/b"}},
			}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"heads", "links"}}}},
		"update without a mask": {method: "PATCH", path: "/v1/flows/" + id, body: `{"story":{"title":"夜"}}`,
			want: &flowstorev1.UpdateFlowRequest{Flow: &flowstorev1.Flow{Name: "flows/" + id, Story: &commonv1.Story{Title: proto.String("夜")}}}},
		"a key for nothing": {method: "POST", path: "/v1/store:flushStore", headers: []string{"Idempotency-Key", key}, want: &flowstorev1.FlushStoreRequest{}},
		"charset":           {method: "POST", path: "/v1/store:flushStore", body: "{}", headers: []string{"Content-Type", "application/json; charset=UTF-8"}, want: &flowstorev1.FlushStoreRequest{}},
		"no body":           {method: "POST", path: "/v1/nodes", want: &flowstorev1.CreateNodeRequest{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := do(t, newRequest(t, tt.method, server.URL+tt.path, tt.body, tt.headers...))
			request, _ := s.last()
			if diff := cmp.Diff(tt.want, request, protocmp.Transform()); got.status != 200 || diff != "" {
				t.Errorf("%d %s\n%s", got.status, got.body, diff)
			}
		})
	}
}

// A text over the 4 MiB that gRPC takes by itself goes both ways unchanged (etcd#14997).
func TestLargeText(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	text := strings.Repeat("紡ぎ🧵", 5<<20/10)
	got := do(t, newRequest(t, "POST", server.URL+"/v1/nodes", `{"texts":[{"role":"user","content":"`+text+`"}]}`))
	if got.status != 200 || !strings.Contains(got.body, `"`+text+`"`) {
		t.Errorf("%d, %d bytes came back", got.status, len(got.body))
	}
}

// A body of no declared length is bounded while it is read.
func TestChunkedBodyTooLarge(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{}, func(c *app.Config, _ *app.Deps) { c.MaxBody = 1 << 10 })
	for size, want := range map[int]int{100: 200, 1 << 10: 413, 1 << 20: 413} {
		r := newRequest(t, "POST", server.URL+"/v1/nodes", `{"model":"`+strings.Repeat("x", size)+`"}`)
		r.ContentLength = -1
		if got := do(t, r); got.status != want {
			t.Errorf("%d bytes: %d %s", size, got.status, got.body)
		}
	}
}

// A client that sends all of its body before it looks for an answer finds one.
func TestBodyTooLargeSentFirst(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{}, func(c *app.Config, _ *app.Deps) { c.MaxBody = 1 << 10 })
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 20 << 20
	head := fmt.Sprintf("POST /v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	if _, err := io.WriteString(conn, head+strings.Repeat("x", size)); err != nil {
		t.Fatal("while sending:", err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") || !strings.Contains(string(answer), "BODY_TOO_LARGE") {
		t.Errorf("%s, %v", answer, err)
	}
}

// called is a connection that tells which call was made and ends it.
type called struct{ method string }

var errCalled = errors.New("called")

func (c *called) Invoke(_ context.Context, method string, _, _ any, _ ...grpc.CallOption) error {
	c.method = method
	return errCalled
}

func (c *called) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	c.method = method
	return nil, errCalled
}

// Each path of the protos leads to its call, on the connection of its service.
func TestEveryRouteReachesItsCall(t *testing.T) {
	t.Parallel()
	conns := map[string]*called{"promptbuilder": {}, "agent": {}, "flowstore": {}}
	server, _ := start(t, &services{}, func(_ *app.Config, d *app.Deps) {
		d.PromptBuilder, d.Agent, d.FlowStore = conns["promptbuilder"], conns["agent"], conns["flowstore"]
	})
	for _, route := range routes.All() {
		path := strings.NewReplacer("{name=", "", "{flow=", "", "{node=", "", "{flow.name=", "", "{node.name=", "", "{session=", "", "{session.name=", "", "}", "", "*", id).Replace(route.Path)
		got := do(t, newRequest(t, route.Method, server.URL+path, ""))
		if reason, _ := got.reason(t); got.status != http.StatusInternalServerError || reason != "INTERNAL" || strings.Contains(got.body, "called") {
			t.Errorf("%s %s: %d %s", route.Method, path, got.status, got.body)
		}
		service := string(route.RPC.Parent().FullName())
		if method, want := conns[routes.ServiceOf(service)].method, "/"+service+"/"+string(route.RPC.Name()); method != want {
			t.Errorf("%s %s reached %q, want %q", route.Method, path, method, want)
		}
	}
}
