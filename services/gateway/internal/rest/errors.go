package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/edge"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

// errDraining is why a stream was ended when the gateway stops.
var errDraining = errors.New("the gateway is stopping")

// failed answers a call that ended with an error before its answer began.
func (s *surface) failed(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if body, ok := r.Body.(*strictjson.Body); ok && body.Err() != nil {
		err = body.Err()
	}
	s.refuse(ctx, w, err)
}

// refuse answers with an error.
func (s *surface) refuse(ctx context.Context, w http.ResponseWriter, err error) {
	problem.Write(w, s.status(ctx, err))
}

// status is what the caller gets for err, before or in a stream. The log keeps the cause of a fault and of a service that is away.
func (s *surface) status(ctx context.Context, err error) *status.Status {
	if errors.Is(context.Cause(ctx), errDraining) {
		err = apierr.New(codes.Unavailable, problem.Draining, "the gateway is stopping; a stream can be taken up again with WatchGeneration or WatchEvents")
	}
	call := problem.Call{RequestID: interceptor.RequestID(ctx)}
	if rpc, ok := runtime.RPCMethod(ctx); ok {
		call.Service = routes.ServiceOf(rpc)
	}
	st := problem.Status(err, call)
	if own := new(apierr.Error); !errors.As(err, &own) { // the gateway's own answers name fields as in the JSON already
		st = inJSON(ctx, st)
	}
	if e, ok := apierr.FromStatus(st.Err()); ok {
		edge.SetReason(ctx, e.Reason)
	}
	if st.Code() == codes.Internal || st.Code() == codes.Unavailable {
		edge.SetCause(ctx, call.Service, err)
	}
	return st
}
