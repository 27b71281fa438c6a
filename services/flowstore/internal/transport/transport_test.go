package transport_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func id(n uint32) string {
	u := uuid.UUID{6: 0x70, 8: 0x80}
	binary.BigEndian.PutUint32(u[12:], n)
	return u.String()
}

// counting gives ids 1, 2, 3 and so on.
type counting struct{ last atomic.Uint32 }

func (c *counting) NewID() uuid.UUID { return uuid.MustParse(id(c.last.Add(1))) }

var now = time.Date(2025, 5, 9, 6, 48, 6, 533720000, time.UTC)

// serve starts the service over an empty store, with the chain of production.
func serve(t *testing.T) flowstorev1.FlowStoreServiceClient {
	t.Helper()
	l := library.New(memory.New(func() time.Time { return now }), &counting{})
	return client(t, l)
}

func client(t *testing.T, l transport.Library) flowstorev1.FlowStoreServiceClient {
	t.Helper()
	return flowstorev1.NewFlowStoreServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, transport.New(l))
	}))
}

func said(content string) *flowstorev1.Node {
	return &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: content}}}
}

// must gives the answer of a call that must succeed: `must(t)(c.GetNode(...))` reads as one line.
func must[M proto.Message](t *testing.T) func(M, error) M {
	t.Helper()
	return func(m M, err error) M {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func same(t *testing.T, want, got proto.Message) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// whole is a node in which every field is set that a caller may set.
func whole() *flowstorev1.Node {
	return &flowstorev1.Node{
		Texts: []*flowstorev1.Text{
			{Role: "system", Content: "s", TokenCount: 1, DurationSeconds: 0.5, TokensPerSecond: 2},
			{Role: "user"}, {Role: "assistant", Content: "a"}, {Role: "tool", Content: "t"},
		},
		Model: "gemma", Tags: []string{"夜明け", "町"},
		Generation: &flowstorev1.Generation{
			Backend:      &commonv1.BackendIdentity{Backend: "gemma", Kind: "llamacpp", Address: "http://127.0.0.1:1", Model: "m", Window: 4096, Tokenizer: "t"},
			PromptDigest: "d", Task: "CONT_INFO", PickSeed: 1, Picks: []string{"story.note#0=1"},
			Sampling: &flowstorev1.Sampling{
				Temperature: proto.Float64(0), TopP: proto.Float64(1), TopK: proto.Int32(0), MinP: proto.Float64(0.05), RepeatPenalty: proto.Float64(1.1),
				Seed: proto.Uint32(0), MaxTokens: 250, Stop: []string{"\n"}, TypicalP: proto.Float64(1), TopA: proto.Float64(0), TailFree: proto.Float64(1),
				RepeatRange: proto.Int32(0), RepeatSlope: proto.Float64(10), PresencePenalty: proto.Float64(-2), FrequencyPenalty: proto.Float64(2),
				Dry:      &flowstorev1.Sampling_Dry{Multiplier: 10, Base: 1, AllowedLength: 1000, Range: 1_000_000, Breakers: slices.Repeat([]string{"b"}, 128)},
				Xtc:      &flowstorev1.Sampling_Xtc{Probability: 1, Threshold: 0.5},
				Mirostat: &flowstorev1.Sampling_Mirostat{Mode: 1, Tau: 20, Eta: 1}, DynamicTemperature: &flowstorev1.Sampling_DynamicTemperature{Range: 5, Exponent: 10},
				Smoothing: &flowstorev1.Sampling_Smoothing{Factor: 10, Curve: 10}, LogitBias: []*flowstorev1.Sampling_LogitBias{{Token: 1<<31 - 1, Bias: 100}, {}},
				BanEos: true, Grammar: strings.Repeat("x", 64<<10),
			},
			PromptTokens: 10, CachedTokens: 5, AnswerTokens: 3, PromptSeconds: 1.5, AnswerSeconds: 2.5, FinishReason: "length", Fault: "cut", Branch: "b", Error: "e", RequestDigest: "r",
		},
		Score: proto.Float64(0), Note: "よい。\r\n",
	}
}

func TestEveryFieldOfANodeComesBack(t *testing.T) {
	t.Parallel()
	c := serve(t)
	want := whole()
	made := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: want}))
	want.Name, want.CreateTime, want.Summary = "nodes/"+id(1), timestamppb.New(now), &flowstorev1.NodeSummary{Stale: true}
	want.Etag, want.Summary.Source = made.GetEtag(), made.GetSummary().GetSource()
	same(t, want, made)
	same(t, want, must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: made.GetName()})))
	small := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{
		Node: said(""), NodeId: strings.ToUpper(id(0xABC)),
	}))
	same(t, &flowstorev1.Node{Name: "nodes/" + id(0xABC), Etag: small.GetEtag(), CreateTime: timestamppb.New(now.Add(time.Microsecond)), Texts: said("").Texts, Summary: &flowstorev1.NodeSummary{Stale: true, Source: small.GetSummary().GetSource()}}, small)
}

