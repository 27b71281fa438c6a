package transport

import (
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// RepairStore does what is derived or certain of what CheckStore finds, or says what it would do.
func (s *Server) RepairStore(req *flowstorev1.RepairStoreRequest, stream grpc.ServerStreamingServer[flowstorev1.RepairStoreEvent]) error {
	f := begin(req)
	ctx := stream.Context()
	p := &progress{send: func(step *flowstorev1.CheckProgress) error {
		return stream.Send(&flowstorev1.RepairStoreEvent{Event: &flowstorev1.RepairStoreEvent_Progress{Progress: step}})
	}}
	mended, err := s.library.Mend(ctx, namespace.From(ctx), store.MendOptions{Apply: req.GetApply(), Current: req.GetCurrent()}, p.tell)
	if err != nil {
		return f.fault(err)
	}
	if p.err != nil {
		return p.err
	}
	result := &flowstorev1.RepairResult{Folder: mended.Folder}
	for _, step := range mended.Steps {
		switch {
		case step.Left != "":
			result.Left++
		case mended.Folder != "":
			result.Changed++
		}
		out := &flowstorev1.RepairStep{Path: step.Path, Action: step.Text, Left: step.Left}
		if err := stream.Send(&flowstorev1.RepairStoreEvent{Event: &flowstorev1.RepairStoreEvent_Step{Step: out}}); err != nil {
			return err
		}
	}
	return stream.Send(&flowstorev1.RepairStoreEvent{Event: &flowstorev1.RepairStoreEvent_Result{Result: result}})
}
