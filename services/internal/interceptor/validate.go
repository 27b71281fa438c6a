package interceptor

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-dev/tsumugi/services/internal/fieldbehavior"
)

// validate empties the OUTPUT_ONLY fields of each request: a caller may send back what it was given (AIP-203).
func validate(ctx context.Context, c *call, next func(context.Context) error) error {
	c.received = clearOutputOnly
	clearOutputOnly(c.request)
	return next(ctx)
}

func clearOutputOnly(message any) {
	if m, ok := message.(proto.Message); ok {
		fieldbehavior.ClearOutputOnly(m)
	}
}
