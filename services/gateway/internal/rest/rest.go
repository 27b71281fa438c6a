// Package rest is the REST surface: the paths of the protos, each leading over gRPC to its service.
//
// grpc-gateway translates. This package makes it strict where it is lenient: what a request says and the call cannot
// take (a method, a media type, a query parameter, a field) is refused with one sentence and one ErrorInfo, never
// dropped (field/gostyle.md 3.3: in grpc-gateway wrong methods are 501, every content type is JSON, unknown parameters vanish).
package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/stream"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/upstream"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

// Options are the connections and the limits.
type Options struct {
	// PromptBuilder, Agent and FlowStore lead to the services.
	PromptBuilder, Agent, FlowStore grpc.ClientConnInterface
	// Auth finds out who calls, before a body is read; nil: the services alone do.
	Auth *auth.Authenticator
	// MaxBodyBytes is the largest body of a request.
	MaxBodyBytes int64
	// BodyTimeout is how long a body may take to arrive.
	BodyTimeout time.Duration
	// Timeout is the time limit of a call that is no stream, MaxTimeout the most that the header Grpc-Timeout can ask for.
	Timeout, MaxTimeout time.Duration
	// Streams is the life of all streams: when it ends, those that are open end with DRAINING.
	Streams context.Context
}

type surface struct {
	Options
	mux    *runtime.ServeMux
	routes map[string]routes.Route // by method, space, path template
}

// New makes the handler of the REST surface.
func New(o Options) (http.Handler, error) {
	s := &surface{Options: o, routes: map[string]routes.Route{}}
	for _, r := range routes.All() {
		s.routes[r.Method+" "+r.Path] = r
	}
	json := marshaler{strictjson.New()}
	s.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, json),
		runtime.WithMarshalerOption(stream.NDJSON, stream.Lines{Marshaler: json.Marshaler}),
		runtime.WithMarshalerOption(stream.SSE, stream.Events{Marshaler: json.Marshaler}),
		runtime.WithMarshalerOption(stream.Chunks, stream.File{Marshaler: json.Marshaler}),
		runtime.WithIncomingHeaderMatcher(passed),
		runtime.WithOutgoingHeaderMatcher(kept),
		runtime.WithOutgoingTrailerMatcher(kept),
		runtime.WithErrorHandler(s.failed),
		runtime.WithStreamErrorHandler(s.status),
		runtime.WithRoutingErrorHandler(s.unrouted),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithMiddlewares(s.matched),
	)
	return s.mux, s.register()
}

func (s *surface) register() error {
	ctx := context.Background() // the generated code keeps it nowhere
	if err := promptbuilderv1.RegisterPromptBuilderServiceHandlerClient(ctx, s.mux,
		promptbuilderv1.NewPromptBuilderServiceClient(upstream.New(s.PromptBuilder))); err != nil {
		return err
	}
	if err := agentv1.RegisterAgentServiceHandlerClient(ctx, s.mux,
		agentv1.NewAgentServiceClient(upstream.New(s.Agent))); err != nil {
		return err
	}
	if err := flowstorev1.RegisterFlowStoreServiceHandlerClient(ctx, s.mux,
		flowstorev1.NewFlowStoreServiceClient(upstream.New(s.FlowStore))); err != nil {
		return err
	}
	return s.pages()
}

// passed is the allow-list of request headers that become metadata of the call. It is short because the rest goes other
// ways: Authorization passes by grpc-gateway's own rule; X-Request-Id, traceparent and tracestate are read at the edge
// and sent by grpcclient; Last-Event-ID becomes the field `after`, `since_seq` or `from_seq`.
func passed(header string) (string, bool) {
	switch header {
	case "Idempotency-Key":
		return upstream.IdempotencyKey, true
	case "Tsumugi-Client":
		return origin.Key, true
	}
	return "", false
}

// kept is the allow-list of a service's metadata that become response headers. It is empty: what an answer says stands
// in its body, and the gateway itself sets X-Request-Id and Retry-After.
func kept(string) (string, bool) { return "", false }
