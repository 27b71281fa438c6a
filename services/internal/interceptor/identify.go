package interceptor

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// identify finds out who calls, and with that in which namespace: it follows from who is asking, never from a name or a
// body. The services of grpc itself are for everybody: health for probes, and reflection, which is on loopback only.
func identify(o Options) func(context.Context, *call, func(context.Context) error) error {
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		if c.foreign {
			return next(ctx)
		}
		caller, err := o.caller(ctx, c)
		if err != nil {
			return err
		}
		if !namespace.Valid(caller.Namespace) {
			return apierr.New(codes.PermissionDenied, apierr.ReasonNamespaceDenied, "the caller acts in no valid namespace")
		}
		c.namespace, c.token = caller.Namespace, caller.Token
		err = next(auth.With(ctx, caller))
		if revoked := c.revoked.Load(); revoked != nil { // whatever the handler made of it
			return revoked
		}
		return err
	}
}

// caller is who calls, by what this server may believe, if it may make this call. For whom a program of ours calls is not asked again what they
// may: they came in elsewhere, with another call.
func (o Options) caller(ctx context.Context, c *call) (auth.Caller, error) {
	switch {
	case o.TrustCaller:
		return auth.Handed(ctx, auth.Program())
	case o.Auth == nil:
		return auth.Alone(ctx, auth.Local())
	}
	r := auth.Request{Values: metadata.ValueFromIncomingContext(ctx, auth.Key), Method: c.method}
	if p, ok := peer.FromContext(ctx); ok {
		r.Peer = p.Addr.String()
	}
	caller, still, err := o.Auth.Authenticate(r)
	if err != nil {
		return auth.Caller{}, err
	}
	c.still, c.namespace, c.token = still, caller.Namespace, caller.Token
	if err := caller.MayCall(c.method); err != nil {
		return auth.Caller{}, err
	}
	switch {
	case !o.Auth.Asks():
		return auth.Alone(ctx, caller)
	case caller.Has(token.Service):
		return auth.Handed(ctx, caller)
	}
	return caller, nil
}

// holds says whether the caller of a stream may still have what is sent next. Once it may not, it is for good.
func (c *call) holds() error {
	if c.still == nil {
		return nil
	}
	if now := c.still(); now != nil {
		c.revoked.CompareAndSwap(nil, now)
	}
	revoked := c.revoked.Load()
	if revoked == nil {
		return nil // no *apierr.Error in an error, not even a nil one
	}
	return revoked
}
