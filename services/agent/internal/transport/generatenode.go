package transport

import (
	"errors"
	"slices"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// GenerateNode continues a flow, or with `dry_run` shows the prompt.
func (s *Server) GenerateNode(q *agentv1.GenerateNodeRequest, stream grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	ctx := stream.Context()
	ns := namespace.From(ctx)
	req, wrong := parse(q, s.generations.Limits())
	if wrong.Len() > 0 {
		for _, err := range s.generations.Refusals(ctx, ns, req) {
			wrong.Also(inChat(q, fault(err)))
		}
		return wrong.Err()
	}
	if q.GetDryRun() {
		o, err := s.generations.Preview(ctx, ns, req)
		if err != nil {
			return inChat(q, fault(err))
		}
		return stream.Send(event(o))
	}
	if req.Several() {
		a, err := s.generations.GenerateSeveral(ctx, ns, req)
		if err != nil {
			return fault(err)
		}
		return inChat(q, byRequestID(s.showAll(stream, a)))
	}
	v, err := s.generations.Generate(ctx, ns, req)
	if err != nil {
		return fault(err)
	}
	return inChat(q, byRequestID(s.show(stream, v)))
}

// byRequestID names the generation's node by what stands for it in the request. The other calls have its `name`.
func byRequestID(err error) error {
	var own *apierr.Error
	if !errors.As(err, &own) {
		return err
	}
	renamed := *own // every watcher has the same error
	renamed.Violations = slices.Clone(own.Violations)
	for i := range renamed.Violations {
		if renamed.Violations[i].Field == "name" {
			renamed.Violations[i].Field = "request_id"
		}
	}
	return &renamed
}
