package grpcclient

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Ready asks a service of ours for its health. Not fatal: a call of one that is away is answered with a sentence that
// says so, and all the others work.
func Ready(name string, conn grpc.ClientConnInterface) obs.Question {
	return func(ctx context.Context) obs.Check {
		health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		switch {
		case err != nil:
			return obs.Check{Name: name, Message: "does not answer: " + status.Convert(err).Message()}
		case health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
			return obs.Check{Name: name, Message: "says " + health.GetStatus().String()}
		}
		return obs.Check{Name: name, OK: true}
	}
}
