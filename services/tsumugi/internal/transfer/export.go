package transfer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// ExportOptions say what is exported.
type ExportOptions struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Flows are `flows/{uuid}`, UUIDs, or what flows are called. None: all, and the nodes that no flow holds.
	Flows []string
	// File is where the export goes; empty: Out.
	File string
	Out  io.Writer
}

// Export writes flows with their nodes. A file takes its place when it is whole; until then an older one stays. An error is
// a sentence that says what to do.
func Export(ctx context.Context, o ExportOptions) error {
	return client.Ask(o.Addr, func(flows flowstorev1.FlowStoreServiceClient) error { return o.run(ctx, flows) })
}

func (o ExportOptions) run(ctx context.Context, flows flowstorev1.FlowStoreServiceClient) error {
	req := &flowstorev1.ExportFlowsRequest{}
	for _, text := range o.Flows {
		name, err := client.Resolve(ctx, flows, text)
		if err != nil {
			return err
		}
		req.Flows = append(req.Flows, name)
	}
	if o.File == "" {
		return receive(ctx, flows, req, o.Out)
	}
	file, err := os.CreateTemp(filepath.Dir(o.File), "."+filepath.Base(o.File)+".*.tmp")
	if err != nil {
		return err
	}
	err = errors.Join(receive(ctx, flows, req, file), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), o.File)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what is told is why it is not there
	}
	return err
}

func receive(ctx context.Context, flows flowstorev1.FlowStoreServiceClient, req *flowstorev1.ExportFlowsRequest, out io.Writer) error {
	stream, err := flows.ExportFlows(ctx, req)
	for err == nil {
		var m *flowstorev1.ExportFlowsResponse
		if m, err = stream.Recv(); err == nil {
			_, err = out.Write(m.GetChunk())
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
