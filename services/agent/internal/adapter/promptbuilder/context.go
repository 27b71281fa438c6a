package promptbuilder

import (
	"context"

	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// contexts is promptbuilder as it makes contexts: the caller's fields have the same names.
var contexts = downstream.Service{Name: service.Name, Passed: service.Passed, Fields: map[string]string{
	"backend": "backend", "counter": "counter", "locale": "locale", "prompt": "prompt", "max_tokens": "max_tokens",
	"trim_step": "trim_step", "layout": "layout", "texts": "texts",
}}

// BuildContext makes the text of a context.
func (c *Client) BuildContext(ctx context.Context, ns string, m nodecontext.Material) (nodecontext.Built, error) {
	s := m.Settings
	req := &promptbuilderv1.BuildContextRequest{
		Backend: s.Backend, Counter: s.Counter, Locale: s.Locale, Prompt: s.Prompt, MaxTokens: int32(s.MaxTokens), TrimStep: int32(s.TrimStep),
		Layout:  promptbuilderv1.ContextLayout(promptbuilderv1.ContextLayout_value["CONTEXT_LAYOUT_"+s.Layout]),
		Details: proto.Bool(!s.NoDetails), IncludeCurrent: proto.Bool(!s.NoCurrent), Texts: s.Texts,
		Path: wire.IDs(m.Path), Parents: wire.IDs(m.Parents), Refs: wire.IDs(m.Refs), AncestorsMax: proto.Int32(int32(m.Ancestors)), LinesOnly: m.LinesOnly,
	}
	for _, n := range m.Nodes {
		req.Nodes = append(req.Nodes, wire.ContextNode(n))
	}
	b, err := c.rpc.BuildContext(namespace.With(ctx, ns), req)
	if err != nil {
		return nodecontext.Built{}, contexts.Error(err)
	}
	return wire.Context(b)
}

// BuildDetail makes the text that answers a model which asked for a node.
func (c *Client) BuildDetail(ctx context.Context, ns string, s nodecontext.Settings, textID string, n nodecontext.Excerpt, chars int) (string, error) {
	d, err := c.rpc.BuildNodeDetail(namespace.With(ctx, ns), &promptbuilderv1.BuildNodeDetailRequest{
		Locale: s.Locale, Id: textID, Prompt: n.Prompt, Answer: n.Answer, MaxChars: int32(chars), Texts: s.Texts,
	})
	return d.GetText(), contexts.Error(err)
}

// Text gives a default text, filled.
func (c *Client) Text(ctx context.Context, ns, locale, id string, values map[string]string) (string, error) {
	t, err := c.rpc.RenderTemplate(namespace.With(ctx, ns), &promptbuilderv1.RenderTemplateRequest{Name: "templates/" + id, Locale: locale, Values: values})
	return t.GetText(), contexts.Error(err)
}
