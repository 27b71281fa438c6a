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
// While there is no authentication everybody acts in the default one.
func identify(o Options) func(context.Context, *call, func(context.Context) error) error {
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		if c.health {
			return next(ctx)
		}
		ns, err := namespace.Default, error(nil)
		switch told := first(ctx, NamespaceKey); {
		case o.TrustNamespace && told != "":
			ns = told
		case !o.TrustNamespace && o.Authenticate != nil:
			ns, err = o.Authenticate(ctx, c.method)
		}
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
