// Package grpcclient connects to a service of ours: limits that match grpcserver's, retries that cannot repeat work, and
// request id, caller, namespace and trace passed on from the context.
package grpcclient

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // lets the balancer leave out servers that say NOT_SERVING
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

const (
	maxMessageBytes = 16 << 20
	// maxHeaderBytes holds an answer's metadata and error details; apierr keeps below 8 KiB.
	maxHeaderBytes = 64 << 10
	// callTimeout bounds a call whose caller set no deadline. The server's own limit is shorter; this one holds when
	// no answer comes at all.
	callTimeout = 2 * time.Minute
	// redialLatest is the longest wait between two attempts to reach a service that was away. Grpc's own grows to two
	// minutes, in which callers are refused although the service is back.
	redialLatest = 2 * time.Second
	// dialTimeout is how long one attempt may take.
	dialTimeout = 5 * time.Second
)

// Options of a connection. The zero value is a plain TCP connection.
type Options struct {
	// Dialer opens connections instead of TCP, such as bufconn.Listener.DialContext. The target is then only a name.
	Dialer func(context.Context) (net.Conn, error)
	// MaxMessageBytes is the largest request and answer. 0: 16 MiB, as the server's default.
	MaxMessageBytes int
	// ToTheLast calls a server also while it says NOT_SERVING: it is about to stop and still answers. For a caller that
	// may stop at the same moment and has to leave something with it.
	ToTheLast bool
	// Token is the bearer token that goes along with each call; empty for none.
	Token string
}

// Dial prepares a connection; it is opened by the first call and again whenever it was lost. target is host:port, of
// which every address that DNS knows is used in turn, or a grpc target such as `unix:///run/flowstore.sock`.
func Dial(target string, o Options) (*grpc.ClientConn, error) {
	size := o.MaxMessageBytes
	if size == 0 {
		size = maxMessageBytes
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(size), grpc.MaxCallSendMsgSize(size)),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: redialLatest},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultServiceConfig(serviceConfig(o.Dialer == nil && !o.ToTheLast)),
		grpc.WithDisableServiceConfig(), // of DNS: who answers for names should not set our retries
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithPropagators(propagation.TraceContext{}))),
		grpc.WithUnaryInterceptor(o.unary),
		grpc.WithStreamInterceptor(o.stream),
	}
	switch {
	case o.Dialer != nil:
		target = "passthrough:///" + target
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return o.Dialer(ctx) }))
	case !strings.Contains(target, "://") && !strings.HasPrefix(target, "unix:"):
		target = "dns:///" + target
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, fmt.Errorf("the address %q cannot be used: %w", target, err)
	}
	return conn, nil
}

// outgoing passes on what belongs to the request: the ids under which it is logged, whose it is and where it may act.
func (o Options) outgoing(ctx context.Context) context.Context {
	pairs := auth.Hand(ctx)
	if o.Token != "" {
		pairs = append(pairs, auth.Key, "Bearer "+o.Token)
	}
	if id := interceptor.RequestID(ctx); id != "" {
		pairs = append(pairs, interceptor.RequestIDKey, id)
	}
	if name := origin.From(ctx); name != "" {
		pairs = append(pairs, origin.Key, name)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

func (o Options) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, set := ctx.Deadline(); !set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return unwrapped(invoke(o.outgoing(ctx), method, req, reply, cc, opts...))
}

// unwrapped takes grpc's report about its retries off the message of the last answer: how often we tried is nothing that
// the person at the end can use.
func unwrapped(err error) error {
	s, _ := status.FromError(err)
	report, message, ok := strings.Cut(s.Message(), " desc = ")
	if !ok || !strings.HasPrefix(report, "max retries exhausted: ") {
		return err
	}
	p := s.Proto()
	p.Message = message
	return status.FromProto(p).Err()
}

func (o Options) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(o.outgoing(ctx), desc, cc, method, opts...)
}
