package interceptor

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// maxCauseBytes is how much of the error behind an answer is logged.
const maxCauseBytes = 1 << 10

// accessLog writes one line a call, without anything of its content. Health checks are not logged.
func accessLog(log *zap.Logger) func(context.Context, *call, func(context.Context) error) error {
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		if c.health {
			return next(ctx)
		}
		start := time.Now()
		err := next(ctx)
		if entry := log.Check(level(status.Code(err)), "call"); entry != nil {
			entry.Write(fields(ctx, c, err, time.Since(start))...)
		}
		return err
	}
}

func level(code codes.Code) zapcore.Level {
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return zap.ErrorLevel
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
		return zap.WarnLevel
	}
	return zap.InfoLevel
}

func fields(ctx context.Context, c *call, err error, took time.Duration) []zap.Field {
	out := make([]zap.Field, 0, 10)
	out = append(out, zap.String("method", c.method), zap.Stringer("code", status.Code(err)), zap.Duration("duration", took),
		zap.String("request_id", c.id), zap.String("namespace", c.namespace))
	if c.token != "" {
		out = append(out, zap.String("token", c.token))
	}
	if t := trace.SpanContextFromContext(ctx).TraceID(); t.IsValid() {
		out = append(out, zap.Stringer("trace_id", t))
	}
	if e, ok := apierr.FromStatus(err); ok {
		out = append(out, zap.String("reason", e.Reason), zap.String("message", e.Message))
	}
	if c.cause != nil {
		out = append(out, zap.String("error", short(c.cause.Error())))
	}
	var p *panicError
	if errors.As(c.cause, &p) {
		out = append(out, zap.ByteString("stack", p.stack))
	}
	return out
}

// short keeps what somebody put into an error from filling the log.
func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxCauseBytes)], "") }
