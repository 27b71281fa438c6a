// Package node is one exchange with a model: what was asked, and what it answered.
//
// Plain values. How a node looks on disk is the concern of the store's engines.
package node

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// Collection begins the names of nodes.
const Collection = "nodes/"

// Name is what the contract, and every message to a person, calls a node: `nodes/{uuid}`.
func Name(id uuid.UUID) string { return Collection + id.String() }

// Node is one exchange. A stored node is never changed in place; callers do not write to a Node that they did not make.
type Node struct {
	ID uuid.UUID
	// Created is when the node was made, to the microsecond, with the zone in which it was written.
	Created time.Time
	// Texts in their order (seed 004, 4.1; field/flowstore.md row 28: any role, several of one role).
	Texts []Text
	Model string
	Tags  []string
	// Summary is for search and context; a new node has none and says that it needs one.
	Summary Summary
	// Generation says how the answer was made; nil for texts that a person wrote.
	Generation *Generation
	// Score is how good a reader found it, from MinScore to MaxScore; nil where nobody said. What is new since requests are
	// remembered is not in their JSON where it is absent: a request repeated over an update stays the same.
	Score *float64 `json:",omitempty"`
	// Note is what a reader wrote about it.
	Note string `json:",omitempty"`
	// Warnings say what a hand-made file says that could not be read as it stands, and how it was taken. They are read, and
	// never stored.
	Warnings []string `json:",omitempty"`
}

// Text is what one speaker said, verbatim.
type Text struct {
	// Role is user, assistant, system or tool.
	Role    string
	Content string
	// Count is its tokens, Duration the seconds that the server took, Rate tokens per second; 0 where unknown.
	Count    int
	Duration float64
	Rate     float64
}

// Summary is a short form of a node.
type Summary struct {
	Text string
	// Stale says that the texts changed since the summary was made; true for a new node (field/flowstore.md row 24).
	Stale bool
	// Built is when the summary was made; zero for never.
	Built time.Time
	// Source is the Node.Source of the texts that it was made from, by which an edit in a file is known; empty where that is not known.
	Source string `json:",omitempty"`
}

// Generation says how an answer was made, so that it can be made again. Zero values are unknown.
type Generation struct {
	Backend, Kind, Address, Tokenizer string
	Model                             string
	Window                            int
	PromptDigest, Task                string
	PickSeed                          uint32
	Picks                             []string
	Sampling                          *sampling.Sampling
	PromptTokens, CachedTokens        int
	AnswerTokens                      int
	PromptSeconds, AnswerSeconds      float64
	Finish, Fault, Error              string
	Branch                            string
	RequestDigest                     string
}
