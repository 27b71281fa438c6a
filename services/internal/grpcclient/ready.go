package grpcclient

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
			return obs.Check{Name: name, Message: "does not answer: " + Reason(err)}
		case health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
			return obs.Check{Name: name, Message: "says " + health.GetStatus().String()}
		}
		return obs.Check{Name: name, OK: true}
	}
}

// plainly says what grpc and the system say of connections as a person would; what is in it is in their message.
var plainly = []struct{ said, means string }{
	{"health check failed", "it is starting or stopping, and takes no requests now"},
	{"connection refused", "nothing listens there"},
	{"no such host", "no such host is known"},
	{"error reading from server", "it closed the connection"},
	{"connection reset by peer", "it closed the connection"},
	{"broken pipe", "it closed the connection"},
}

// Reason is why a call failed, for a person: a sentence of ours for the faults that connections usually have, else the
// message of its status without grpc's own words around it, such as `dial tcp 10.0.0.1:7453: i/o timeout`.
func Reason(err error) string {
	message := status.Convert(err).Message()
	for _, p := range plainly {
		if status.Code(err) == codes.Unavailable && strings.Contains(message, p.said) {
			return p.means
		}
	}
	for _, before := range []string{`connection error: desc = "`, "transport: ", "Error while dialing: "} {
		after, found := strings.CutPrefix(message, before)
		if message = after; found && strings.HasSuffix(before, `"`) {
			message = strings.TrimSuffix(message, `"`)
		}
	}
	return message
}
