package interceptor

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

// named takes the name that the caller gives itself. One that cannot be told is refused: cut or left out, a program that knows its own
// changes by it would take them for those of others.
func named(ctx context.Context, _ *call, next func(context.Context) error) error {
	names := metadata.ValueFromIncomingContext(ctx, origin.Key)
	if len(names) == 0 {
		return next(ctx)
	}
	if len(names) > 1 || !origin.Valid(names[0]) {
		var wrong apierr.Fields
		wrong.Add(origin.Key, "%s", origin.Rule)
		return wrong.Err()
	}
	return next(origin.With(ctx, names[0]))
}
