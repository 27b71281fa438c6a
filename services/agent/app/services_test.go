package app_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// flowstore is a FlowStoreService in memory with one flow. Its pages hold two nodes. In every namespace but its own it is
// empty.
type flowstore struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	ns, flow string

	mu    sync.Mutex
	path  []*flowstorev1.PathNode
	nodes map[string]*flowstorev1.Node
	adds  []*flowstorev1.AddNodeRequest
	fail  []error // what the next AddNode calls answer
	grows bool    // what is added stands on the path
}

func notFound(reason, key, name string) error {
	return apierr.New(codes.NotFound, reason, "there is no "+name, key, name)
}

func (f *flowstore) GetFlow(ctx context.Context, q *flowstorev1.GetFlowRequest) (*flowstorev1.Flow, error) {
	if q.Name != f.flow || namespace.From(ctx) != f.ns {
		return nil, notFound("FLOW_NOT_FOUND", "flow", q.Name)
	}
	return &flowstorev1.Flow{Name: f.flow, Story: &commonv1.Story{Title: proto.String("夜"), Genres: []string{"怪談"}}}, nil
}

func (f *flowstore) GetNode(ctx context.Context, q *flowstorev1.GetNodeRequest) (*flowstorev1.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.nodes[q.Name]; n != nil && namespace.From(ctx) == f.ns {
		return n, nil
	}
	return nil, notFound("NODE_NOT_FOUND", "node", q.Name)
}

func (f *flowstore) ListPathNodes(ctx context.Context, q *flowstorev1.ListPathNodesRequest) (*flowstorev1.ListPathNodesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := 0
	for i, n := range f.path {
		if n.Node.Name == q.Node && namespace.From(ctx) == f.ns {
			to = i + 1
		}
	}
	if to == 0 {
		return nil, apierr.New(codes.FailedPrecondition, "NOT_IN_FLOW", "the node is not in this flow", "flow", q.Flow, "node", q.Node)
	}
	from, _ := strconv.Atoi(q.PageToken)
	page := &flowstorev1.ListPathNodesResponse{Nodes: f.path[from:min(from+2, to)]}
	if from+2 < to {
		page.NextPageToken = strconv.Itoa(from + 2)
	}
	return page, nil
}

// ListNodes knows no node whose summary is stale.
func (f *flowstore) ListNodes(ctx context.Context, q *flowstorev1.ListNodesRequest) (*flowstorev1.ListNodesResponse, error) {
	if q.Flow != f.flow || namespace.From(ctx) != f.ns {
		return nil, notFound("FLOW_NOT_FOUND", "flow", q.Flow)
	}
	return &flowstorev1.ListNodesResponse{}, nil
}

func (f *flowstore) AddNode(ctx context.Context, q *flowstorev1.AddNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if namespace.From(ctx) != f.ns {
		return nil, notFound("FLOW_NOT_FOUND", "flow", q.Flow)
	}
	if len(f.fail) > 0 {
		err := f.fail[0]
		f.fail = f.fail[1:]
		return nil, err
	}
	f.adds = append(f.adds, q)
	n := proto.CloneOf(q.GetNewNode())
	n.Name, n.CreateTime = "nodes/"+q.NodeId, timestamppb.Now()
	f.nodes[n.Name] = n
	if f.grows {
		f.path = append(f.path, &flowstorev1.PathNode{Node: n, Parents: q.Parents})
	}
	return &flowstorev1.AddNodeResponse{Node: n, Index: 1, Parents: q.Parents}, nil
}

// WatchEvents says hello, and no more.
func (f *flowstore) WatchEvents(_ *flowstorev1.WatchEventsRequest, s grpc.ServerStreamingServer[flowstorev1.Event]) error {
	return s.Send(&flowstorev1.Event{Event: "hello", LastSeq: proto.Int64(5)})
}

func (f *flowstore) added() []*flowstorev1.AddNodeRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adds
}

// put adds a node behind the last one, with texts given as role, content, and gives its name.
func (f *flowstore) put(name string, texts ...string) string {
	n := &flowstorev1.PathNode{Node: &flowstorev1.Node{Name: name}}
	for i := 0; i < len(texts); i += 2 {
		n.Node.Texts = append(n.Node.Texts, &flowstorev1.Text{Role: texts[i], Content: texts[i+1]})
	}
	if len(f.path) > 0 {
		n.Parents = []string{f.path[len(f.path)-1].Node.Name}
	}
	f.path = append(f.path, n)
	return name
}

// promptbuilder builds `[INST]title[/INST]body` and counts with the backends.
type promptbuilder struct {
	promptbuilderv1.UnimplementedPromptBuilderServiceServer
	set *backends.Set

	mu     sync.Mutex
	called []string // the namespace of each call
	builds []*promptbuilderv1.BuildStoryRequest
	built  *promptbuilderv1.BuildStoryResponse // the last
	fail   error
}

