package rest

import (
	"context"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// known finds out who makes a request, and whether they may, before its body is read: a body unfolds in memory, and is not taken from anybody.
// The service that is called asks again, by the same header. It is told the namespace, too, so that one that asks nobody
// refuses what is not for the namespace that it acts in, instead of serving everybody there.
func (s *surface) known(r *http.Request, route routes.Route) (context.Context, error) {
	if s.Auth == nil {
		return r.Context(), nil
	}
	caller, _, err := s.Auth.Authenticate(auth.Request{Values: r.Header.Values("Authorization"), Peer: r.RemoteAddr, Method: route.Method + " " + route.Path})
	if err != nil {
		return nil, err
	}
	if caller.Has(token.Service) {
		return nil, apierr.New(codes.PermissionDenied, apierr.ReasonPermissionDenied, "this token is for programs of ours among each other, over gRPC; it has no namespace of its own")
	}
	if err := caller.MayCall(route.Call()); err != nil {
		return nil, err
	}
	return namespace.With(r.Context(), caller.Namespace), nil
}
