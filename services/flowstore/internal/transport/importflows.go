package transport

import (
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// ImportFlows stores the conversations of a file, as it comes.
func (s *Server) ImportFlows(stream grpc.ClientStreamingServer[flowstorev1.ImportFlowsRequest, flowstorev1.ImportFlowsResponse]) error {
	f := &fields{}
	file := &upload{stream: stream}
	options := file.begin()
	in := library.Importing{Format: f.format(options.GetFormat()), DryRun: options.GetDryRun()}
	if err := f.Err(); err != nil {
		return err
	}
	ctx := stream.Context()
	report, err := s.library.Import(ctx, namespace.From(ctx), file, in)
	if err != nil {
		return f.fault(err)
	}
	return stream.SendAndClose(fromReport(report))
}

var formats = map[flowstorev1.ImportFormat]transfer.Format{
	flowstorev1.ImportFormat_IMPORT_FORMAT_UNSPECIFIED: transfer.Any, flowstorev1.ImportFormat_IMPORT_FORMAT_CHATGPT: transfer.ChatGPT,
	flowstorev1.ImportFormat_IMPORT_FORMAT_CLAUDE: transfer.Claude, flowstorev1.ImportFormat_IMPORT_FORMAT_TSUMUGI: transfer.Tsumugi,
}

func (f *fields) format(in flowstorev1.ImportFormat) transfer.Format {
	format, known := formats[in]
	if !known {
		f.Add("options.format", "is %d, which is no format; it must be IMPORT_FORMAT_CHATGPT, IMPORT_FORMAT_CLAUDE or IMPORT_FORMAT_TSUMUGI, or be left out", in)
	}
	return format
}

// upload is the file of a stream of chunks.
type upload struct {
	stream grpc.ClientStreamingServer[flowstorev1.ImportFlowsRequest, flowstorev1.ImportFlowsResponse]
	left   []byte
	err    error
}

// begin reads the first message, and gives its options. What is wrong with it the first Read tells.
func (u *upload) begin() *flowstorev1.ImportOptions {
	first, err := u.stream.Recv()
	u.left, u.err = first.GetChunk(), err
	return first.GetOptions()
}

// Read gives the next bytes.
func (u *upload) Read(p []byte) (int, error) {
	for len(u.left) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		var next *flowstorev1.ImportFlowsRequest
		if next, u.err = u.stream.Recv(); u.err == nil && next.GetOptions() != nil {
			f := &fields{}
			f.Add("options", "must stand in the first message alone")
			u.err = f.Err()
		}
		u.left = next.GetChunk()
	}
	n := copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

func fromReport(r transfer.Report) *flowstorev1.ImportFlowsResponse {
	out := &flowstorev1.ImportFlowsResponse{
		Flows: fromCount(r.Flows), Nodes: fromCount(r.Nodes), Failed: number(r.Failed), IgnoredFiles: r.Ignored, IgnoredFileCount: number(r.IgnoredFiles),
	}
	for _, kind := range r.LeftKinds() {
		out.Left = append(out.Left, &flowstorev1.ImportLeft{Kind: kind, Count: number(r.Left[kind])})
	}
	for _, failure := range r.Failures {
		out.Failures = append(out.Failures, &flowstorev1.ImportFailure{File: failure.File, Id: failure.ID, Reason: failure.Reason})
	}
	return out
}

func fromCount(c transfer.Count) *flowstorev1.ImportCount {
	return &flowstorev1.ImportCount{Imported: number(c.Imported), Updated: number(c.Updated), Skipped: number(c.Skipped)}
}
