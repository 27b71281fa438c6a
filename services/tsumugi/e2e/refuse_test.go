package e2e

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// library is what there is when bad input comes: two flows, and a node that is in neither.
type library struct {
	flow, other       string
	a, b, c           string // a chain in flow
	elsewhere, nobody string // a node of the other flow, and one of none
}

func (w *world) library(t *testing.T) library {
	t.Helper()
	l := library{flow: w.newFlow(t), other: w.newFlow(t)}
	l.a = w.say(t, l.flow, "一。\n")
	l.b = w.say(t, l.flow, "二。\n", l.a)
	l.c = w.say(t, l.flow, "三。\n", l.b)
	l.elsewhere = w.say(t, l.other, "別の話。\n")
	loose, err := w.flows.CreateNode(w.ctx, &flowstorev1.CreateNodeRequest{Node: said("どこにも属さない。")})
	if err != nil {
		t.Fatal(err)
	}
	l.nobody = loose.Name
	return l
}

// unchanged runs something that must change nothing: neither what is answered about the flow nor any text file.
func (w *world) unchanged(t *testing.T, flow string, run func()) {
	t.Helper()
	before, files := w.flow(t, flow), w.files(t)
	run()
	if diff := cmp.Diff(before, w.flow(t, flow), protocmp.Transform()); diff != "" {
		t.Errorf("the flow has changed: %s", diff)
	}
	if diff := cmp.Diff(files, w.files(t)); diff != "" {
		t.Errorf("files have changed: %s", diff)
	}
}

// files brings the text files up to date and gives their content by path.
func (w *world) files(t *testing.T) map[string]string {
	t.Helper()
	if _, err := w.flows.FlushStore(w.ctx, &flowstorev1.FlushStoreRequest{}); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(w.settings.data), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".flowstore":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(w.settings.data, path))
		all[path] = string(text)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files in %s: %v", len(all), w.settings.data, err)
	}
	return all
}

// wrong is a call with bad input.
type wrong struct {
	call func() error
	want refusal
}

// Every kind of bad input has its code, field and reason, and changes nothing.
func refused(t *testing.T, m mode) {
	w := open(t, m, nobody)
	l := w.library(t)
	cases := map[string]map[string]wrong{
		"fields": w.wrongFields(l), "names": w.wrongNames(l), "graph": w.wrongGraphs(l), "sizes": w.wrongSizes(l), "reuse": w.wrongReuse(t, l),
	}
	w.unchanged(t, l.flow, func() {
		for kind, group := range cases {
			for name, c := range group {
				t.Run(kind+"/"+name, func(t *testing.T) { c.want.check(t, c.call()) })
			}
		}
		t.Run("one rule has one wording", func(t *testing.T) { w.oneWording(t, l) })
	})
}

// oneWording: each service that takes story fields says the same of a rating that there is not.
func (w *world) oneWording(t *testing.T, l library) {
	bad := &commonv1.Story{Rating: proto.String("r20")}
	_, built := w.prompts.BuildStory(w.ctx, &promptbuilderv1.BuildStoryRequest{Story: bad})
	_, stored := w.flows.CreateFlow(w.ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "題", Story: bad}})
	generated := w.generated(&agentv1.GenerateNodeRequest{Flow: l.flow, Story: bad})
	want := told(t, built).Violations[0].Description
	for _, err := range []error{stored, generated} {
		if got := told(t, err).Violations[0].Description; got != want {
			t.Errorf("%q and %q", got, want)
		}
	}
}

func invalid(fields ...string) refusal {
	return refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD", fields: fields}
}

func missing(reason, key, name string) refusal {
	return refusal{code: codes.NotFound, reason: reason, metadata: map[string]string{key: name}}
}

// in says which fields of the request are named.
func (want refusal) in(fields ...string) refusal {
	want.fields = fields
	return want
}

func (w *world) addNode(q *flowstorev1.AddNodeRequest) error {
	_, err := w.flows.AddNode(w.ctx, q)
	return err
}

