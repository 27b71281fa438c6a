package transport_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// refusal gives what a caller reads out of an error.
func refusal(t *testing.T, err error) *apierr.Error {
	t.Helper()
	e, ok := apierr.FromStatus(err)
	if !ok {
		t.Fatalf("not an error of ours: %v", err)
	}
	return e
}

// expect holds an error to its code, its reason and the fields that it names.
func expect(t *testing.T, err error, want string, fields ...string) {
	t.Helper()
	e := refusal(t, err)
	if got := e.Code.String() + " " + e.Reason; got != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	var got []string
	for _, v := range e.Violations {
		got = append(got, v.Field)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("fields: %s", diff)
	}
}

const invalid = "InvalidArgument INVALID_FIELD"

// Every wrong field is told at once, and nothing is stored.
func TestWrongFields(t *testing.T) {
	t.Parallel()
	c := serve(t)
	many := func(n int, item string) []string { return strings.Split(strings.Repeat(item+"\n", n-1)+item, "\n") }
	create := func(edit func(n *flowstorev1.Node)) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			n := said("a")
			edit(n)
			_, err := c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: n, NodeId: id(77)})
			return err
		}
	}
	generated := func(g *flowstorev1.Generation) func(ctx context.Context) error {
		return create(func(n *flowstorev1.Node) { n.Generation = g })
	}
	flow := func(f *flowstorev1.Flow) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateFlow(ctx, &flowstorev1.CreateFlowRequest{Flow: f, FlowId: id(77)})
			return err
		}
	}
	add := func(req *flowstorev1.AddNodeRequest) func(ctx context.Context) error {
		return func(ctx context.Context) error { _, err := c.AddNode(ctx, req); return err }
	}
	name := "nodes/" + id(1)
	cases := map[string]struct {
		call   func(ctx context.Context) error
		fields []string
	}{
		"two at once": {func(ctx context.Context) error {
			_, err := c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Texts: []*flowstorev1.Text{{}}}, RequestId: "x"})
			return err
		}, []string{"node.texts[0].role", "request_id"}},
		"nothing": {func(ctx context.Context) error {
			_, err := c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{})
			return err
		}, []string{"node"}},
		"5 MiB of text": {create(func(n *flowstorev1.Node) { n.Texts[0].Content = strings.Repeat("x", 5<<20) }), []string{"node.texts[0].content"}},
		"9 MiB in three": {create(func(n *flowstorev1.Node) {
			n.Texts[0].Content = strings.Repeat("x", 3<<20)
			n.Texts = slices.Repeat(n.Texts, 3)
		}), []string{"node.texts"}},
		"no texts": {create(func(n *flowstorev1.Node) { n.Texts = nil }), []string{"node.texts"}},
		"1,001 texts": {create(func(n *flowstorev1.Node) {
			n.Texts = slices.Repeat(n.Texts, 1001)
		}), []string{"node.texts"}},
		"a role": {create(func(n *flowstorev1.Node) { n.Texts[0].Role = "narrator" }), []string{"node.texts[0].role"}},
		"numbers of a text": {create(func(n *flowstorev1.Node) {
			n.Texts[0].TokenCount, n.Texts[0].DurationSeconds, n.Texts[0].TokensPerSecond = -1, math.NaN(), math.Inf(1)
		}), []string{"node.texts[0].duration_seconds", "node.texts[0].token_count", "node.texts[0].tokens_per_second"}},
		"what a reader says": {create(func(n *flowstorev1.Node) {
			n.Score, n.Note, n.Summary, n.Etag = proto.Float64(1000.5), strings.Repeat("x", 64<<10+1), &flowstorev1.NodeSummary{Text: "x", Source: "y"}, "z"
		}), []string{"node.etag", "node.note", "node.score", "node.summary.source", "node.summary.text"}},
		"a score that is none": {create(func(n *flowstorev1.Node) { n.Score = proto.Float64(math.NaN()) }), []string{"node.score"}},
		"a name of a new one":  {create(func(n *flowstorev1.Node) { n.Name = name }), []string{"node.name"}},
		"model":                {create(func(n *flowstorev1.Node) { n.Model = strings.Repeat("x", 1025) }), []string{"node.model"}},
		"tags": {create(func(n *flowstorev1.Node) {
			n.Tags = []string{"", "a,b", "赤、青", "a，b", strings.Repeat("x", 257), "good"}
		}), []string{"node.tags[0]", "node.tags[1]", "node.tags[2]", "node.tags[3]", "node.tags[4]"}},
		"65 tags": {create(func(n *flowstorev1.Node) { n.Tags = many(65, "x") }), []string{"node.tags"}},
		"labels": {generated(&flowstorev1.Generation{
			Backend: &commonv1.BackendIdentity{Backend: strings.Repeat("x", 1025), Window: -1}, PromptDigest: strings.Repeat("x", 1025), Error: strings.Repeat("x", 4097),
			Picks: []string{strings.Repeat("x", 8<<10+1)}, PromptTokens: -1, CachedTokens: -1, AnswerTokens: -1, PromptSeconds: -1, AnswerSeconds: math.NaN(),
		}), []string{
			"node.generation.answer_seconds", "node.generation.answer_tokens", "node.generation.backend.backend", "node.generation.backend.window",
			"node.generation.cached_tokens", "node.generation.error", "node.generation.picks[0]", "node.generation.prompt_digest",
			"node.generation.prompt_seconds", "node.generation.prompt_tokens",
		}},
		"large picks": {generated(&flowstorev1.Generation{Picks: many(33, strings.Repeat("x", 8<<10))}), []string{"node.generation.picks"}},
		"1,001 picks": {generated(&flowstorev1.Generation{Picks: many(1001, "x")}), []string{"node.generation.picks"}},
		"sampling": {generated(&flowstorev1.Generation{Sampling: &flowstorev1.Sampling{
			Temperature: proto.Float64(5.1), TopP: proto.Float64(-0.1), TopK: proto.Int32(-1), MinP: proto.Float64(math.NaN()), RepeatPenalty: proto.Float64(11),
			MaxTokens: -1, Stop: []string{strings.Repeat("x", 1025)}, Dry: &flowstorev1.Sampling_Dry{Base: 2}, Grammar: strings.Repeat("x", 64<<10+1),
		}}), []string{
			"node.generation.sampling.dry.multiplier", "node.generation.sampling.grammar",
			"node.generation.sampling.max_tokens", "node.generation.sampling.min_p", "node.generation.sampling.repeat_penalty",
			"node.generation.sampling.stop[0]", "node.generation.sampling.temperature", "node.generation.sampling.top_k", "node.generation.sampling.top_p",
		}},
		"33 stops":   {generated(&flowstorev1.Generation{Sampling: &flowstorev1.Sampling{Stop: many(33, "x")}}), []string{"node.generation.sampling.stop"}},
		"no display": {flow(&flowstorev1.Flow{}), []string{"flow.display_name"}},
		"a flow": {flow(&flowstorev1.Flow{
			Name: "flows/" + id(1), Etag: "e", DisplayName: strings.Repeat("長", 257), Description: strings.Repeat("x", 64<<10+1),
			Story: &commonv1.Story{
				Title: proto.String(strings.Repeat("x", 64<<10+1)), Keywords: many(65, "x"), Genres: []string{"g", strings.Repeat("x", 1025)}, Rating: proto.String("x"),
			},
		}), []string{"flow.description", "flow.display_name", "flow.etag", "flow.name", "flow.story.genres[1]", "flow.story.keywords", "flow.story.rating", "flow.story.title"}},
		"no id": {func(ctx context.Context) error { _, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{}); return err }, []string{"name"}},
		"a flow for a node": {func(ctx context.Context) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: "flows/" + id(1)})
			return err
		}, []string{"name"}},
		"no source":     {add(&flowstorev1.AddNodeRequest{Flow: "flows/" + id(1)}), []string{"new_node"}},
		"an empty name": {add(&flowstorev1.AddNodeRequest{Flow: "flows/" + id(1), Source: &flowstorev1.AddNodeRequest_Node{}, Parents: []string{name, ""}}), []string{"node", "parents[1]"}},
		"an id for a stored one": {add(&flowstorev1.AddNodeRequest{
			Flow: "flows/" + id(1), Source: &flowstorev1.AddNodeRequest_Node{Node: name}, NodeId: id(2), Children: []string{id(3)},
		}), []string{"children[0]", "node_id"}},
		"1,001 parents": {add(&flowstorev1.AddNodeRequest{
			Flow: "flows/x", Source: &flowstorev1.AddNodeRequest_Node{Node: name}, Parents: many(1001, name), Children: many(1001, name),
		}), []string{"children", "flow", "parents"}},
		"a new one in a flow": {add(&flowstorev1.AddNodeRequest{
			Flow: "flows/" + id(1), Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "x"}}}}, NodeId: "x",
		}), []string{"new_node.texts[0].role", "node_id"}},
		"page size": {func(ctx context.Context) error {
			_, err := c.ListPathNodes(ctx, &flowstorev1.ListPathNodesRequest{Flow: "flows/" + id(1), Node: "x", PageSize: -1})
			return err
		}, []string{"node", "page_size"}},
		"lists of nodes": {func(ctx context.Context) error {
			_, err := c.ListNodes(ctx, &flowstorev1.ListNodesRequest{View: 7, PageSize: -1, PageToken: "x"})
			return err
		}, []string{"page_size", "view"}},
		"a search": {func(ctx context.Context) error {
			_, err := c.SearchNodes(ctx, &flowstorev1.SearchNodesRequest{Query: `role:poet "夜`, PageSize: -1})
			return err
		}, []string{"page_size", "query"}},
		"a search for nothing": {func(ctx context.Context) error {
			_, err := c.SearchNodes(ctx, &flowstorev1.SearchNodesRequest{})
			return err
		}, []string{"query"}},
		"a list of tags": {func(ctx context.Context) error {
			_, err := c.ListTags(ctx, &flowstorev1.ListTagsRequest{Prefix: strings.Repeat("t", 257), PageSize: -1})
			return err
		}, []string{"page_size", "prefix"}},
		"a part of a text": {func(ctx context.Context) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: name, View: basic, TextIndex: proto.Int32(-1), Offset: -1, Length: 1_000_001})
			return err
		}, []string{"length", "offset", "text_index", "view"}},
		"a part of no text": {func(ctx context.Context) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: name, Length: 5})
			return err
		}, []string{"text_index"}},
		"filters of nodes": {func(ctx context.Context) error {
			_, err := c.ListNodes(ctx, &flowstorev1.ListNodesRequest{
				Order: 9, Flow: "x", Role: "narrator", ModelContains: strings.Repeat("m", 1025), AllTags: []string{"a", " ", "b、c"}, AnyTags: many(65, "t"),
				CreateTimeFrom: &timestamppb.Timestamp{Nanos: -1}, CreateTimeBefore: &timestamppb.Timestamp{Seconds: 1 << 60},
			})
			return err
		}, []string{"all_tags[1]", "all_tags[2]", "any_tags", "create_time_before", "create_time_from", "flow", "model_contains", "order", "role"}},
		"a span backwards, a long tag": {func(ctx context.Context) error {
			at := &timestamppb.Timestamp{Seconds: 5}
			_, err := c.ListNodes(ctx, &flowstorev1.ListNodesRequest{CreateTimeFrom: at, CreateTimeBefore: at, AnyTags: []string{strings.Repeat("t", 257)}})
			return err
		}, []string{"any_tags[0]", "create_time_before"}},
		"filters of flows": {func(ctx context.Context) error {
			_, err := c.ListFlows(ctx, &flowstorev1.ListFlowsRequest{
				Order: -1, DisplayNameContains: strings.Repeat("m", 1025), CreateTimeFrom: &timestamppb.Timestamp{Seconds: -62135596800},
				UpdateTimeFrom: &timestamppb.Timestamp{Nanos: 1_000_000_000},
			})
			return err
		}, []string{"create_time_from", "display_name_contains", "order", "update_time_from"}},
		"lists of flows": {func(ctx context.Context) error {
			_, err := c.ListFlows(ctx, &flowstorev1.ListFlowsRequest{PageSize: -1})
			return err
		}, []string{"page_size"}},
		"history": {func(ctx context.Context) error {
			_, err := c.ListHistoryNodes(ctx, &flowstorev1.ListHistoryNodesRequest{View: 7, PageSize: -1})
			return err
		}, []string{"flow", "page_size", "view"}},
		"two nodes": {func(ctx context.Context) error {
			_, err := c.DiffNodes(ctx, &flowstorev1.DiffNodesRequest{Node: "x"})
			return err
		}, []string{"node", "other"}},
		"two heads": {func(ctx context.Context) error {
			_, err := c.DiffHeads(ctx, &flowstorev1.DiffHeadsRequest{Flow: "x", Other: "nodes/"})
			return err
		}, []string{"flow", "node", "other"}},
		"validate": {func(ctx context.Context) error {
			_, err := c.ValidateFlow(ctx, &flowstorev1.ValidateFlowRequest{Flow: "nodes/x"})
			return err
		}, []string{"flow"}},
		"view": {func(ctx context.Context) error {
			_, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: "x", View: -1})
			return err
		}, []string{"name", "view"}},
		"undo": {func(ctx context.Context) error {
			_, err := c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{RequestId: "x"})
			return err
		}, []string{"flow", "request_id"}},
		"redo": {func(ctx context.Context) error {
			_, err := c.RedoFlow(ctx, &flowstorev1.RedoFlowRequest{Flow: "nodes/x", RequestId: "x"})
			return err
		}, []string{"flow", "request_id"}},
		"delete a node": {func(ctx context.Context) error {
			_, err := c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Mode: 9, RequestId: "x"})
			return err
		}, []string{"mode", "name", "request_id"}},
		"undelete a node": {func(ctx context.Context) error {
			_, err := c.UndeleteNode(ctx, &flowstorev1.UndeleteNodeRequest{Name: "flows/x", RequestId: "x"})
			return err
		}, []string{"name", "request_id"}},
		"delete a flow": {func(ctx context.Context) error {
			_, err := c.DeleteFlow(ctx, &flowstorev1.DeleteFlowRequest{RequestId: "x"})
			return err
		}, []string{"name", "request_id"}},
		"undelete a flow": {func(ctx context.Context) error {
			_, err := c.UndeleteFlow(ctx, &flowstorev1.UndeleteFlowRequest{Name: "flows/", RequestId: "x"})
			return err
		}, []string{"name", "request_id"}},
		"the trash in another order": {func(ctx context.Context) error {
			at := &timestamppb.Timestamp{Seconds: 5}
			_, err := c.ListNodes(ctx, &flowstorev1.ListNodesRequest{Deleted: true, Order: 2, CreateTimeFrom: at, CreateTimeBefore: &timestamppb.Timestamp{Seconds: 6}})
			return err
		}, []string{"create_time_before", "create_time_from", "order"}},
		"the trash of flows before": {func(ctx context.Context) error {
			_, err := c.ListFlows(ctx, &flowstorev1.ListFlowsRequest{Deleted: true, CreateTimeBefore: &timestamppb.Timestamp{Seconds: 5}})
			return err
		}, []string{"create_time_before"}},
		"current": {func(ctx context.Context) error {
			_, err := c.SetCurrentNode(ctx, &flowstorev1.SetCurrentNodeRequest{Node: "nodes/"})
			return err
		}, []string{"flow", "node"}},
	}
	for title, tt := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.call(t.Context()), invalid, tt.fields...)
			_, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: "nodes/" + id(77)})
			expect(t, err, noNode, "name")
			_, err = c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: "flows/" + id(77)})
			expect(t, err, noFlow, "name")
		})
	}
}

