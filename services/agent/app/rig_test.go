package app_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rig is the agent with its neighbours: a fake llama.cpp, flowstore and promptbuilder in memory, everything over gRPC.
type rig struct {
	*testing.T
	app     *app.App
	server  *grpcserver.Server
	agent   agentv1.AgentServiceClient
	flows   *flowstore
	prompts *promptbuilder
	model   *llmtest.Server
	metrics *prometheus.Registry
}

const deadAddress = "http://127.0.0.1:1"

// settings are the defaults, with a data folder of the test.
func settings(t *testing.T) app.Config {
	cfg := app.DefaultConfig()
	cfg.Data = t.TempDir()
	return cfg
}

func newRig(t *testing.T, o llmtest.Options, change ...func(*app.Config)) *rig {
	t.Helper()
	model := llmtest.New(t, o)
	set, err := backends.Parse([]byte("default: tale\nbackends:\n  tale: {kind: llamacpp, address: '" + model.URL +
		"'}\n  dead: {kind: llamacpp, address: '" + deadAddress + "'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		T: t, model: model, metrics: prometheus.NewRegistry(),
		flows:   &flowstore{ns: namespace.Default, flow: "flows/" + uuid.NewString(), nodes: map[string]*flowstorev1.Node{}},
		prompts: &promptbuilder{set: set},
	}
	deps := app.Deps{Backends: set, Metrics: r.metrics}
	_, deps.PromptBuilder = testkit.ServeWith(t, serverOptions(), func(s grpc.ServiceRegistrar) {
		promptbuilderv1.RegisterPromptBuilderServiceServer(s, r.prompts)
	})
	_, deps.FlowStore = testkit.ServeWith(t, serverOptions(), func(s grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(s, r.flows)
	})
	cfg := settings(t)
	for _, c := range change {
		c(&cfg)
	}
	if r.app, err = app.New(t.Context(), cfg, deps); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.app.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := set.Close(); err != nil {
			t.Errorf("closing the backends: %v", err)
		}
	})
	server, conn := testkit.ServeWith(t, serverOptions(), r.app.Register)
	r.server, r.agent = server, agentv1.NewAgentServiceClient(conn)
	return r
}

// request is one that is right.
func (r *rig) request(text string) *agentv1.GenerateNodeRequest {
	return &agentv1.GenerateNodeRequest{Flow: r.flows.flow, Text: text, RequestId: uuid.NewString()}
}

// generate begins a generation and reads its Opened.
func (r *rig) generate(ctx context.Context, q *agentv1.GenerateNodeRequest) (agentv1.AgentService_GenerateNodeClient, *agentv1.Opened) {
	r.Helper()
	s, err := r.agent.GenerateNode(ctx, q)
	if err != nil {
		r.Fatal(err)
	}
	e, err := s.Recv()
	if err != nil {
		r.Fatalf("instead of Opened: %v", err)
	}
	if e.GetOpened() == nil || e.Id != 0 {
		r.Fatalf("the first event is %v", e)
	}
	return s, e.GetOpened()
}

// text reads the next event, which must be a piece of the answer.
func (r *rig) text(s grpc.ServerStreamingClient[agentv1.GenerateNodeEvent]) *agentv1.GenerateNodeEvent {
	r.Helper()
	e, err := s.Recv()
	if err != nil || e.GetText() == nil {
		r.Fatalf("instead of a text: %v, %v", e, err)
	}
	return e
}

// reading is what a stream had.
type reading struct {
	opened *agentv1.Opened
	text   string
	last   int32
	stored *agentv1.Stored
	err    *apierr.Error
}

// rest reads a stream to its end.
func (r *rig) rest(s grpc.ServerStreamingClient[agentv1.GenerateNodeEvent]) reading {
	r.Helper()
	var got reading
	var text strings.Builder
	for {
		e, err := s.Recv()
		if err != nil {
			got.text = text.String()
			if !errors.Is(err, io.EOF) {
				got.err, _ = apierr.FromStatus(err)
				if got.err == nil {
					r.Fatalf("an error without ErrorInfo: %v", err)
				}
			}
			return got
		}
		if e.Index != nil {
			r.Errorf("one answer has the index %d", *e.Index)
		}
		got.last = max(got.last, e.Id)
		text.WriteString(e.GetText().GetText())
		if o := e.GetOpened(); o != nil {
			got.opened = o
		}
		if st := e.GetStored(); st != nil {
			got.stored = st
		}
	}
}

// all sends a request and reads the whole answer.
func (r *rig) all(q *agentv1.GenerateNodeRequest) reading {
	r.Helper()
	s, err := r.agent.GenerateNode(r.Context(), q)
	if err != nil {
		r.Fatal(err)
	}
	return r.rest(s)
}

// is finds out whether an error is the one that is wanted; pairs are metadata.
func (r *rig) is(e *apierr.Error, code codes.Code, reason string, pairs ...string) {
	r.Helper()
	if e == nil || e.Code != code || e.Reason != reason {
		r.Fatalf("got %+v, want %s %s", e, code, reason)
	}
	for i := 0; i < len(pairs); i += 2 {
		if e.Metadata[pairs[i]] != pairs[i+1] {
			r.Errorf("metadata %q is %q, want %q", pairs[i], e.Metadata[pairs[i]], pairs[i+1])
		}
	}
}

// receive waits for what must come.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within 30 s")
		panic("unreachable")
	}
}

// serverOptions let the tests say in which namespace a call acts.
func serverOptions() grpcserver.Options {
	return grpcserver.Options{Config: grpcserver.DefaultConfig(), TrustCaller: true}
}
