// Package nodecontext chooses the nodes of which a model is told before it answers a new prompt (seed 004, 7.3): the way to the
// prompt, and references. promptbuilder makes the text of them (field/systemprompt-rules.md 4).
//
// Plain values in and out. The store and promptbuilder are interfaces that this package declares.
package nodecontext

import (
	"context"

	"github.com/google/uuid"
)

// Request asks for the context of a new prompt. Fields are those of BuildNodeContextRequest, where their limits stand.
type Request struct {
	Flow uuid.UUID
	// Parents are the nodes that the prompt follows; none for a root.
	Parents []uuid.UUID
	Refs    Refs
	// Ancestors is nil for 200.
	Ancestors *int
	// Last is how many nodes at the end of the path are given whole, and are not in the text: they are told as messages.
	Last     int
	Settings Settings
}

// Refs says which other nodes are of use. Max 0 is 10.
type Refs struct {
	IDs       []uuid.UUID
	Ancestors int
	Tags      []string
	Query     string
	Max       int
}

// Settings are what promptbuilder is told of the text, by its own names. Layout is a value of its enum without the prefix, or empty.
type Settings struct {
	Backend, Counter, Locale, Prompt string
	MaxTokens, TrimStep              int
	Layout                           string
	NoDetails, NoCurrent             bool
	Texts                            map[string]string
}

// The limits of a request.
const (
	MaxAncestors = 1000
	MaxParents   = 20 // besides the first
	MaxRefs      = 50
	MaxTags      = 10

	defaultAncestors = 200
	defaultRefs      = 10
)

// Context is a text and how its nodes were chosen.
type Context struct {
	Built   Built
	Choices []Choice
	// Last are the nodes that are not in the text, whole, oldest first.
	Last []Node
	// Approximate: a search said so of what it found.
	Approximate bool
	// Seq is the last change of the store before anything was read.
	Seq int64
}

// Service makes contexts.
type Service struct {
	flows   Flows
	prompts Prompts
}

// New makes a Service.
func New(flows Flows, prompts Prompts) *Service { return &Service{flows, prompts} }

// Build makes the context of a new prompt. *UnknownError, *UnreadableError, *TooLargeError, and what Flows and Prompts answer.
func (s *Service) Build(ctx context.Context, ns string, r Request) (Context, error) {
	seq, err := s.flows.Seq(ctx, ns)
	if err != nil {
		return Context{}, err
	}
	named, err := s.named(ctx, ns, r.Refs.IDs)
	if err != nil {
		return Context{}, err
	}
	lines, parents, err := s.path(ctx, ns, r)
	if err != nil {
		return Context{}, err
	}
	lines, parents, last, err := s.apart(ctx, ns, r, lines, parents)
	if err != nil {
		return Context{}, err
	}
	c := newChooser(r.Refs.Max, lines, parents, last)
	if err := s.choose(ctx, ns, r, c, named); err != nil {
		return Context{}, err
	}
	q, err := s.material(ctx, ns, lines, parents, c.nodes)
	if err != nil {
		return Context{}, err
	}
	q.Settings, q.Ancestors, q.LinesOnly = r.Settings, len(lines), r.Last > 0
	built, err := s.prompts.BuildContext(ctx, ns, q)
	return Context{Built: built, Choices: c.choices, Last: last, Approximate: c.approximate, Seq: seq}, err
}

// Refusal is what promptbuilder refuses of a request in which something else is wrong, so that its caller learns of all at once;
// nil for nothing. No node is read.
func (s *Service) Refusal(ctx context.Context, ns string, r Request) error {
	_, err := s.prompts.BuildContext(ctx, ns, Material{Settings: r.Settings})
	return err
}
