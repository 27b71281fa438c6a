// Package wire is how the agent's values look in the contracts of the services: what a caller sends and sees, and what
// flowstore and promptbuilder take and give, are the same messages.
package wire

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling/wire"
)

// The collections of resource names.
const (
	Nodes       = "nodes/"
	Flows       = "flows/"
	Generations = "generations/"
	Sessions    = "sessions/"
	Approvals   = "approvals/"
)

// Name is a resource name, empty for the zero UUID.
func Name(collection string, id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return collection + id.String()
}

// ID reads a UUID in its usual form of 36 characters. The zero UUID is refused: it stands for none.
func ID(text string) (uuid.UUID, error) {
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 && id != uuid.Nil {
		return id, nil
	}
	return uuid.Nil, fmt.Errorf("%.50q is not a UUID such as 0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41", text)
}

// ParseName reads the UUID out of a resource name.
func ParseName(collection, name string) (uuid.UUID, error) {
	if text, ok := strings.CutPrefix(name, collection); ok {
		if id, err := ID(text); err == nil {
			return id, nil
		}
	}
	return uuid.Nil, fmt.Errorf("%.60q is not `%s` and a UUID", name, collection)
}

// Story reads story fields.
func Story(s *commonv1.Story) generation.Story {
	if s == nil {
		return generation.Story{}
	}
	return generation.Story{
		Title: s.Title, Synopsis: s.Synopsis, Setting: s.Setting, Plot: s.Plot, Note: s.Note,
		DialogueLevel: s.DialogueLevel, Rating: s.Rating,
		Keywords: s.Keywords, Genres: s.Genres,
	}
}

// FromStory writes story fields.
func FromStory(s generation.Story) *commonv1.Story {
	return &commonv1.Story{
		Title: s.Title, Synopsis: s.Synopsis, Setting: s.Setting, Plot: s.Plot, Note: s.Note,
		DialogueLevel: s.DialogueLevel, Rating: s.Rating,
		Keywords: s.Keywords, Genres: s.Genres,
	}
}

// Identity reads who a model server is.
func Identity(b *commonv1.BackendIdentity) llm.Identity {
	return llm.Identity{
		Backend: b.GetBackend(), Kind: b.GetKind(), Address: b.GetAddress(),
		Model: b.GetModel(), Window: int(b.GetWindow()), Tokenizer: b.GetTokenizer(),
	}
}

// FromIdentity writes who a model server is.
func FromIdentity(i llm.Identity) *commonv1.BackendIdentity {
	return &commonv1.BackendIdentity{
		Backend: i.Backend, Kind: i.Kind, Address: i.Address,
		Model: i.Model, Window: int32(i.Window), Tokenizer: i.Tokenizer,
	}
}

// Sampling reads how an answer is drawn.
func Sampling(s *flowstorev1.Sampling) llm.Sampling { return wire.Sampling(s) }

// FromSampling writes how an answer is drawn.
func FromSampling(s llm.Sampling) *flowstorev1.Sampling { return wire.FromSampling(s) }
