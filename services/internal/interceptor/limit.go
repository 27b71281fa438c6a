package interceptor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// limit refuses a call when most others are running already. Health checks pass: a busy server is not a dead one.
func limit(most int) func(context.Context, *call, func(context.Context) error) error {
	var running atomic.Int64
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		if c.health || most == 0 {
			return next(ctx)
		}
		defer running.Add(-1)
		if running.Add(1) > int64(most) {
			e := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded,
				fmt.Sprintf("%d calls are running, which is the limit of this server; try again in a second", most))
			e.RetryAfter = time.Second
			return e
		}
		return next(ctx)
	}
}
