package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// services is a stand-in for all three: it answers with what the test puts in, and keeps what it was asked.
type services struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	agentv1.UnimplementedAgentServiceServer
	promptbuilderv1.UnimplementedPromptBuilderServiceServer

	// err is what every call ends with; nil: success.
	err error
	// wait is received from before a call is answered; nil: at once.
	wait chan struct{}
	// events is where a stream takes its events from, until it is closed. gone gets an item when a stream's handler returns.
	events chan *agentv1.GenerateNodeEvent
	gone   chan error

	mu       sync.Mutex
	request  any
	metadata metadata.MD
}

func (s *services) take(ctx context.Context, request any) error {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	s.request, s.metadata = request, md
	s.mu.Unlock()
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.err
}

func (s *services) last() (any, metadata.MD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request, s.metadata
}

func (s *services) GetNode(ctx context.Context, r *flowstorev1.GetNodeRequest) (*flowstorev1.Node, error) {
	if err := s.take(ctx, r); err != nil {
		return nil, err
	}
	return &flowstorev1.Node{Name: r.GetName(), Texts: []*flowstorev1.Text{{Role: "user", Content: "紡ぎ", TokenCount: 6, DurationSeconds: 1.2}}}, nil
}

func (s *services) CreateNode(ctx context.Context, r *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	return r.GetNode(), s.take(ctx, r)
}

func (s *services) AddNode(ctx context.Context, r *flowstorev1.AddNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	return &flowstorev1.AddNodeResponse{Node: r.GetNewNode()}, s.take(ctx, r)
}

func (s *services) ListPathNodes(ctx context.Context, r *flowstorev1.ListPathNodesRequest) (*flowstorev1.ListPathNodesResponse, error) {
	return &flowstorev1.ListPathNodesResponse{}, s.take(ctx, r)
}

func (s *services) ListNodes(ctx context.Context, r *flowstorev1.ListNodesRequest) (*flowstorev1.ListNodesResponse, error) {
	return &flowstorev1.ListNodesResponse{}, s.take(ctx, r)
}

func (s *services) SearchNodes(ctx context.Context, r *flowstorev1.SearchNodesRequest) (*flowstorev1.SearchNodesResponse, error) {
	return &flowstorev1.SearchNodesResponse{}, s.take(ctx, r)
}

func (s *services) ListTags(ctx context.Context, r *flowstorev1.ListTagsRequest) (*flowstorev1.ListTagsResponse, error) {
	return &flowstorev1.ListTagsResponse{}, s.take(ctx, r)
}

func (s *services) ListFlows(ctx context.Context, r *flowstorev1.ListFlowsRequest) (*flowstorev1.ListFlowsResponse, error) {
	return &flowstorev1.ListFlowsResponse{}, s.take(ctx, r)
}

func (s *services) ListHistoryNodes(ctx context.Context, r *flowstorev1.ListHistoryNodesRequest) (*flowstorev1.ListHistoryNodesResponse, error) {
	return &flowstorev1.ListHistoryNodesResponse{}, s.take(ctx, r)
}

func (s *services) DiffNodes(ctx context.Context, r *flowstorev1.DiffNodesRequest) (*flowstorev1.DiffNodesResponse, error) {
	return &flowstorev1.DiffNodesResponse{}, s.take(ctx, r)
}

func (s *services) DiffHeads(ctx context.Context, r *flowstorev1.DiffHeadsRequest) (*flowstorev1.DiffHeadsResponse, error) {
	return &flowstorev1.DiffHeadsResponse{}, s.take(ctx, r)
}

func (s *services) ValidateFlow(ctx context.Context, r *flowstorev1.ValidateFlowRequest) (*flowstorev1.ValidateFlowResponse, error) {
	return &flowstorev1.ValidateFlowResponse{}, s.take(ctx, r)
}

func (s *services) ConnectNodes(ctx context.Context, r *flowstorev1.ConnectNodesRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) DisconnectNodes(ctx context.Context, r *flowstorev1.DisconnectNodesRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) ReconnectNodes(ctx context.Context, r *flowstorev1.ReconnectNodesRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) UpdateFlow(ctx context.Context, r *flowstorev1.UpdateFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) UpdateNode(ctx context.Context, r *flowstorev1.UpdateNodeRequest) (*flowstorev1.Node, error) {
	return &flowstorev1.Node{}, s.take(ctx, r)
}

func (s *services) ListNodeRevisions(ctx context.Context, r *flowstorev1.ListNodeRevisionsRequest) (*flowstorev1.ListNodeRevisionsResponse, error) {
	return &flowstorev1.ListNodeRevisionsResponse{}, s.take(ctx, r)
}

func (s *services) RestoreNodeRevision(ctx context.Context, r *flowstorev1.RestoreNodeRevisionRequest) (*flowstorev1.Node, error) {
	return &flowstorev1.Node{}, s.take(ctx, r)
}

func (s *services) SplitNode(ctx context.Context, r *flowstorev1.SplitNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	return &flowstorev1.AddNodeResponse{}, s.take(ctx, r)
}