func TestEveryFieldOfAFlowComesBack(t *testing.T) {
	t.Parallel()
	c := serve(t)
	want := &flowstorev1.Flow{
		DisplayName: "夜明けの町", Description: "第一稿",
		Story: &commonv1.Story{
			Title: proto.String("t"), Keywords: []string{"k"}, Genres: []string{"g"}, Synopsis: proto.String(""), Setting: proto.String("s"),
			Plot: proto.String("p"), Note: proto.String("n"), DialogueLevel: proto.String("d"), Rating: proto.String("r18"),
		},
	}
	made := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: want}))
	want.Name, want.CreateTime, want.UpdateTime, want.Etag = "flows/"+id(1), timestamppb.New(now), timestamppb.New(now), made.GetEtag()
	same(t, want, made)
	same(t, want, must[*flowstorev1.Flow](t)(c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: made.GetName()})))
	bare := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "x"}}))
	if bare.GetStory() != nil {
		t.Errorf("a story out of nothing: %v", bare)
	}
}

// A writer's way: a flow, a beginning, two continuations, the place moved, the path read.
func TestOneFlow(t *testing.T) {
	t.Parallel()
	c := serve(t)
	f := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}})).GetName()
	add := func(content string, parents ...string) *flowstorev1.AddNodeResponse {
		return must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
			Flow: f, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(content)}, Parents: parents, SetCurrent: true,
		}))
	}
	a := add("a").GetNode().GetName()
	b := add("b", a).GetNode().GetName()
	d := add("c", a)
	if d.GetIndex() != 3 || !cmp.Equal(d.GetParents(), []string{a}) {
		t.Errorf("the second continuation: %v", d)
	}
	moved := must[*flowstorev1.Flow](t)(c.SetCurrentNode(t.Context(), &flowstorev1.SetCurrentNodeRequest{Flow: f, Node: b}))
	want := &flowstorev1.Flow{
		Name: f, DisplayName: "n", CreateTime: timestamppb.New(now), UpdateTime: moved.GetUpdateTime(), Etag: moved.GetEtag(), Current: b,
		Nodes: []*flowstorev1.FlowNode{{Index: 1, Node: a}, {Index: 2, Node: b}, {Index: 3, Node: d.GetNode().GetName()}},
		Edges: []*flowstorev1.Edge{{From: 1, To: 2}, {From: 1, To: 3}},
	}
	same(t, want, moved)
	path := must[*flowstorev1.ListPathNodesResponse](t)(c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: f}))
	if len(path.GetNodes()) != 2 || path.GetNodes()[1].GetNode().GetTexts()[0].GetContent() != "b" || path.GetNextPageToken() != "" {
		t.Errorf("the path to the current node: %v", path)
	}
	nowhere := must[*flowstorev1.Flow](t)(c.SetCurrentNode(t.Context(), &flowstorev1.SetCurrentNodeRequest{Flow: f}))
	if nowhere.GetCurrent() != "" {
		t.Errorf("the place was not taken away: %v", nowhere)
	}
	must[*flowstorev1.FlushStoreResponse](t)(c.FlushStore(t.Context(), &flowstorev1.FlushStoreRequest{}))
}

// Texts come back byte for byte, whatever is in them.
func TestTextsAreVerbatim(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for _, text := range []string{
		"a\x00b", "\x1b[31m", "]]>", "a\r\nb\r", "👩‍👩‍👧", "か\u3099", "\u3099", "\ufeff", "\ufffe", " trailing \n\n", "\u202e", strings.Repeat("長", 4<<20/3),
	} {
		n := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said(text)}))
		got := must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: n.GetName()}))
		if got.GetTexts()[0].GetContent() != text {
			t.Errorf("%.20q came back otherwise", text)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := serve(t)
	f := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}})).GetName()
	var parents []string
	for _, content := range []string{"a", "b", "c"} {
		n := must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
			Flow: f, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(content)}, Parents: parents, SetCurrent: true,
		}))
		parents = []string{n.GetNode().GetName()}
	}
	req := &flowstorev1.ListPathNodesRequest{Flow: f, PageSize: 2}
	first := must[*flowstorev1.ListPathNodesResponse](t)(c.ListPathNodes(t.Context(), req))
	if len(first.GetNodes()) != 2 || first.GetNextPageToken() == "" {
		t.Fatalf("first page: %v", first)
	}
	second := proto.CloneOf(req)
	second.PageToken, second.PageSize = first.GetNextPageToken(), 5000
	rest := must[*flowstorev1.ListPathNodesResponse](t)(c.ListPathNodes(t.Context(), second))
	if len(rest.GetNodes()) != 1 || rest.GetNodes()[0].GetIndex() != 3 || rest.GetNextPageToken() != "" {
		t.Errorf("second page: %v", rest)
	}
	other := proto.CloneOf(second)
	other.Node = parents[0]
	changed := proto.CloneOf(second)
	changed.PageToken = "A" + changed.PageToken
	for _, bad := range []*flowstorev1.ListPathNodesRequest{other, changed} {
		_, err := c.ListPathNodes(t.Context(), bad)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
}
