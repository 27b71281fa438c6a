// Package transfer is `tsumugi import` and `tsumugi export`: files with conversations, to and from a running `tsumugi serve`.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

const (
	// chunkBytes is how much of a file one message carries.
	chunkBytes = 1 << 20
	// maxTold is how many failures are told.
	maxTold = 20
)

// ImportOptions say what is imported.
type ImportOptions struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Files are the paths of the files; `-` is In.
	Files []string
	// Format is `auto`, or one of Formats.
	Format string
	// DryRun tells what would be done.
	DryRun bool
	In     io.Reader
	Out    io.Writer
}

// Formats are those of ImportOptions.Format.
var Formats = map[string]flowstorev1.ImportFormat{
	"auto": flowstorev1.ImportFormat_IMPORT_FORMAT_UNSPECIFIED, "chatgpt": flowstorev1.ImportFormat_IMPORT_FORMAT_CHATGPT,
	"claude": flowstorev1.ImportFormat_IMPORT_FORMAT_CLAUDE, "tsumugi": flowstorev1.ImportFormat_IMPORT_FORMAT_TSUMUGI,
}

// IncompleteError says that something of the files was not imported. What it was has been told.
type IncompleteError struct{ Failed int }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not imported: %d; what else there was is", e.Failed)
}

// ExitCode is that of the process.
func (*IncompleteError) ExitCode() int { return 2 }

// Import sends files, one after another, and tells what became of them. *IncompleteError where something was not
// imported; any other error is a sentence that says what to do.
func Import(ctx context.Context, o ImportOptions) error {
	return client.Ask(o.Addr, o.Token, func(flows flowstorev1.FlowStoreServiceClient) error { return o.run(ctx, flows) })
}

func (o ImportOptions) run(ctx context.Context, flows flowstorev1.FlowStoreServiceClient) error {
	format, known := Formats[o.Format]
	if !known {
		return fmt.Errorf("--format is %.40q; it must be auto, chatgpt, claude or tsumugi", o.Format)
	}
	failed := 0
	for _, name := range o.Files {
		n, err := o.file(ctx, flows, name, &flowstorev1.ImportOptions{Format: format, DryRun: o.DryRun})
		if err != nil {
			return err
		}
		failed += n
	}
	if failed > 0 {
		return &IncompleteError{failed}
	}
	return nil
}

// file imports one file, and says how much of it failed. One that is no export is a failure, too: others may be good.
func (o ImportOptions) file(ctx context.Context, flows flowstorev1.FlowStoreServiceClient, name string, options *flowstorev1.ImportOptions) (int, error) {
	in := o.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			o.say("%s: cannot be read: %v\n", name, errors.Unwrap(err)) // of a *fs.PathError what does not name the file again
			return 1, nil
		}
		defer func() { _ = file.Close() }() // read only
		in = file
	}
	report, err := send(ctx, flows, in, options)
	if refused, ok := apierr.FromStatus(err); ok && refused.Reason == "UNREADABLE_IMPORT" {
		o.say("%s: %s\n", name, refused.Message)
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	o.tell(name, report)
	return int(report.GetFailed()), nil
}

func send(ctx context.Context, flows flowstorev1.FlowStoreServiceClient, in io.Reader, options *flowstorev1.ImportOptions) (*flowstorev1.ImportFlowsResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a file that cannot be read on ends the call before its end
	stream, err := flows.ImportFlows(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Options{Options: options}})
	for err == nil {
		chunk := make([]byte, chunkBytes)
		n, end := io.ReadFull(in, chunk)
		if n > 0 {
			err = stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Chunk{Chunk: chunk[:n]}})
		}
		if errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) {
			break
		}
		if end != nil {
			return nil, end
		}
	}
	return stream.CloseAndRecv() // where the service took no more, it says why
}

// tell tells what became of a file.
func (o ImportOptions) tell(name string, r *flowstorev1.ImportFlowsResponse) {
	would := ""
	if o.DryRun {
		would = " (dry run: nothing was stored)"
	}
	o.say("%s%s\n  flows: %s\n  nodes: %s\n", name, would, counts(r.GetFlows()), counts(r.GetNodes()))
	for _, left := range r.GetLeft() {
		o.say("  left out: %s: %d\n", left.GetKind(), left.GetCount())
	}
	if n := r.GetIgnoredFileCount(); n > 0 {
		o.say("  files without conversations: %d, such as %s\n", n, r.GetIgnoredFiles()[0])
	}
	for i, f := range r.GetFailures() {
		if i == maxTold {
			break
		}
		parts := slices.DeleteFunc([]string{f.GetFile(), f.GetId(), f.GetReason()}, func(part string) bool { return part == "" })
		o.say("  ! %s\n", strings.Join(parts, ": "))
	}
	if more := int(r.GetFailed()) - maxTold; more > 0 {
		o.say("  ! and %d more\n", more)
	}
}

func counts(c *flowstorev1.ImportCount) string {
	return fmt.Sprintf("%d new, %d changed, %d as they were", c.GetImported(), c.GetUpdated(), c.GetSkipped())
}

func (o ImportOptions) say(format string, args ...any) {
	client.Say(o.Out, format, args...)
}
