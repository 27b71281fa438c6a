// Package grpcserver makes the gRPC servers of every program: one constructor, so that limits, interceptors, error
// translation and streams are the same on the network and inside one process.
//
// In one process there are two: `front` listens on TCP and on a bufconn for the gateway and has all services; `inner`
// listens on a bufconn only and has promptbuilder and flowstore, for the agent. A single server could not stop: an
// agent that stores its last words needs a flowstore that still answers (docs/adr/0003).
package grpcserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/propagation"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

const (
	// maxHeaderBytes holds a request's metadata; grpc's own limit is 16 MiB.
	maxHeaderBytes = 16 << 10
	// lastWords is how long handlers have after Stop has cut their connections: agents store partial text within 5 s.
	lastWords = 6 * time.Second
)

// Options are what a server is made of. The zero value of Log and Metrics is silence.
type Options struct {
	Config  Config
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// Reflection lets anybody list all services and messages: for loopback only.
	Reflection bool
	// TrustCaller is for the `inner` server only: see interceptor.Options.
	TrustCaller bool
	// Auth finds out who calls. Nil: everybody is auth.Local, in the default namespace.
	Auth *auth.Authenticator
}

// Server is a gRPC server with the full chain, health checks and a stop that loses nothing.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
	drain  chan struct{}
	once   sync.Once

	mu       sync.Mutex
	services []string
	methods  map[string]bool
}

// New makes a server. Register services before Serve.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	s := &Server{health: health.NewServer(), drain: make(chan struct{}), methods: map[string]bool{}}
	chain := interceptor.New(interceptor.Options{
		Log: o.Log, Metrics: o.Metrics, Drain: s.drain, Known: s.knows,
		MaxInFlight: o.Config.MaxInFlight, DefaultTimeout: o.Config.DefaultTimeout, MaxTimeout: o.Config.MaxTimeout,
		StreamIdle: o.Config.StreamIdle, TrustCaller: o.TrustCaller, Auth: o.Auth,
	})
	s.grpc = grpc.NewServer(append(transport(o.Config),
		grpc.UnaryInterceptor(chain.Unary),
		grpc.StreamInterceptor(chain.Stream),
		grpc.UnknownServiceHandler(interceptor.Unknown),
	)...)
	grpc_health_v1.RegisterHealthServer(s.Registrar(), s.health)
	if o.Reflection {
		reflection.Register(reflected{s.Registrar(), s.grpc})
	}
	return s
}

// reflected lists the services of the server itself and registers through ours.
type reflected struct {
	grpc.ServiceRegistrar
	reflection.ServiceInfoProvider
}

// transport bounds connections, streams and messages (field/gostyle.md 3.1). There is no MaxConnectionAgeGrace: it would cut a stream on which a big model is
// still generating; without it an old connection takes no new calls and lives until its last stream ends.
func transport(c Config) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(c.MaxMessageBytes)),
		grpc.MaxSendMsgSize(int(c.MaxMessageBytes)),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(c.MaxStreams),
		grpc.WaitForHandlers(true),
		// Goroutines that outlive a call: less CPU for a small one (field/perf.md 2.1).
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: 2 * time.Minute, MaxConnectionAge: 5 * time.Minute, Time: time.Minute, Timeout: 10 * time.Second,
		}),
		grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
			otelgrpc.WithPropagators(propagation.TraceContext{}),
		)),
	}
}

// knows says whether a method is registered.
func (s *Server) knows(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.methods[method]
}

// Serve answers on a listener until Stop. Several may run at once. The services report SERVING from here on. An error
// means that the listener failed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	for _, name := range s.services {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	s.mu.Unlock()
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}

// Unready makes health checks answer NOT_SERVING: whoever balances load looks for another server. Calls are answered.
func (s *Server) Unready() { s.health.Shutdown() }

// Drain is Unready, and tells the streams that the server is going to stop. Calls are still answered. It may be called
// twice.
func (s *Server) Drain() {
	s.Unready()
	s.once.Do(func() { close(s.drain) })
}

// Stop drains, lets running calls end, and cuts those that still run when ctx ends. Handlers that were cut have a few
// seconds to store what they hold; an error says that some did not return.
func (s *Server) Stop(ctx context.Context) error {
	s.Drain()
	done := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	cut := make(chan struct{})
	go func() { s.grpc.Stop(); close(cut) }()
	select {
	case <-cut:
		return nil
	case <-time.After(lastWords):
		return errors.New("some calls did not end after their connections were closed")
	}
}
