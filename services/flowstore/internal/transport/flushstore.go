package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// FlushStore returns when every acknowledged change stands in the text files.
func (s *Server) FlushStore(ctx context.Context, req *flowstorev1.FlushStoreRequest) (*flowstorev1.FlushStoreResponse, error) {
	f := begin(req)
	files, err := s.library.Flush(ctx, namespace.From(ctx))
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.FlushStoreResponse{FilesWritten: number(files)}, nil
}
