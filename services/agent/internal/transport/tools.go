package transport

import (
	"context"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

var origins = map[tool.Kind]string{tool.BuiltIn: "built_in", tool.Client: "client", tool.MCP: "mcp"}

// ListTools lists the tools of a session.
func (s *Server) ListTools(ctx context.Context, q *agentv1.ListToolsRequest) (*agentv1.ListToolsResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	all, err := s.sessions.Tools(ctx, who(ctx), id)
	if err != nil {
		return nil, fault(err)
	}
	out := &agentv1.ListToolsResponse{}
	for _, t := range all {
		out.Tools = append(out.Tools, fromTool(t))
	}
	return out, nil
}

func fromTool(t *tool.Tool) *agentv1.Tool {
	return &agentv1.Tool{
		Name: t.Full(), Description: t.Description, InputSchema: t.Input, Origin: origins[t.Origin.Kind], Definition: string(t.Hash),
		ReadOnly: t.Annotations.ReadOnly == tool.Yes, Destructive: t.Annotations.Destructive != tool.No, Idempotent: t.Annotations.Idempotent == tool.Yes,
		OpenWorld: t.Annotations.OpenWorld != tool.No,
	}
}