// generated gives how a call of GenerateNode ends.
func (w *world) generated(q *agentv1.GenerateNodeRequest) error {
	r := w.generate(q)
	defer r.leave()
	for r.step() {
	}
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

func added(node string) *flowstorev1.AddNodeRequest_Node {
	return &flowstorev1.AddNodeRequest_Node{Node: node}
}

func fresh(text string) *flowstorev1.AddNodeRequest_NewNode {
	return &flowstorev1.AddNodeRequest_NewNode{NewNode: said(text)}
}

func (w *world) wrongFields(l library) map[string]wrong {
	return map[string]wrong{
		"two at once": {func() error {
			_, err := w.flows.CreateNode(w.ctx, &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Content: "x"}}}, RequestId: "x"})
			return err
		}, invalid("node.texts[0].role", "request_id")},
		"many at once": {func() error {
			return w.generated(&agentv1.GenerateNodeRequest{Flow: "x", Parent: "nodes/y", RequestId: "z", Sampling: &flowstorev1.Sampling{TopP: proto.Float64(2), MaxTokens: -1}})
		}, invalid("flow", "parent", "request_id", "sampling.max_tokens", "sampling.top_p")},
		"an id that is no UUID": {func() error {
			_, err := w.flows.GetNode(w.ctx, &flowstorev1.GetNodeRequest{Name: "nodes/../../config"})
			return err
		}, invalid("name")},
		"a node where a flow belongs": {func() error { return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.a, Source: fresh("x")}) }, invalid("flow")},
		"text beside a prompt": {func() error {
			return w.generated(&agentv1.GenerateNodeRequest{Flow: l.flow, Prompt: "1 2", Text: "3", Via: []string{l.a}})
		}, invalid("text", "via", "via")},
		"a page token of another query": {func() error { return w.page(l.flow, l.c, w.token(l.flow, l.b)) },
			refusal{code: codes.InvalidArgument, reason: "INVALID_PAGE_TOKEN", fields: []string{"page_token"}}},
		"a page token of another flow": {func() error { return w.page(l.other, "", w.token(l.flow, l.b)) },
			refusal{code: codes.InvalidArgument, reason: "INVALID_PAGE_TOKEN", fields: []string{"page_token"}}},
		"a page token that is none": {func() error { return w.page(l.flow, l.c, "x") },
			refusal{code: codes.InvalidArgument, reason: "INVALID_PAGE_TOKEN", fields: []string{"page_token"}}},
	}
}

func (w *world) page(flow, node, token string) error {
	_, err := w.flows.ListPathNodes(w.ctx, &flowstorev1.ListPathNodesRequest{Flow: flow, Node: node, PageSize: 1, PageToken: token})
	return err
}

// token gives the token of the second page of a path.
func (w *world) token(flow, node string) string {
	page, err := w.flows.ListPathNodes(w.ctx, &flowstorev1.ListPathNodesRequest{Flow: flow, Node: node, PageSize: 1})
	if err != nil {
		return err.Error()
	}
	return page.NextPageToken
}

func (w *world) wrongNames(l library) map[string]wrong {
	flow, node, generation := "flows/"+uuid.NewString(), "nodes/"+uuid.NewString(), "generations/"+uuid.NewString()
	noFlow, noNode := missing("FLOW_NOT_FOUND", "flow", flow), missing("NODE_NOT_FOUND", "node", node)
	noGeneration := missing("GENERATION_NOT_FOUND", "generation", generation).in("name")
	return map[string]wrong{
		"GetFlow": {func() error {
			_, err := w.flows.GetFlow(w.ctx, &flowstorev1.GetFlowRequest{Name: flow})
			return err
		}, noFlow.in("name")},
		"GetNode": {func() error {
			_, err := w.flows.GetNode(w.ctx, &flowstorev1.GetNodeRequest{Name: node})
			return err
		}, noNode.in("name")},
		"AddNode to no flow": {func() error { return w.addNode(&flowstorev1.AddNodeRequest{Flow: flow, Source: fresh("x")}) }, noFlow.in("flow")},
		"AddNode of no node": {func() error { return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: added(node)}) }, noNode.in("node")},
		"AddNode behind no node": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("x"), Parents: []string{l.a, node}})
		}, noNode.in("parents[1]")},
		"ListPathNodes of no flow":             {func() error { return w.page(flow, "", "") }, noFlow.in("flow")},
		"ListPathNodes of no node":             {func() error { return w.page(l.flow, node, "") }, noNode.in("node")},
		"GenerateNode in no flow":              {func() error { return w.generated(short(flow, "")) }, noFlow.in("flow")},
		"GenerateNode behind no node":          {func() error { return w.generated(short(l.flow, node)) }, noNode.in("parent")},
		"GenerateNode in no flow, plain":       {func() error { return w.generated(counting(flow, 5)) }, noFlow.in("flow")},
		"GenerateNode with an unknown backend": {func() error { return w.generated(&agentv1.GenerateNodeRequest{Flow: l.flow, Backend: "gpt"}) }, refusal{code: codes.NotFound, reason: "UNKNOWN_BACKEND", metadata: map[string]string{"backend": "gpt", "known": "gemma"}}.in("backend")},
		"SetCurrentNode": {func() error {
			_, err := w.flows.SetCurrentNode(w.ctx, &flowstorev1.SetCurrentNodeRequest{Flow: l.flow, Node: node})
			return err
		}, noNode.in("node")},
		"GetGeneration": {func() error {
			_, err := w.agents.GetGeneration(w.ctx, &agentv1.GetGenerationRequest{Name: generation})
			return err
		}, noGeneration},
		"CancelGeneration": {func() error {
			_, err := w.agents.CancelGeneration(w.ctx, &agentv1.CancelGenerationRequest{Name: generation})
			return err
		}, noGeneration},
		"WatchGeneration": {func() error {
			r := w.watch(generation, 0)
			r.step()
			return r.err
		}, noGeneration},
	}
}

