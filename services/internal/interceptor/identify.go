package interceptor

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// NamespaceKey is the metadata key in which grpcclient tells the next service in which namespace a request acts.
//
// A server believes it only with Options.TrustNamespace, which is for the `inner` server: it listens on no network, so
// whoever reaches it is this process, and the `front` server has authenticated the caller already. Everywhere else it
// is as if the key were not there.
const NamespaceKey = "tsumugi-namespace"

// identify finds out in which namespace the call acts: it follows from who is asking, never from a name or a body.
func identify(o Options) func(context.Context, *call, func(context.Context) error) error {
	authenticate := o.Authenticate
	if authenticate == nil {
		authenticate = everybody
	}
	if o.TrustNamespace {
		authenticate = trusted
	}
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		if c.health {
			return next(ctx)
		}
		ns, err := authenticate(ctx, c.method)
		if err != nil {
			return err
		}
		if !namespace.Valid(ns) {
			return apierr.New(codes.PermissionDenied, apierr.ReasonNamespaceDenied, "the caller acts in no valid namespace")
		}
		c.namespace = ns
		return next(namespace.With(ctx, ns))
	}
}

// everybody passes each caller while there is no authentication.
func everybody(context.Context, string) (string, error) { return namespace.Default, nil }

// trusted takes the namespace from our own service.
func trusted(ctx context.Context, _ string) (string, error) {
	if ns := first(ctx, NamespaceKey); ns != "" {
		return ns, nil
	}
	return namespace.Default, nil
}
