// Package promptbuilder lets generations build and measure prompts through PromptBuilderService.
package promptbuilder

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

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
		"seed": "pick_seed", "block_order": "block_order", "note_header": "note_header",
	},
}

// Client is a generation.Prompts over a connection.
type Client struct {
	rpc promptbuilderv1.PromptBuilderServiceClient
}

// New makes a Client.
func New(conn grpc.ClientConnInterface) *Client {
	return &Client{rpc: promptbuilderv1.NewPromptBuilderServiceClient(conn)}
}

// Build makes the prompt of a story.
func (c *Client) Build(ctx context.Context, ns string, q generation.BuildRequest) (generation.Built, error) {
	b, err := c.rpc.BuildStory(namespace.With(ctx, ns), &promptbuilderv1.BuildStoryRequest{
		Backend: q.Backend, Mode: promptbuilderv1.StoryMode_STORY_MODE_GENERATE,
		Story: wire.FromStory(q.Story), Body: q.Body,
		BlockOrder: promptbuilderv1.BlockOrder(promptbuilderv1.BlockOrder_value["BLOCK_ORDER_"+q.BlockOrder]),
		NoteHeader: promptbuilderv1.NoteHeader(promptbuilderv1.NoteHeader_value["NOTE_HEADER_"+q.NoteHeader]),
		MaxTokens:  int32(q.MaxTokens), Seed: q.Seed,
		LenientBody: true, // a model wrote of it, and nobody could mend that before the story goes on
	})
	if err != nil {
		return generation.Built{}, service.Error(err)
	}
	return built(b), nil
}

// Count gives the tokens of a text.
func (c *Client) Count(ctx context.Context, ns, backend, text string) (int, llm.Identity, error) {
	r, err := c.rpc.CountTokens(namespace.With(ctx, ns), &promptbuilderv1.CountTokensRequest{Backend: backend, Texts: []string{text}})
	if err != nil {
		return 0, llm.Identity{}, service.Error(err)
	}
	if len(r.GetTokens()) != 1 {
		return 0, llm.Identity{}, fmt.Errorf("promptbuilder gave %d counts for one text", len(r.GetTokens()))
	}
	return int(r.GetTokens()[0]), wire.Identity(r.GetBackend()), nil
}

func built(b *promptbuilderv1.BuildStoryResponse) generation.Built {
	out := generation.Built{
		Prompt: b.GetPrompt(), Digest: b.GetDigest(), Task: strings.TrimPrefix(b.GetTask().String(), "STORY_TASK_"),
		Tokens: int(b.GetTokens()), Limit: int(b.GetLimit()), MaxTokens: int(b.GetMaxTokens()), CountsUsed: int(b.GetCountsUsed()),
		Suffix:   int(b.GetSuffixCharacters()),
		Overflow: b.GetOverflow(), Rating: b.GetRating(), Seed: b.GetSeed(), Measured: wire.Identity(b.GetBackend()),
	}
	if c := b.GetCut(); c != nil {
		out.Cut = &generation.Cut{
			Characters: int(c.GetCharacters()), Lines: int(c.GetLines()),
			KeptCharacters: int(c.GetKeptCharacters()), FirstKept: c.GetFirstKept(),
		}
	}
	for _, x := range b.GetBlocks() {
		out.Blocks = append(out.Blocks, generation.Block{
			Kind:   strings.TrimPrefix(x.GetKind().String(), "BLOCK_KIND_"),
			Tokens: int(x.GetTokens()), Characters: int(x.GetCharacters()), Estimated: x.GetEstimated(),
		})
	}
	for _, x := range b.GetWarnings() {
		out.Warnings = append(out.Warnings, generation.Warning{Code: x.GetCode(), Field: x.GetField(), Message: x.GetMessage()})
	}
	for _, x := range b.GetPicks() {
		p := generation.Pick{Field: x.GetField(), Group: int(x.GetGroup()), Text: x.GetText(), Line: int(x.GetLine()), Column: int(x.GetColumn())}
		for _, o := range x.GetOptions() {
			p.Options = append(p.Options, int(o))
		}
		out.Picks = append(out.Picks, p)
	}
	w := b.GetWrapping()
	out.Wrapping = generation.Wrapping{
		Name: w.GetName(), BeforeInstruction: w.GetBeforeInstruction(), BeforeInput: w.GetBeforeInput(), AfterInput: w.GetAfterInput(),
		BeforeSuffix: w.GetBeforeSuffix(), Stop: w.GetStop(),
	}
	return out
}