func (w *world) wrongGraphs(l library) map[string]wrong {
	outside := func(node string) refusal {
		return refusal{code: codes.FailedPrecondition, reason: "NOT_IN_FLOW", metadata: map[string]string{"flow": l.flow, "node": node}}
	}
	cycle := func(path ...string) refusal {
		return refusal{code: codes.FailedPrecondition, reason: "CYCLE", metadata: map[string]string{"flow": l.flow, "path": strings.Join(path, ",")}}
	}
	return map[string]wrong{
		"AddNode behind a node of another flow": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("x"), Parents: []string{l.elsewhere}})
		}, outside(l.elsewhere).in("parents[0]")},
		"AddNode before a node of no flow": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("x"), Children: []string{l.nobody}})
		}, outside(l.nobody).in("children[0]")},
		"GenerateNode behind a node of another flow": {func() error { return w.generated(short(l.flow, l.elsewhere)) }, outside(l.elsewhere).in("parent")},
		"SetCurrentNode": {func() error {
			_, err := w.flows.SetCurrentNode(w.ctx, &flowstorev1.SetCurrentNodeRequest{Flow: l.flow, Node: l.elsewhere})
			return err
		}, outside(l.elsewhere).in("node")},
		"a cycle of three": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: added(l.a), Parents: []string{l.c}})
		}, cycle(l.a, l.b, l.c, l.a).in("parents[0]")},
		"a cycle of one": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: added(l.a), Parents: []string{l.a}})
		}, cycle(l.a, l.a).in("parents[0]")},
		"a cycle through a new node": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("x"), Parents: []string{l.c}, Children: []string{l.a}})
		}, refusal{code: codes.FailedPrecondition, reason: "CYCLE", metadata: map[string]string{"path": ""}}.in("children[0]", "parents[0]")},
	}
}

func (w *world) wrongSizes(l library) map[string]wrong {
	large := strings.Repeat("長い話。", 5<<20/12)
	return map[string]wrong{
		"CreateNode": {func() error {
			_, err := w.flows.CreateNode(w.ctx, &flowstorev1.CreateNodeRequest{Node: said(large)})
			return err
		}, invalid("node.texts[0].content")},
		"AddNode":                  {func() error { return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh(large)}) }, invalid("new_node.texts[0].content")},
		"GenerateNode":             {func() error { return w.generated(&agentv1.GenerateNodeRequest{Flow: l.flow, Text: large}) }, invalid("text")},
		"GenerateNode, the prompt": {func() error { return w.generated(&agentv1.GenerateNodeRequest{Flow: l.flow, Prompt: large}) }, invalid("prompt")},
		"BuildStory": {func() error {
			_, err := w.prompts.BuildStory(w.ctx, &promptbuilderv1.BuildStoryRequest{Body: large})
			return err
		}, invalid("body")},
		"CountTokens": {func() error {
			_, err := w.prompts.CountTokens(w.ctx, &promptbuilderv1.CountTokensRequest{Texts: []string{"x", large}})
			return err
		}, invalid("texts")},
	}
}

func (w *world) wrongReuse(t *testing.T, l library) map[string]wrong {
	t.Helper()
	q := &flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("四。\n"), Parents: []string{l.c}, RequestId: uuid.NewString()}
	if err := w.addNode(q); err != nil {
		t.Fatal(err)
	}
	return map[string]wrong{
		"a request id of another request": {func() error {
			other := proto.CloneOf(q)
			other.Parents = []string{l.b}
			return w.addNode(other)
		}, refusal{code: codes.InvalidArgument, reason: "REQUEST_ID_REUSED", metadata: map[string]string{"request_id": q.RequestId}}.in("request_id")},
		"an id that is taken": {func() error {
			return w.addNode(&flowstorev1.AddNodeRequest{Flow: l.flow, Source: fresh("x"), NodeId: strings.TrimPrefix(l.b, "nodes/")})
		}, refusal{code: codes.AlreadyExists, reason: "ALREADY_EXISTS", metadata: map[string]string{"name": l.b}}.in("node_id")},
	}
}

