package generation

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// What Flows answers. Test with errors.Is.
var (
	// ErrNoNode: the namespace has no such node.
	ErrNoNode = errors.New("no such node")
	// ErrTaken: the id of the new node is in use.
	ErrTaken = errors.New("the node's id is taken")
)

// Flows is the store of flows and nodes. Other errors than those named are passed on as they are.
type Flows interface {
	// Node gives a node. ErrNoNode.
	Node(ctx context.Context, ns string, id uuid.UUID) (Node, error)
	// Story gives the story fields of a flow.
	Story(ctx context.Context, ns string, flow uuid.UUID) (Story, error)
	// Path gives a node of the flow and everything before it, roots first. An error is the last thing it gives.
	Path(ctx context.Context, ns string, flow, node uuid.UUID) iter.Seq2[PathNode, error]
	// Add stores a new node with its edge, all or nothing. The same addition again is answered with the node that it made.
	// ErrTaken.
	Add(ctx context.Context, ns string, a Addition) (Node, error)
}

// PathNode is a node on a path.
type PathNode struct {
	ID uuid.UUID
	// Parents are the nodes it continues.
	Parents []uuid.UUID
	Texts   []NodeText
	// Problem is why the node cannot be read, and File what it would be read from, where that is known; empty when it can.
	Problem, File string
}

// Addition is a new node with its place in a flow. Parent is zero for a root.
type Addition struct {
	Flow, Parent uuid.UUID
	Node         Node
	SetCurrent   bool
}

// Prompts makes prompts and measures them.
type Prompts interface {
	// Build makes the prompt of a story, cut to the window.
	Build(ctx context.Context, ns string, q BuildRequest) (Built, error)
	// Count gives the tokens of texts, at most maxCounted with maxBody bytes together, and the server that counted them.
	Count(ctx context.Context, ns, backend string, texts []string) ([]int, llm.Identity, error)
}

// Contexts chooses nodes of which a model is told, and answers it where it asks for one. It is a nodecontext.Service.
type Contexts interface {
	Build(ctx context.Context, ns string, r nodecontext.Request) (nodecontext.Context, error)
	Refusal(ctx context.Context, ns string, r nodecontext.Request) error
	Detail(ctx context.Context, ns string, set nodecontext.Settings, e nodecontext.Entry, chars int) (string, error)
	ToolText(ctx context.Context, ns string, set nodecontext.Settings) (string, error)
	LimitText(ctx context.Context, ns string, set nodecontext.Settings, textID string) (string, error)
	UnknownText(ctx context.Context, ns string, set nodecontext.Settings, textID string) (string, error)
}

// BuildRequest asks for the prompt of a story.
type BuildRequest struct {
	Backend                string
	Story                  Story
	Body                   string
	BlockOrder, NoteHeader string
	// MaxTokens 0 leaves the length to promptbuilder.
	MaxTokens int
	Seed      uint32
	// Form is Request.Build.
	Form []byte
	// Picks are taken instead of those in Form; nil: those are.
	Picks []Pick
	// All asks for Built.Combinations.
	All bool
}

// Models are the model servers of the backends file.
type Models interface {
	// Generator gives a backend by name, the default one for the empty name. *llm.UnknownBackendError.
	Generator(name string) (llm.Generator, error)
	// Kind gives the kind of that backend, in the word of the backends file.
	Kind(name string) string
}

// Clock tells the time and waits. The functions are those of package time.
type Clock interface {
	Now() time.Time
	NewTimer(d time.Duration) *time.Timer
	AfterFunc(d time.Duration, f func()) *time.Timer
}

// Random draws what a request left open.
type Random interface {
	// ID is a UUID that nobody can foresee.
	ID() uuid.UUID
}

// Observer hears of generations, for logs and metrics. It does not block.
type Observer interface {
	// Began: a generation was taken on. The context is that of the generation.
	Began(ctx context.Context)
	// Ended: it has ended and is no longer one of those that run.
	Ended(ctx context.Context, o Outcome)
	// Fault: a fault of ours struck beside a generation, where no caller hears of it.
	Fault(ctx context.Context, err error)
}

// Outcome is how a generation ended.
type Outcome struct {
	Status  Status
	Backend string
	// Took is from beginning to end.
	Took time.Duration
	// Replayed: the request was answered before, and nothing was done.
	Replayed bool
	// Again: an answer that was there already was to be stored once more. It was told before.
	Again bool
	// Tokens, Prompt and Answer are the server's own figures; 0 where unknown.
	Tokens         int
	Prompt, Answer time.Duration
}
