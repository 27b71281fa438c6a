package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Follow gives ctx with the span of a caller as its remote parent: what is called under it is in the caller's trace, also when the caller's own call has
// ended. Nothing else of the caller is taken over, neither its end nor who it is.
func Follow(ctx, caller context.Context) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.SpanContextFromContext(caller))
}