func (s *services) BranchFlow(ctx context.Context, r *flowstorev1.BranchFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) ForkFlow(ctx context.Context, r *flowstorev1.ForkFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) RebuildFlow(ctx context.Context, r *flowstorev1.RebuildFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) PurgeNode(ctx context.Context, r *flowstorev1.PurgeNodeRequest) (*flowstorev1.Tombstone, error) {
	return &flowstorev1.Tombstone{}, s.take(ctx, r)
}

func (s *services) PurgeFlow(ctx context.Context, r *flowstorev1.PurgeFlowRequest) (*flowstorev1.Tombstone, error) {
	return &flowstorev1.Tombstone{}, s.take(ctx, r)
}

func (s *services) DeleteNode(ctx context.Context, r *flowstorev1.DeleteNodeRequest) (*flowstorev1.DeleteNodeResponse, error) {
	return &flowstorev1.DeleteNodeResponse{}, s.take(ctx, r)
}

func (s *services) UndeleteNode(ctx context.Context, r *flowstorev1.UndeleteNodeRequest) (*flowstorev1.Node, error) {
	return &flowstorev1.Node{}, s.take(ctx, r)
}

func (s *services) DeleteFlow(ctx context.Context, r *flowstorev1.DeleteFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) UndeleteFlow(ctx context.Context, r *flowstorev1.UndeleteFlowRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

func (s *services) UndoFlow(ctx context.Context, r *flowstorev1.UndoFlowRequest) (*flowstorev1.UndoFlowResponse, error) {
	return &flowstorev1.UndoFlowResponse{}, s.take(ctx, r)
}

func (s *services) RedoFlow(ctx context.Context, r *flowstorev1.RedoFlowRequest) (*flowstorev1.UndoFlowResponse, error) {
	return &flowstorev1.UndoFlowResponse{}, s.take(ctx, r)
}

func (s *services) RemoveNode(ctx context.Context, r *flowstorev1.RemoveNodeRequest) (*flowstorev1.Flow, error) {
	return &flowstorev1.Flow{}, s.take(ctx, r)
}

// ImportFlows takes what came as one message: the options, and the whole file as the chunk's length in the answer.
func (s *services) ImportFlows(in grpc.ClientStreamingServer[flowstorev1.ImportFlowsRequest, flowstorev1.ImportFlowsResponse]) error {
	first, err := in.Recv()
	if err != nil {
		return err
	}
	if err := s.take(in.Context(), first); err != nil {
		return err
	}
	file := sha256.New()
	for chunks := int32(0); ; chunks++ {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			failure := &flowstorev1.ImportFailure{Reason: hex.EncodeToString(file.Sum(nil))}
			return in.SendAndClose(&flowstorev1.ImportFlowsResponse{Failed: chunks, Failures: []*flowstorev1.ImportFailure{failure}})
		}
		if err != nil {
			return err
		}
		file.Write(m.GetChunk())
	}
}

func (s *services) ExportFlows(r *flowstorev1.ExportFlowsRequest, out grpc.ServerStreamingServer[flowstorev1.ExportFlowsResponse]) error {
	if err := s.take(out.Context(), r); err != nil {
		return err
	}
	for _, chunk := range []string{"{\"tsumugi\":{\"ver", "sion\":1}}\n"} {
		if err := out.Send(&flowstorev1.ExportFlowsResponse{Chunk: []byte(chunk)}); err != nil {
			return err
		}
	}
	if len(r.GetFlows()) > 1 {
		return apierr.New(codes.Unavailable, "STORE_READ_ONLY", "the disk is gone")
	}
	return nil
}

func (s *services) FlushStore(ctx context.Context, r *flowstorev1.FlushStoreRequest) (*flowstorev1.FlushStoreResponse, error) {
	return &flowstorev1.FlushStoreResponse{}, s.take(ctx, r)
}

func (s *services) CheckStore(_ *flowstorev1.CheckStoreRequest, out grpc.ServerStreamingServer[flowstorev1.CheckStoreEvent]) error {
	finding := &flowstorev1.StoreFinding{Kind: flowstorev1.StoreFinding_KIND_CYCLE, Path: "flows/000/000.yaml"}
	return errors.Join(
		out.Send(&flowstorev1.CheckStoreEvent{Event: &flowstorev1.CheckStoreEvent_Progress{Progress: &flowstorev1.CheckProgress{Files: 1}}}),
		out.Send(&flowstorev1.CheckStoreEvent{Event: &flowstorev1.CheckStoreEvent_Finding{Finding: finding}}),
	)
}

func (s *services) RepairStore(r *flowstorev1.RepairStoreRequest, out grpc.ServerStreamingServer[flowstorev1.RepairStoreEvent]) error {
	result := &flowstorev1.RepairResult{Folder: fmt.Sprintf("apply %v, current %v", r.GetApply(), r.GetCurrent())}
	return out.Send(&flowstorev1.RepairStoreEvent{Event: &flowstorev1.RepairStoreEvent_Result{Result: result}})
}