func TestLimitIsNamed(t *testing.T) {
	t.Parallel()
	c := serve(t)
	_, err := c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said(strings.Repeat("x", 5<<20))})
	expect(t, err, invalid, "node.texts[0].content")
	const want = "is 5242880 bytes long; the limit is 4194304 bytes (4 MiB): give the node several texts of this role, together at most 8 MiB, or go on in another node"
	if got := refusal(t, err).Violations[0].Description; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// cases/flowstore.md 34: an answer of 6 MB does not fit into one text of a node that is created; in two, as the refusal says, it is stored.
func TestFlowstore34AnswerInTwoTexts(t *testing.T) {
	t.Parallel()
	c := serve(t)
	n := said("q")
	for range 2 {
		n.Texts = append(n.Texts, &flowstorev1.Text{Role: "assistant", Content: strings.Repeat("夜", 1<<20)})
	}
	made := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: n}))
	got := must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: made.GetName()}))
	if len(got.GetTexts()) != 3 || got.GetTexts()[1].GetContent() != n.GetTexts()[1].GetContent() || got.GetTexts()[2].GetContent() != n.GetTexts()[2].GetContent() {
		t.Error("the texts came back otherwise")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for _, name := range []string{
		"nodes/x", "nodes/", "nodes", id(1), "/nodes/" + id(1), "nodes/" + id(1) + "/", "nodes/" + id(1) + " ", "nodes/{" + id(1) + "}",
		"nodes/urn:uuid:" + id(1), "nodes/" + strings.ReplaceAll(id(1), "-", ""), "Nodes/" + id(1), "nodes/../nodes/" + id(1),
		"nodes/00000000-0000-0000-0000-000000000000",
	} {
		_, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name})
		expect(t, err, invalid, "name")
	}
	for _, name := range []string{"nodes/" + id(0xABC), "nodes/" + strings.ToUpper(id(0xABC))} {
		_, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name})
		expect(t, err, noNode, "name")
		if got := refusal(t, err).Metadata["node"]; got != "nodes/"+id(0xABC) {
			t.Errorf("metadata: %s", got)
		}
	}
}
