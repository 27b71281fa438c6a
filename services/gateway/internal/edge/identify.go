package edge

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

// call is what is known of a request while it runs.
type call struct {
	id     string
	route  string // path template; empty until a path has matched
	reason string // of the error that was answered
	// service was called and cause is what it, or the connection to it, said, where that is a fault of ours.
	service string
	cause   error
	answer  answer
}

type callKey struct{}

// of is the call that ctx belongs to; an empty one outside of a request.
func of(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// SetRoute notes which path template a request has matched, for the log and the metrics.
func SetRoute(ctx context.Context, template string) { of(ctx).route = template }

// SetReason notes the reason of the error that a request ended with, for the log.
func SetReason(ctx context.Context, reason string) { of(ctx).reason = reason }

// SetCause notes, for the log, what stands behind an error of which the caller learns less: the service that was called,
// and what it said.
func SetCause(ctx context.Context, service string, cause error) {
	c := of(ctx)
	c.service, c.cause = service, cause
}

// traces reads the headers traceparent and tracestate.
var traces = propagation.TraceContext{}

// identify gives every request its id, the caller's where it is fit for logs, and its place in the caller's trace. Both
// go on to the services (grpcclient). It also takes away the headers by which a client could pretend to be a proxy.
func identify(next http.Handler, writeTimeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := interceptor.NewRequestID(r.Header.Get(interceptor.RequestIDKey))
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
			r.Header.Del(name)
		}
		w.Header().Set(interceptor.RequestIDKey, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		c := &call{id: id, answer: newAnswer(w, writeTimeout)}
		ctx := traces.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx = context.WithValue(interceptor.WithRequestID(ctx, id), callKey{}, c)
		next.ServeHTTP(&c.answer, r.WithContext(ctx))
	})
}
