package interceptor

import (
	"context"
	"regexp"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// RequestIDKey is the metadata key, and in lower case the HTTP header, that carries the request id through every hop.
const RequestIDKey = "x-request-id"

// acceptable keeps what a caller sends out of the syntax of logs and headers.
var acceptable = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]{1,128}$`)

type requestIDKey struct{}

// RequestID is the id under which the log has this request; empty outside of one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithRequestID gives a context whose calls through grpcclient carry this id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// NewRequestID takes the id that a caller gave, 1 to 128 letters, digits and `._:/+=@-`, or else makes a UUID.
func NewRequestID(given string) string {
	if acceptable.MatchString(given) {
		return given
	}
	return uuid.NewString()
}

func requestID(ctx context.Context, c *call, next func(context.Context) error) error {
	c.id = NewRequestID(first(ctx, RequestIDKey))
	told := metadata.Pairs(RequestIDKey, c.id)
	if c.stream {
		grpc.SetHeader(ctx, told) //nolint:errcheck // fails only when the header is sent, which the handler does later
	}
	err := next(context.WithValue(WithRequestID(ctx, c.id), callKey{}, c))
	switch {
	case c.stream:
	case err != nil: // in the trailer: a client does not try again once it has seen a header
		grpc.SetTrailer(ctx, told) //nolint:errcheck // fails only without a grpc stream, that is in a test
	default:
		grpc.SetHeader(ctx, told) //nolint:errcheck // as above
	}
	return err
}

// first is the first value of a metadata key, empty where there is none.
func first(ctx context.Context, key string) string {
	if v := metadata.ValueFromIncomingContext(ctx, key); len(v) > 0 {
		return v[0]
	}
	return ""
}
