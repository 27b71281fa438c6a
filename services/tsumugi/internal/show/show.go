// Package show is `tsumugi flow show`: a flow on a screen, as a drawing and with the beginning of each node.
package show

import (
	"context"
	"fmt"
	"io"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Options of a look at a flow.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Flow is `flows/{uuid}`, the UUID alone, or what the flow is called.
	Flow string
	// Nodes is how many nodes are told, from the first of the history on; 0: none.
	Nodes int
	// Out is where it is shown.
	Out io.Writer
}

// Run shows a flow. An error is a sentence that says what to do.
func Run(ctx context.Context, o Options) error {
	if o.Nodes < 0 {
		return fmt.Errorf("--nodes is %d; it must be 0 or more", o.Nodes)
	}
	return client.Ask(o.Addr, o.Token, func(flows flowstorev1.FlowStoreServiceClient) error { return o.show(ctx, flows) })
}

func (o Options) show(ctx context.Context, flows flowstorev1.FlowStoreServiceClient) error {
	name, err := client.Resolve(ctx, flows, o.Flow)
	if err != nil {
		return err
	}
	flow, err := flows.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: name})
	if err != nil {
		return err
	}
	history := &flowstorev1.ListHistoryNodesRequest{Flow: name, PageSize: page(o.Nodes), Drawing: true}
	answer, err := flows.ListHistoryNodes(ctx, history)
	if err != nil {
		return err
	}
	o.say("「%s」 %s\nnodes: %d, edges: %d\n", client.OneLine(flow.GetDisplayName()), name, len(flow.GetNodes()), len(flow.GetEdges()))
	for _, head := range flow.GetHeads() {
		o.say("%d: %s\n", head.GetIndex(), client.OneLine(head.GetDisplayName()))
	}
	for _, warning := range flow.GetWarnings() {
		o.say("! %s\n", warning)
	}
	o.say("\n%s\n", client.Cut(answer.GetDrawing(), mostDrawn))
	for told := 0; ; {
		for _, n := range answer.GetNodes() {
			if told == o.Nodes {
				o.say("… %d more; --nodes N tells N\n", len(flow.GetNodes())-told)
				return nil
			}
			o.say("%s\n", line(n, flow.GetCurrent()))
			told++
		}
		if history.PageToken = answer.GetNextPageToken(); history.PageToken == "" {
			return nil
		}
		history.Drawing, history.PageSize = false, page(o.Nodes-told)
		if answer, err = flows.ListHistoryNodes(ctx, history); err != nil {
			return err
		}
	}
}

// page is the size of a page that holds so many nodes, and one to see that there are more.
func page(nodes int) int32 { return int32(min(nodes, 999)) + 1 }

// line is a node: `>` at the current one, its number, and the beginning of its last text, which is the answer.
func line(n *flowstorev1.PathNode, current string) string {
	mark := " "
	if n.GetNode().GetName() == current {
		mark = ">"
	}
	if problem := n.GetProblem(); problem != "" {
		return fmt.Sprintf("%s %4d  ! %s", mark, n.GetIndex(), problem)
	}
	text := ""
	if texts := n.GetNode().GetTexts(); len(texts) > 0 {
		text = beginning(texts[len(texts)-1].GetContent())
	}
	return strings.TrimRight(fmt.Sprintf("%s %4d  %s", mark, n.GetIndex(), text), " ")
}

// beginning is what of a text has room on a line of a screen.
func beginning(text string) string {
	return client.Cut(client.OneLine(text), 35) // of double width, as Japanese characters are
}

// mostDrawn is what is shown of the drawing of a flow, in characters: that of a long line would fill the screen before its first node.
const mostDrawn = 1000

func (o Options) say(format string, args ...any) {
	client.Say(o.Out, format, args...)
}
