package interceptor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// translate makes every error a status with one ErrorInfo (apierr.From). What the caller is not told goes to the log.
// The services of grpc itself (health, reflection) speak a protocol in which a bare status is an answer.
func translate(ctx context.Context, c *call, next func(context.Context) error) error {
	err := next(ctx)
	if err == nil {
		return nil
	}
	var p *panicError
	if c.foreign && !errors.As(err, &p) {
		return err
	}
	if gone(ctx, err) {
		err = context.Cause(ctx)
	}
	own := apierr.From(err, c.id)
	if err.Error() != own.Message {
		c.cause = err
	}
	if own.Once {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pushback, "-1")) // it fails only where there is no call to answer
	}
	return own.GRPCStatus().Err()
}

// pushback is the trailer that tells a client of grpc when to repeat a call by itself, in milliseconds; negative: not at all.
const pushback = "grpc-retry-pushback-ms"

// gone says that a message could not be sent or read because the caller has left: grpc then gives a bare status.
func gone(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	var own *apierr.Error
	if errors.As(err, &own) {
		return false
	}
	code := status.Code(err)
	return code == codes.Canceled || code == codes.DeadlineExceeded || code == codes.Unavailable
}

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

// Error is for the log only.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// recovery turns a panic into an error. It cannot catch one in a goroutine that a handler started.
func recovery(ctx context.Context, _ *call, next func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return next(ctx)
}