func (s *services) CountTokens(ctx context.Context, r *promptbuilderv1.CountTokensRequest) (*promptbuilderv1.CountTokensResponse, error) {
	return &promptbuilderv1.CountTokensResponse{Tokens: []int32{1}}, s.take(ctx, r)
}

func (s *services) GetGeneration(ctx context.Context, r *agentv1.GetGenerationRequest) (*agentv1.Generation, error) {
	return &agentv1.Generation{Name: r.GetName(), State: agentv1.Generation_STATE_RUNNING}, s.take(ctx, r)
}

func (s *services) CancelGeneration(ctx context.Context, r *agentv1.CancelGenerationRequest) (*agentv1.Generation, error) {
	return &agentv1.Generation{Name: r.GetName()}, s.take(ctx, r)
}

func (s *services) GenerateNode(r *agentv1.GenerateNodeRequest, out grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	return s.stream(r, out)
}

func (s *services) WatchGeneration(r *agentv1.WatchGenerationRequest, out grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	return s.stream(r, out)
}

// WatchEvents sends one event of each form.
func (s *services) WatchEvents(r *flowstorev1.WatchEventsRequest, out grpc.ServerStreamingServer[flowstorev1.Event]) error {
	for _, e := range []*flowstorev1.Event{
		{Event: "hello", Seq: 1<<53 - 2, LastSeq: proto.Int64(1<<53 - 1)}, {Event: "node_created", Seq: 1<<53 - 1, Node: "nodes/" + id}, {Event: "heartbeat", Seq: 1<<53 + 1},
	} {
		if err := out.Send(e); err != nil {
			return err
		}
	}
	return s.take(out.Context(), r)
}

// stream sends events until there are no more, then ends with err.
func (s *services) stream(r any, out grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) (err error) {
	if s.gone != nil {
		defer func() { s.gone <- err }()
	}
	s.mu.Lock()
	s.request = r
	s.metadata, _ = metadata.FromIncomingContext(out.Context())
	s.mu.Unlock()
	for {
		select {
		case e, more := <-s.events:
			if !more {
				return s.err
			}
			if err := out.Send(e); err != nil {
				return err
			}
		case <-out.Context().Done():
			return out.Context().Err()
		}
	}
}

// start serves the gateway in front of s over a real HTTP server.
func start(t *testing.T, s *services, adjust ...func(*app.Config, *app.Deps)) (*httptest.Server, *app.App) {
	t.Helper()
	conn := testkit.Serve(t, func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, s)
		agentv1.RegisterAgentServiceServer(r, s)
		promptbuilderv1.RegisterPromptBuilderServiceServer(r, s)
	})
	cfg, deps := app.DefaultConfig(), app.Deps{PromptBuilder: conn, Agent: conn, FlowStore: conn}
	for _, f := range adjust {
		f(&cfg, &deps)
	}
	gateway, err := app.New(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gateway.Handler())
	t.Cleanup(func() {
		if err := gateway.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return server, gateway
}

// reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// problem is the body of an error.
type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type            string            `json:"@type"`
		Reason          string            `json:"reason"`
		Domain          string            `json:"domain"`
		Metadata        map[string]string `json:"metadata"`
		FieldViolations []struct {
			Field       string `json:"field"`
			Description string `json:"description"`
		} `json:"fieldViolations"`
	} `json:"details"`
}

// newRequest makes a request; headers are name, value. Content-Type of a request with body is JSON unless given.
func newRequest(t *testing.T, method, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost || method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	return r
}

func do(t *testing.T, r *http.Request) reply {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// reason checks that the body is an error with exactly one ErrorInfo and gives its reason.
func (r reply) reason(t *testing.T) (string, problem) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%d: the body %q is no JSON: %v", r.status, r.body, err)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("an error with Content-Type %q", got)
	}
	if p.Code == 0 || p.Message == "" {
		t.Errorf("an error without code or message: %s", r.body)
	}
	return p.reason(t), p
}

func (p problem) reason(t *testing.T) string {
	t.Helper()
	reason, infos := "", 0
	for _, d := range p.Details {
		if d.Type == "type.googleapis.com/google.rpc.ErrorInfo" {
			reason = d.Reason
			infos++
			if d.Domain != "tsumugi" {
				t.Errorf("domain %q", d.Domain)
			}
		}
	}
	if infos != 1 {
		t.Errorf("%d ErrorInfo in %+v", infos, p)
	}
	return reason
}

func (p problem) metadata(key string) string {
	for _, d := range p.Details {
		if v, ok := d.Metadata[key]; ok {
			return v
		}
	}
	return ""
}

func notFound() error {
	return apierr.New(codes.NotFound, "NODE_NOT_FOUND", "there is no such node", "node", "nodes/x")
}

// within bounds a wait in a test that would otherwise hang; it is no measurement.
const within = 20 * time.Second

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(within):
		t.Fatal("nothing came")
		panic("not reached")
	}
}
