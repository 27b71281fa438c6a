package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// ExportOptions say what is exported.
type ExportOptions struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Flows are `flows/{uuid}`, UUIDs, or what flows are called. None: all, and the nodes that no flow holds.
	Flows []string
	// File is where the export goes; empty: Out.
	File string
	Out  io.Writer
	// Problems gets a line for each node or flow that could not be exported.
	Problems io.Writer
}

// UnreadableError says that something could not be read and is not in the export. What it was has been told.
type UnreadableError struct{ Problems int }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("not exported: %d; what else there was is", e.Problems)
}

// ExitCode is that of the process.
func (*UnreadableError) ExitCode() int { return 2 }

// Export writes flows with their nodes. A file takes its place when it is whole; until then an older one stays.
// *UnreadableError where something could not be read; any other error is a sentence that says what to do.
func Export(ctx context.Context, o ExportOptions) error {
	return client.Ask(o.Addr, o.Token, func(flows flowstorev1.FlowStoreServiceClient) error { return o.run(ctx, flows) })
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
		return o.receive(ctx, flows, req, o.Out)
	}
	var unreadable *UnreadableError
	err := client.WriteFile(o.File, func(w io.Writer) error {
		if err := o.receive(ctx, flows, req, w); !errors.As(err, &unreadable) {
			return err
		}
		return nil
	})
	if err == nil && unreadable != nil {
		return unreadable
	}
	return err
}

// receive writes what comes, and tells of what could not be read.
func (o ExportOptions) receive(ctx context.Context, flows flowstorev1.FlowStoreServiceClient, req *flowstorev1.ExportFlowsRequest, out io.Writer) error {
	stream, err := flows.ExportFlows(ctx, req)
	var told problems
	for err == nil {
		var m *flowstorev1.ExportFlowsResponse
		if m, err = stream.Recv(); err == nil {
			told.take(m.GetChunk())
			_, err = out.Write(m.GetChunk())
		}
	}
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case len(told.all) > 0:
		for _, p := range told.all[:min(len(told.all), maxTold)] {
			client.Say(o.Problems, "! %s: %s\n", p.Problem.Name, client.OneLine(p.Problem.Reason))
		}
		if more := len(told.all) - maxTold; more > 0 {
			client.Say(o.Problems, "! and %d more\n", more)
		}
		return &UnreadableError{len(told.all)}
	}
	return nil
}

// problemLine is a line of the export that stands in place of something (docs/import.md).
type problemLine struct {
	Problem struct{ Name, Reason string } `json:"problem"`
}

// problems finds those lines as an export comes by, of which the others may be long.
type problems struct {
	all  []problemLine
	line []byte // what there is of a line that may be one
	skip bool   // the line is another one
}

func (p *problems) take(chunk []byte) {
	const begin = `{"problem"`
	for len(chunk) > 0 {
		part, rest, ends := bytes.Cut(chunk, []byte("\n"))
		chunk = rest
		if !p.skip {
			p.line = append(p.line, part...)
			n := min(len(p.line), len(begin))
			p.skip = string(p.line[:n]) != begin[:n]
		}
		if !ends {
			return
		}
		var found problemLine
		if !p.skip && json.Unmarshal(p.line, &found) == nil {
			p.all = append(p.all, found)
		}
		p.line, p.skip = p.line[:0], false
	}
}
