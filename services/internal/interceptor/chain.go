// Package interceptor is what every call goes through before and after its handler.
//
// One list of stages serves calls and streams, so the two can never differ. Outermost first:
//
//	request_id      takes the caller's request id or makes one, and tells it in the header or, with an error, the trailer
//	access_log      one line a call
//	metrics         calls, seconds, calls in flight
//	errors          every error becomes a status with one ErrorInfo; what is not typed becomes INTERNAL with the request id
//	recovery        a panic in a stage below fails this call only
//	limit           too many calls at once are refused
//	auth            who is asking, and the namespace that follows from it
//	origin          how the caller calls itself
//	deadline        a call has a time limit, a stream an idle limit
//	validation      OUTPUT_ONLY fields of a request are emptied
//	inner_recovery  a panic in the handler becomes an error before the stages above see it
//
// The order is that of field/gostyle.md 1.8: what is refused is logged and counted too, and nothing is spent on a
// caller who may not call. REQUIRED fields are checked in the handlers (apierr.Fields), so that a caller learns of
// them together with what else is wrong.
package interceptor

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
)

// Options are what the stages need. Log and Metrics must be set; a zero limit is no limit.
type Options struct {
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// MaxInFlight is how many calls and streams may run at once, health checks not counted.
	MaxInFlight int
	// DefaultTimeout is the time limit of a call whose caller set none, MaxTimeout the most that a caller can set.
	DefaultTimeout, MaxTimeout time.Duration
	// StreamIdle ends a stream on which nothing was sent or received for so long.
	StreamIdle time.Duration
	// Auth finds out who calls. Nil: everybody is auth.Local, in the default namespace.
	Auth *auth.Authenticator
	// TrustCaller takes the caller and the namespace from the metadata that grpcclient sends. Only for a server that none
	// but our own services can reach: it has authenticated nobody.
	TrustCaller bool
	// Drain is closed when the server begins to stop.
	Drain <-chan struct{}
	// Known says whether the server has a method, given as /package.Service/Method. Nil: all are known.
	Known func(method string) bool
}

// Chain is the stages in their order.
type Chain struct {
	options Options
	stages  []stage
}

// stage is one step around the rest of the call.
type stage struct {
	name string
	run  func(ctx context.Context, c *call, next func(context.Context) error) error
}

// New makes the chain.
func New(o Options) *Chain {
	return &Chain{options: o, stages: []stage{
		{"request_id", requestID},
		{"access_log", accessLog(o.Log)},
		{"metrics", metrics(o.Metrics)},
		{"errors", translate},
		{"recovery", recovery},
		{"limit", limit(o.MaxInFlight)},
		{"auth", identify(o)},
		{"origin", named},
		{"deadline", deadline(o)},
		{"validation", validate},
		{"inner_recovery", recovery},
	}}
}

// run calls the stages from i on, then last.
func (ch *Chain) run(ctx context.Context, c *call, i int, last func(context.Context) error) error {
	if i == len(ch.stages) {
		return last(ctx)
	}
	return ch.stages[i].run(ctx, c, func(ctx context.Context) error { return ch.run(ctx, c, i+1, last) })
}

// Unary is the chain for calls.
func (ch *Chain) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	c := ch.newCall(info.FullMethod)
	c.request = req
	var resp any
	err := ch.run(ctx, c, 0, func(ctx context.Context) (err error) {
		resp, err = handler(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream is the chain for streams.
func (ch *Chain) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	c := ch.newCall(info.FullMethod)
	c.stream = true
	return ch.run(ss.Context(), c, 0, func(ctx context.Context) error {
		return handler(srv, &stream{ServerStream: ss, ctx: ctx, call: c})
	})
}
