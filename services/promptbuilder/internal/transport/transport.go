// Package transport answers PromptBuilderService: proto to domain, one call of the domain, domain to proto.
package transport

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// Stories is the domain that the service speaks for.
type Stories interface {
	Prepare(r story.Request) (story.Request, []story.Violation)
	Build(ctx context.Context, r story.Request) (story.Prompt, error)
	Unfit(ctx context.Context, r story.Request) error
	Count(ctx context.Context, backend string, texts []string) (story.Counts, error)
	Backends(ctx context.Context) []story.Status
	Presets() []story.Preset
}

// Server is PromptBuilderService.
type Server struct {
	promptbuilderv1.UnimplementedPromptBuilderServiceServer
	stories Stories
	systems Systems
	agents  Agents
}

// New makes a Server.
func New(stories Stories, systems Systems, agents Agents) *Server {
	return &Server{stories: stories, systems: systems, agents: agents}
}

// known notes an enum value that the contract does not have.
func known(f *apierr.Fields, field string, value protoreflect.Enum) {
	values := value.Descriptor().Values()
	if values.ByNumber(value.Number()) != nil {
		return
	}
	names := make([]string, values.Len())
	for i := range names {
		names[i] = string(values.Get(i).Name())
	}
	f.Add(field, "must be one of %s, and is %d", strings.Join(names, ", "), value.Number())
}

// wrong notes what the domain found in fields that are not told yet: to the domain a word that the contract does not have is
// none.
func wrong(f *apierr.Fields, found []story.Violation) {
	found = slices.DeleteFunc(found, func(v story.Violation) bool { return f.Has(v.Field) })
	for _, v := range found {
		f.Add(v.Field, "%s", v.Description)
	}
}

func fromBackend(b story.Backend) *commonv1.BackendIdentity {
	return &commonv1.BackendIdentity{
		Backend: b.Backend, Kind: b.Kind, Address: b.Address, Model: b.Model, Window: int32(b.Window), Tokenizer: b.Tokenizer,
	}
}