// What only HTTP can get wrong.
func refusedHTTP(t *testing.T, m mode) {
	w := open(t, m, nobody)
	l := w.library(t)
	add := "/v1/" + l.flow + ":addNode"
	body := []byte(`{"newNode":{"texts":[{"role":"user","content":"x"}]}}`)
	invalidJSON := func(fields ...string) refusal {
		return refusal{code: codes.InvalidArgument, reason: "INVALID_JSON", fields: fields}
	}
	for name, tt := range map[string]struct {
		method, path string
		body         []byte
		headers      []string
		status       int
		want         refusal
		says         string
	}{
		"an unknown field": {http.MethodPost, add, []byte(`{"newNode":{"txts":[]}}`), nil, 400, invalidJSON("newNode.txts"), "there is no such field"},
		"a wrong type":     {http.MethodPost, add, []byte(`{"newNode":5}`), nil, 400, invalidJSON("newNode"), ""},
		"no JSON":          {http.MethodPost, add, []byte(`text=x`), nil, 400, invalidJSON(""), "is not one JSON object"},
		"a wrong content type": {http.MethodPost, add, body, []string{"Content-Type", "text/plain"}, 415,
			refusal{code: codes.InvalidArgument, reason: "UNSUPPORTED_MEDIA_TYPE"}.in("Content-Type"), "application/json"},
		"a wrong method": {http.MethodPut, "/v1/" + l.a, nil, nil, 405,
			refusal{code: codes.Unimplemented, reason: "METHOD_NOT_ALLOWED", metadata: map[string]string{"allow": "GET, PATCH, DELETE, OPTIONS"}}, "GET"},
		"an unknown host": {http.MethodPost, add, body, []string{"Host", "evil.example"}, 421,
			refusal{code: codes.PermissionDenied, reason: "UNKNOWN_HOST", metadata: map[string]string{"host": "evil.example"}}, "evil.example"},
		"a body of 20 MiB": {http.MethodPost, add, []byte(`{"newNode":{"texts":[{"role":"user","content":"` + strings.Repeat("x", 20<<20) + `"}]}}`), nil, 413,
			refusal{code: codes.ResourceExhausted, reason: "BODY_TOO_LARGE", metadata: map[string]string{"limit_bytes": "16777216"}}, "16777216"},
		"a text of 5 MiB": {http.MethodPost, add, []byte(`{"newNode":{"texts":[{"role":"user","content":"` + strings.Repeat("x", 5<<20) + `"}]}}`), nil, 400,
			invalid("newNode.texts[0].content"), "4194304"},
		"an unknown path":      {http.MethodGet, "/v1/novels", nil, nil, 404, refusal{code: codes.NotFound, reason: "ROUTE_NOT_FOUND"}, "/v1/novels"},
		"an unknown parameter": {http.MethodGet, "/v1/" + l.flow + ":listPathNodes?size=2", nil, nil, 400, invalid("size"), "pageSize"},
		"two fields of a service": {http.MethodPost, add, []byte(`{"newNode":{"texts":[{"content":"x"}]},"requestId":"x"}`), nil, 400,
			invalid("newNode.texts[0].role", "requestId"), ""},
		"a stream's first error": {http.MethodPost, "/v1/nodes:generateNode", []byte(`{}`), []string{"Accept", sse}, 400, invalid("flow"), ""},
		"a cycle":                {http.MethodPost, add, []byte(`{"node":"` + l.a + `","parents":["` + l.c + `"]}`), nil, 400, refusal{code: codes.FailedPrecondition, reason: "CYCLE"}.in("parents[0]"), ""},
		"a flow that is not there": {http.MethodGet, "/v1/flows/" + uuid.Nil.String()[:35] + "1", nil, nil, 404,
			refusal{code: codes.NotFound, reason: "FLOW_NOT_FOUND", metadata: map[string]string{"flow": ""}}.in("name"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w.unchanged(t, l.flow, func() {
				a := w.rest(t, tt.method, tt.path, tt.body, tt.headers...)
				tt.want.check(t, a.err())
				if got := told(t, a.err()).Message; a.status != tt.status || !strings.Contains(got, tt.says) {
					t.Errorf("%d: %s; want %d with %q", a.status, got, tt.status, tt.says)
				}
				if allow := tt.want.metadata["allow"]; allow != a.header.Get("Allow") {
					t.Errorf("Allow is %q, want %q", a.header.Get("Allow"), allow)
				}
			})
		})
	}
}
