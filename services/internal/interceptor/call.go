package interceptor

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
)

// call is one call or stream on its way through the stages. It is written by the call's own goroutine only, but for revoked.
type call struct {
	// method is /package.Service/Method, service and name are its parts; both "unknown" for a method we do not have.
	method, service, name string
	stream                bool
	// request is the message of a call; nil for a stream, and where it could not be read.
	request any
	// foreign is a service of grpc itself (health, reflection), whose errors are part of its protocol.
	foreign, health bool
	id, namespace   string
	// token is the id of the caller's token. still says whether it holds yet; revoked is why it does not.
	token   string
	still   auth.Still
	revoked atomic.Pointer[apierr.Error]
	// cause is the error behind the answer, for the log.
	cause error
	drain <-chan struct{}
	// received is called with each message that a stream reads, active for each that it reads or sends.
	received func(message any)
	active   func()
}

func (ch *Chain) newCall(method string) *call {
	c := &call{method: method, drain: ch.options.Drain, service: "unknown", name: "unknown"}
	if ch.options.Known == nil || ch.options.Known(method) {
		c.service, c.name, _ = strings.Cut(strings.TrimPrefix(method, "/"), "/")
	}
	c.foreign = strings.HasPrefix(c.service, "grpc.")
	c.health = c.service == "grpc.health.v1.Health"
	return c
}

type callKey struct{}

// Draining is closed when the server of this call begins to stop: a stream then sends its last event and returns
// UNAVAILABLE, DRAINING. Outside of a call it is never closed.
func Draining(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.drain
	}
	return nil
}
