package prompt

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// ContextOptions of a context.
type ContextOptions struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Flow is `flows/{uuid}`, the UUID, or what the flow is called.
	Flow string
	// Parent is the node that the new prompt follows, `nodes/{uuid}` or the UUID; empty: the current one of the flow.
	Parent string
	// Prompt is what is asked now.
	Prompt string
	// Refs are nodes of use, Tags those of others, and Query finds more.
	Refs, Tags []string
	Query      string
	// Backend counts the tokens, and Locale is the language of the texts; empty: an estimate, and Japanese.
	Backend, Locale string
	// Explain shows the nodes in place of the text, and JSON the whole reply, which Diff takes.
	Explain, JSON bool
	// Diff is the file with an earlier reply, which this context is compared with; empty: none.
	Diff string
	Out  io.Writer
	// Err gets a line where the context is not that of a place in the flow.
	Err io.Writer
}

// Context builds the context of a new prompt in a flow. An error is a sentence that says what to do.
func Context(ctx context.Context, o ContextOptions) error {
	if o.JSON && o.Explain {
		return errBoth
	}
	before, err := o.before()
	if err != nil {
		return err
	}
	return client.With(o.Addr, o.Token, func(conn grpc.ClientConnInterface) error {
		req, err := o.request(ctx, flowstorev1.NewFlowStoreServiceClient(conn))
		if err != nil {
			return err
		}
		r, err := agentv1.NewAgentServiceClient(conn).BuildNodeContext(ctx, req)
		if err != nil {
			return err
		}
		return o.show(r, before)
	})
}

// before reads the earlier reply; nil where none is named.
func (o ContextOptions) before() (*promptbuilderv1.BuildContextResponse, error) {
	if o.Diff == "" {
		return nil, nil
	}
	text, err := Options{}.open(o.Diff)
	if err != nil {
		return nil, err
	}
	old, err := earlierContext(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Diff, err)
	}
	return old, nil
}

// request finds the flow and its current node.
func (o ContextOptions) request(ctx context.Context, flows flowstorev1.FlowStoreServiceClient) (*agentv1.BuildNodeContextRequest, error) {
	name, err := client.Resolve(ctx, flows, o.Flow)
	if err != nil {
		return nil, err
	}
	parent := node(o.Parent)
	if parent == "" {
		flow, err := flows.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: name})
		if err != nil {
			return nil, err
		}
		if parent = flow.GetCurrent(); parent == "" && len(flow.GetNodes()) > 0 {
			client.Say(o.Err, "tsumugi: the flow has no current node, so that nothing goes before the prompt; --parent names the node that it follows\n")
		}
	}
	req := &agentv1.BuildNodeContextRequest{
		Flow: name, Parent: parent, Prompt: o.Prompt, Backend: o.Backend, Locale: o.Locale,
		Refs: &agentv1.NodeReferences{Tags: o.Tags, Query: o.Query},
	}
	for _, ref := range o.Refs {
		req.Refs.Ids = append(req.Refs.Ids, node(ref))
	}
	return req, nil
}

// node is the name of a node that a person gives with or without its collection.
func node(text string) string {
	if text == "" || strings.Contains(text, "/") {
		return text
	}
	return "nodes/" + text
}

func (o ContextOptions) show(r *agentv1.BuildNodeContextResponse, before *promptbuilderv1.BuildContextResponse) error {
	switch {
	case o.JSON:
		return writeJSON(o.Out, r)
	case !o.Explain && before == nil:
		_, err := io.WriteString(o.Out, r.GetContext().GetText())
		return err
	}
	if o.Explain {
		client.Say(o.Out, "%s", nodes(r))
	}
	if before != nil {
		client.Say(o.Out, "%s", contextDifference(r.GetContext(), before))
	}
	return nil
}

// nodes is a table of what became of each node.
func nodes(r *agentv1.BuildNodeContextResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s  %-8s  %-7s  %s\n", "form", "stands", "summary", "node")
	why := map[string]string{}
	for _, c := range r.GetReferences() {
		if c.GetOutcome() == agentv1.ReferenceOutcome_REFERENCE_OUTCOME_TAKEN {
			why[strings.TrimPrefix(c.GetNode(), "nodes/")] = "  for " + word(c.GetReason(), "REFERENCE_REASON_")
		}
	}
	text := r.GetContext()
	for _, e := range text.GetEntries() {
		summary := word(e.GetSummary(), "SUMMARY_STATE_")
		if e.GetForm() != promptbuilderv1.NodeForm_NODE_FORM_LINE {
			summary = ""
		}
		fmt.Fprintf(&b, "%-8s  %-8s  %-7s  nodes/%s%s\n", word(e.GetForm(), "NODE_FORM_"), e.GetTextId(), summary, e.GetId(), why[e.GetId()])
	}
	b.WriteString(total(text.GetBytes(), text.GetTokens(), text.GetCounter(), text.GetExact(), text.GetSha256()))
	return b.String()
}
