// Package generation continues a flow with a model: the path becomes a prompt, the model's answer becomes a node.
//
// A generation is a thing that runs here and is watched. It belongs to no caller: it has its own limits, a log of what
// the model said, and an end, and any number of watchers read the log, each from a place and at a speed of its own. What
// was received when it ends is stored as a node, whole or cut; the node, not the text that was watched, is the
// acknowledgement.
//
// Plain values in and out. Clock, randomness, model servers and other services are interfaces that this package declares.
package generation

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Request is what a writer asks for. Transport has checked each field by itself.
type Request struct {
	// ID is the id of the request, from which the node's follows (NodeID). The zero UUID: one is drawn.
	ID uuid.UUID
	// Flow is the flow to continue, and Parent the node in it. The zero UUID: the new node is a root.
	Flow, Parent uuid.UUID
	// Via are the nodes to follow where a node on the path continues several.
	Via []uuid.UUID
	// Text is what the writer adds behind the path, verbatim.
	Text string
	// Story overrides the flow's story, field by field.
	Story Story
	// Prompt is sent as it is; empty: a story prompt is built.
	Prompt string
	// Backend is a name in the backends file; empty: the default.
	Backend string
	// Sampling is how the answer is drawn. MaxTokens 0, with Build by promptbuilder, and a nil Seed are filled in.
	Sampling llm.Sampling
	// drawn: Sampling.Seed was left open, and a preset's stands before the one that was drawn for it.
	drawn bool
	// PickSeed, BlockOrder and NoteHeader shape the story prompt; the last two are enum values of promptbuilder without
	// their prefix, or empty.
	PickSeed               uint32
	BlockOrder, NoteHeader string
	// Build is everything else about the story prompt, in the wire form of promptbuilder's BuildStoryRequest; empty: nothing.
	// It is promptbuilder's business.
	Build []byte
	// SendOverflow sends also a prompt that is over the limit.
	SendOverflow bool
	// Variants are how many answers to one prompt are made side by side; 0: one. EveryOption makes one for each combination
	// of options of the dynamic prompts. Repeat are how many answers are made one behind the other; 0: one. At most one of
	// the three is given, EveryOption and Repeat not with Prompt.
	Variants    int
	EveryOption bool
	Repeat      int
	// Chat asks for a conversation in place of a story, of which Text is the message of the user; nil: a story. Not with Prompt, EveryOption
	// or Repeat.
	Chat *Chat
	// SetCurrent makes the new node the flow's current one.
	SetCurrent bool
	// Continue keeps the generation running when its last watcher has gone.
	Continue bool
}

// Several says that the request asks for more than one answer.
func (r Request) Several() bool { return r.Variants > 0 || r.EveryOption || r.Repeat > 0 }

// Event is what a watcher reads: Opened, Text, Detail, Heartbeat, Lagged or Stored, and of several answers also Broken.
type Event interface{ event() }

// Opened is the first event of every watcher: what was asked of which model.
type Opened struct {
	// Generation is the id of the generation and of its node, zero in a Preview. RequestID is zero where only the node is left.
	Generation, RequestID uuid.UUID
	// Build is the story prompt; nil for a plain prompt, and before a Stored that is Replayed.
	Build *Built
	// PromptDigest is the SHA-256 of the prompt, in hex; PromptTokens its tokens, as counted.
	PromptDigest string
	PromptTokens int
	Backend      llm.Identity
	// Sampling has every default filled in that is known.
	Sampling llm.Sampling
	// Branch is what was picked for the answer, in words; empty but for EveryOption.
	Branch string
	// Answers are how many the request asks for; 0 for one, and where only the node is left.
	Answers int
	// Chat is the conversation; nil where there is none.
	Chat *ChatBuilt
}

// Text is a piece of the answer, or several that were joined, at most maxPiece bytes and never half a character. ID is the
// number of the last of them, from 1.
type Text struct {
	ID   int
	Text string
}

// Heartbeat says that nothing happened for Limits.Heartbeat.
type Heartbeat struct{}

// Lagged says that the watcher is more than maxBehind pieces behind, and that this many are joined into as few Texts as
// can hold them.
type Lagged struct{ Joined int }

// Stored is the last event: the answer is whole and its node is stored.
type Stored struct {
	// ID is one more than that of the last Text; 0 when Replayed.
	ID   int
	Node Node
	// Cache is what became of the prompt at the server; nil where it did not tell.
	Cache *Cache
	// Replayed: the generation had ended before, so that no Text came; the node stands for it.
	Replayed bool
}

// Broken is the last event of one of several answers that is not whole. Its node, where it has one, is in the error.
type Broken struct{ Err error }

// Cache says how many tokens of a prompt a model server read, and how many it had in its cache.
type Cache struct{ Read, Cached int }

func (Opened) event()    {}
func (Text) event()      {}
func (Heartbeat) event() {}
func (Lagged) event()    {}
func (Stored) event()    {}
func (Broken) event()    {}

// State is how far a generation is.
type State int

// The states. Only the first one changes.
const (
	Running State = iota
	// Done: the answer is whole and stored.
	Done
	// Cancelled by a caller, or because the last watcher left.
	Cancelled
	// Failed: everything else.
	Failed
)

// Status is how far a generation is, at one moment.
type Status struct {
	ID    uuid.UUID
	State State
	// Flow is zero where only the node is left.
	Flow uuid.UUID
	// Node is the id of the stored node; zero where none is stored.
	Node uuid.UUID
	// LastEvent is the number of the last event, Characters what was received.
	LastEvent, Characters int
	// Started and Ended are zero where they are not known.
	Started, Ended time.Time
	Finish         Finish
	// Err is why it failed; nil while it runs and when it is done.
	Err error
}

// Limits bound what runs and what is kept. Every one must be positive.
type Limits struct {
	// MaxTokens is the length of an answer that asks for none.
	MaxTokens int
	// Variants, Options and Repeat are how many answers one request may ask for: side by side, for the options of its dynamic
	// prompts, and one behind the other.
	Variants, Options, Repeat int
	// Running is how many generations may run at once.
	Running int
	// Total is how long one may take. FirstPiece is how long the model may be silent before its first piece, Silence after it.
	Total, FirstPiece, Silence time.Duration
	// Store is how long storing the node may take, also while the service stops.
	Store time.Duration
	// Heartbeat is how long a watcher waits before it is told that there is no news.
	Heartbeat time.Duration
	// Keep is for how long an ended generation can be watched again, Kept how many of them, KeptBytes how much of their text.
	Keep            time.Duration
	Kept, KeptBytes int
}

// DefaultLimits are those of the configuration's defaults.
func DefaultLimits() Limits {
	return Limits{
		MaxTokens: 250,
		Variants:  8, Options: 16, Repeat: 50,
		Running: 64,
		Total:   30 * time.Minute, FirstPiece: 10 * time.Minute, Silence: 2 * time.Minute,
		Store:     5 * time.Second,
		Heartbeat: 15 * time.Second,
		Keep:      10 * time.Minute, Kept: 1000, KeptBytes: 64 << 20,
	}
}

const (
	// maxAnswer is how many bytes of answer are taken: what one text of a node may hold.
	maxAnswer = 4 << 20
	// maxBody is how many bytes of text promptbuilder takes.
	maxBody = 4 << 20
	// maxBehind is how many pieces a watcher may be behind before they are joined.
	maxBehind = 256
	// maxPiece is how many bytes one Text may hold: a quarter of what a gRPC client receives that sets no limit of its own.
	maxPiece = 1 << 20
)
