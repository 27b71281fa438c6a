package transport

import (
	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// GenerateNode continues a flow, or with `dry_run` shows the prompt.
func (s *Server) GenerateNode(q *agentv1.GenerateNodeRequest, stream grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	req, err := parse(q)
	if err != nil {
		return err
	}
	ctx := stream.Context()
	ns := namespace.From(ctx)
	if q.GetDryRun() {
		o, err := s.generations.Preview(ctx, ns, req)
		if err != nil {
			return fault(err)
		}
		return stream.Send(event(o))
	}
	v, err := s.generations.Generate(ctx, ns, req)
	if err != nil {
		return fault(err)
	}
	return s.show(stream, v)
}
