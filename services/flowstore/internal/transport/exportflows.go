package transport

import (
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

const (
	// maxExported is how many flows an export names.
	maxExported = 1_000
	// chunkBytes is the size of a chunk of an export.
	chunkBytes = 1 << 20
)

// ExportFlows gives flows with their nodes.
func (s *Server) ExportFlows(req *flowstorev1.ExportFlowsRequest, stream grpc.ServerStreamingServer[flowstorev1.ExportFlowsResponse]) error {
	f := begin(req)
	flows := f.names("flows", req.GetFlows(), maxExported, aFlow)
	if err := f.Err(); err != nil {
		return err
	}
	ctx := stream.Context()
	file := &download{stream: stream}
	err := s.library.Export(ctx, namespace.From(ctx), flows, file)
	if err == nil {
		err = file.send(1)
	}
	if err != nil {
		return f.fault(err)
	}
	return nil
}

// download gathers what is written into chunks.
type download struct {
	stream grpc.ServerStreamingServer[flowstorev1.ExportFlowsResponse]
	held   []byte
}

// Write sends what fills a chunk and holds the rest.
func (d *download) Write(p []byte) (int, error) {
	d.held = append(d.held, p...)
	return len(p), d.send(chunkBytes)
}

// send sends what is held while it is at least so many bytes.
func (d *download) send(least int) error {
	for len(d.held) >= least {
		n := min(len(d.held), chunkBytes)
		if err := d.stream.Send(&flowstorev1.ExportFlowsResponse{Chunk: d.held[:n]}); err != nil {
			return err
		}
		d.held = append([]byte(nil), d.held[n:]...) // the message may still be on its way
	}
	return nil
}