func (p *promptbuilder) BuildStory(ctx context.Context, q *promptbuilderv1.BuildStoryRequest) (*promptbuilderv1.BuildStoryResponse, error) {
	p.mu.Lock()
	p.called = append(p.called, namespace.From(ctx))
	p.builds = append(p.builds, q)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	prompt := "[INST]" + q.GetStory().GetTitle() + "[/INST]" + q.Body
	tokens, who, err := p.count(ctx, q.Backend, prompt)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(prompt))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.built = &promptbuilderv1.BuildStoryResponse{
		Prompt: prompt, Digest: hex.EncodeToString(sum[:]), Task: promptbuilderv1.StoryTask_STORY_TASK_CONT_INFO,
		Tokens: tokens, Limit: who.Window - q.MaxTokens, MaxTokens: cmp.Or(q.MaxTokens, 250), CountsUsed: 1, Seed: q.Seed, Backend: who,
		Overflow: q.OnOverflow == promptbuilderv1.OnOverflow_ON_OVERFLOW_RETURN, Rating: "r18", SuffixCharacters: 2,
		Blocks:   []*promptbuilderv1.Block{{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_NOTE, Tokens: tokens, Characters: 9, Estimated: true}},
		Cut:      &promptbuilderv1.Cut{Characters: 1, Lines: 2, KeptCharacters: 3, FirstKept: "一", KeptShare: 0.75},
		Warnings: []*promptbuilderv1.Warning{{Code: "LITTLE_TEXT_LEFT", Field: "body", Message: "m"}},
		Picks:    []*promptbuilderv1.Pick{{Field: "story.note", Group: 1, Option: 2, Options: []int32{2, 0}, Text: "雨", Line: 3, Column: 4}},
		Wrapping: &promptbuilderv1.Wrapping{
			Name: "custom", BeforeInstruction: "a", BeforeInput: "b", AfterInput: "c", BeforeSuffix: "d", Stop: []string{"<e>"},
		},
	}
	if q.Sampler == promptbuilderv1.Sampler_SAMPLER_ALL {
		for i, text := range []string{"雨", "雪"} {
			p.built.Combinations = append(p.built.Combinations, &promptbuilderv1.Combination{
				Picks: []*promptbuilderv1.Pick{{Field: "story.note", Option: int32(i), Options: []int32{int32(i)}, Text: text}},
			})
		}
	}
	if len(q.Picks) > 0 {
		p.built.Picks = q.Picks
	}
	return p.built, nil
}

func (p *promptbuilder) BuildContext(ctx context.Context, q *promptbuilderv1.BuildContextRequest) (*promptbuilderv1.BuildContextResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called = append(p.called, namespace.From(ctx))
	return &promptbuilderv1.BuildContextResponse{Text: q.GetPrompt()}, p.fail
}

// RenderTemplate fills texts, which are the same in every namespace.
func (p *promptbuilder) RenderTemplate(_ context.Context, q *promptbuilderv1.RenderTemplateRequest) (*promptbuilderv1.RenderTemplateResponse, error) {
	return &promptbuilderv1.RenderTemplateResponse{Text: q.Values["prompt"] + q.Values["answer"]}, nil
}

func (p *promptbuilder) CountTokens(ctx context.Context, q *promptbuilderv1.CountTokensRequest) (*promptbuilderv1.CountTokensResponse, error) {
	p.mu.Lock()
	p.called = append(p.called, namespace.From(ctx))
	p.mu.Unlock()
	tokens, who, err := p.count(ctx, q.Backend, q.Texts[0])
	return &promptbuilderv1.CountTokensResponse{Tokens: []int32{tokens}, Backend: who}, err
}

func (p *promptbuilder) count(ctx context.Context, backend, text string) (int32, *commonv1.BackendIdentity, error) {
	counter, err := p.set.Counter(backend)
	if err != nil {
		return 0, nil, apierr.New(codes.NotFound, "UNKNOWN_BACKEND", err.Error(), "backend", backend)
	}
	who, err := counter.Window(ctx)
	if fault := new(llm.Error); errors.As(err, &fault) {
		return 0, nil, apierr.New(codes.Unavailable, "BACKEND_UNAVAILABLE", err.Error(), "backend", fault.Backend, "address", fault.Address)
	}
	n, err := counter.Count(ctx, text)
	return int32(n), &commonv1.BackendIdentity{
		Backend: who.Backend, Kind: who.Kind, Address: who.Address, Model: who.Model, Window: int32(who.Window), Tokenizer: who.Tokenizer,
	}, err
}
