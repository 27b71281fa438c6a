package interceptor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// deadline gives each call a time limit. A stream has none (a big model on a CPU generates for many minutes) but must
// not be idle; a health check may be.
func deadline(o Options) func(context.Context, *call, func(context.Context) error) error {
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		switch {
		case c.health:
			return next(ctx)
		case c.stream:
			return idle(ctx, c, o.StreamIdle, next)
		}
		ctx, cancel := clamp(ctx, o.DefaultTimeout, o.MaxTimeout)
		defer cancel()
		return next(ctx)
	}
}

func clamp(ctx context.Context, usual, most time.Duration) (context.Context, context.CancelFunc) {
	_, set := ctx.Deadline()
	switch {
	case !set && usual > 0:
		return context.WithTimeout(ctx, usual)
	case most > 0:
		return context.WithTimeout(ctx, most) // an earlier deadline stands
	}
	return ctx, func() {}
}

// idle ends a stream on which nothing was sent or received for too long: its handler hangs, or its reader does.
func idle(ctx context.Context, c *call, most time.Duration, next func(context.Context) error) error {
	if most == 0 {
		return next(ctx)
	}
	tooLong := apierr.New(codes.DeadlineExceeded, apierr.ReasonDeadlineExceeded,
		fmt.Sprintf("nothing was sent or received on this stream for %s", most))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(most, func() {
		cancel(tooLong)
		abort(ctx, tooLong.GRPCStatus())
	})
	defer timer.Stop()
	c.active = func() { timer.Reset(most) }
	err := next(ctx)
	if errors.Is(context.Cause(ctx), tooLong) {
		return tooLong
	}
	return err
}

// abort ends the stream under a handler that is blocked in Send since its reader does not read: a cancelled context
// does not reach it there. grpc offers no call for this; its transport stream has one.
func abort(ctx context.Context, s *status.Status) {
	if t, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ WriteStatus(*status.Status) error }); ok {
		_ = t.WriteStatus(s) // the stream may be over by now, which is as good
	}
}
