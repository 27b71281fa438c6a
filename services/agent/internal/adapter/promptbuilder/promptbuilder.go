// Package promptbuilder lets generations and summaries build and measure prompts, and contexts their text, through PromptBuilderService.
package promptbuilder

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

var service = downstream.Service{
	Name: "promptbuilder",
	Passed: []string{
		"INVALID_BUDGET", "CONTEXT_OVERFLOW", "UNKNOWN_BACKEND",
		"BACKEND_UNAVAILABLE", "BACKEND_LOADING", "BACKEND_BUSY", "BACKEND_REFUSED", "BACKEND_FAULT",
	},
	Fields: map[string]string{
		"backend": "backend", "story": "story", "body": "text", "texts": "prompt", "max_tokens": "sampling.max_tokens",
		"seed": "pick_seed", "block_order": "block_order", "note_header": "note_header", "locale": "locale",
	},
}

// Client is a generation.Prompts, a nodecontext.Prompts and a summary.Prompts over a connection.
type Client struct {
	rpc promptbuilderv1.PromptBuilderServiceClient
}

// New makes a Client.
func New(conn grpc.ClientConnInterface) *Client {
	return &Client{rpc: promptbuilderv1.NewPromptBuilderServiceClient(conn)}
}

// Build makes the prompt of a story.
func (c *Client) Build(ctx context.Context, ns string, q generation.BuildRequest) (generation.Built, error) {
	req, called := &promptbuilderv1.BuildStoryRequest{}, service
	if len(q.Form) > 0 {
		called.Under = "build"
		if err := proto.Unmarshal(q.Form, req); err != nil {
			return generation.Built{}, err
		}
	}
	req.Backend, req.Story, req.Body = q.Backend, wire.FromStory(q.Story), q.Body
	req.BlockOrder = promptbuilderv1.BlockOrder(promptbuilderv1.BlockOrder_value["BLOCK_ORDER_"+q.BlockOrder])
	req.NoteHeader = promptbuilderv1.NoteHeader(promptbuilderv1.NoteHeader_value["NOTE_HEADER_"+q.NoteHeader])
	req.MaxTokens, req.Seed = int32(q.MaxTokens), q.Seed
	// A model wrote of the body, and nobody could mend that before the story goes on. By the rules of COMPAT nothing is malformed.
	req.LenientBody = req.GetCompatibility() != promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT
	if q.Picks != nil {
		req.Picks = wire.FromPicks(q.Picks)
		if req.Sampler == promptbuilderv1.Sampler_SAMPLER_ALL {
			req.Sampler = promptbuilderv1.Sampler_SAMPLER_UNSPECIFIED // it is one of them
		}
	}
	if q.All {
		req.Sampler = promptbuilderv1.Sampler_SAMPLER_ALL
	}
	b, err := c.rpc.BuildStory(namespace.With(ctx, ns), req)
	if err != nil {
		return generation.Built{}, called.Error(err)
	}
	return wire.Built(b)
}

// Count gives the tokens of texts, at most 64 with 4 MiB together, and the server that counted them.
func (c *Client) Count(ctx context.Context, ns, backend string, texts []string) ([]int, llm.Identity, error) {
	r, err := c.rpc.CountTokens(namespace.With(ctx, ns), &promptbuilderv1.CountTokensRequest{Backend: backend, Texts: texts})
	if err != nil {
		return nil, llm.Identity{}, service.Error(err)
	}
	counts := make([]int, len(r.GetTokens()))
	for i, n := range r.GetTokens() {
		counts[i] = int(n)
	}
	if len(counts) != len(texts) {
		return nil, llm.Identity{}, fmt.Errorf("promptbuilder gave %d counts for %d texts", len(counts), len(texts))
	}
	return counts, wire.Identity(r.GetBackend()), nil
}
