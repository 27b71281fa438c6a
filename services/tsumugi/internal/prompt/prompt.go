// Package prompt is `tsumugi prompt`: prompts of a running `tsumugi serve` on a screen, with what they are made of, what that costs,
// and what has changed since an earlier build.
package prompt

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Options of a build.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Request is the file with the request, JSON or YAML; `-` is In, and empty the empty request.
	Request string
	// Files are printed besides those of the request, each a path, or `NAME=PATH`.
	Files []string
	// Explain shows the sections in place of the text, and JSON the whole reply, which Diff takes.
	Explain, JSON bool
	// Diff is the file with an earlier reply, which this build is compared with; empty: none.
	Diff string
	In   io.Reader
	Out  io.Writer
	// Err gets a line where something is not in the text that a reader would look for, and nothing else is shown.
	Err io.Writer
}

// errBoth: only one thing is written.
var errBoth = errors.New("--json writes the whole reply, and what --explain shows is in it: leave out one of them")

// reply is a prompt as it was built: what BuildAgent says beyond a system prompt is in agent.
type reply struct {
	// unit is what sizes of files are in.
	unit   promptbuilderv1.SizeUnit
	whole  proto.Message
	system *promptbuilderv1.BuildSystemResponse
	agent  *promptbuilderv1.BuildAgentResponse
}

// System builds a system prompt. An error is a sentence that says what to do.
func System(ctx context.Context, o Options) error {
	req := &promptbuilderv1.BuildSystemRequest{}
	return o.run(req, req, func(prompts promptbuilderv1.PromptBuilderServiceClient) (reply, error) {
		r, err := prompts.BuildSystem(ctx, req)
		return reply{whole: r, system: r}, err
	})
}

// Agent builds the prompt of one turn of an agent. An error is a sentence that says what to do.
func Agent(ctx context.Context, o Options) error {
	req := &promptbuilderv1.BuildAgentRequest{System: &promptbuilderv1.BuildSystemRequest{}}
	return o.run(req, req.System, func(prompts promptbuilderv1.PromptBuilderServiceClient) (reply, error) {
		r, err := prompts.BuildAgent(ctx, req)
		return reply{whole: r, system: r.GetSystem(), agent: r}, err
	})
}

// run reads the request, whose system prompt is in system, builds it and shows the reply.
func (o Options) run(req proto.Message, system *promptbuilderv1.BuildSystemRequest, build func(promptbuilderv1.PromptBuilderServiceClient) (reply, error)) error {
	if o.JSON && o.Explain {
		return errBoth
	}
	if err := o.read(req); err != nil {
		return err
	}
	if err := o.attach(system); err != nil {
		return err
	}
	if err := o.compare(system); err != nil {
		return err
	}
	return client.With(o.Addr, o.Token, func(conn grpc.ClientConnInterface) error {
		r, err := build(promptbuilderv1.NewPromptBuilderServiceClient(conn))
		if err != nil {
			return err
		}
		r.unit = system.GetBootstrap().GetCapUnit()
		return o.show(r, system.GetPrevious())
	})
}

// show writes what was asked for. The text is the prompt, byte for byte, so that it can go into a file or a pipe.
func (o Options) show(r reply, previous *promptbuilderv1.PreviousBuild) error {
	switch {
	case o.JSON:
		return writeJSON(o.Out, r.whole)
	case !o.Explain && previous == nil:
		if n := notice(r); n != "" {
			client.Say(o.Err, "tsumugi: %s; --explain tells more\n", n)
		}
		_, err := io.WriteString(o.Out, r.system.GetText())
		return err
	}
	if o.Explain {
		client.Say(o.Out, "%s", explain(r, previous))
	}
	if previous != nil {
		client.Say(o.Out, "%s", difference(r.system, previous))
	}
	return nil
}
