package summary

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// ErrChanged is what Store.Write answers where the node is not what it was. Test with errors.Is.
var ErrChanged = errors.New("the node was changed meanwhile")

// Node is what a summary is made of.
type Node struct {
	ID uuid.UUID
	// Prompt and Answer are its texts of user, system and tool, and those of assistant, with a blank line between them.
	Prompt, Answer string
	// Source says which texts these are, and Etag which version of the node.
	Source, Etag string
	// Stale: it has no summary, or one of other texts.
	Stale bool
}

// Store keeps nodes. What is wrong with one node alone is a *NodeError; other errors are passed on as they are.
type Store interface {
	// Marked gives the nodes whose summary is stale, and those that cannot be read, oldest first; of one flow, or all for the
	// zero UUID. An error is the last thing it gives.
	Marked(ctx context.Context, ns string, flow uuid.UUID) iter.Seq2[uuid.UUID, error]
	// Node gives a node. *NodeError.
	Node(ctx context.Context, ns string, id uuid.UUID) (Node, error)
	// Write stores summary and tags of a node, all or nothing, if it is still the one that was read. ErrChanged; *NodeError.
	Write(ctx context.Context, ns string, n Node, r Reply) error
	// Changes gives nodes as they change. A zero UUID, the first thing it gives, says that any may have changed before. It
	// ends with an error, that of the context among them.
	Changes(ctx context.Context, ns string) iter.Seq2[uuid.UUID, error]
}

// Prompts has the texts that models are asked with, and measures them.
type Prompts interface {
	// Text fills a default text of a language. The words around a node are `summarise` with the values prompt and answer; behind a bad
	// reply stands `summarise.again` with reason.
	Text(ctx context.Context, ns, locale, id string, values map[string]string) (string, error)
	// Count gives the tokens of texts, and the server that counted them.
	Count(ctx context.Context, ns, backend string, texts []string) ([]int, llm.Identity, error)
}

// Models are the model servers of the backends file.
type Models interface {
	// Generator gives a backend by name, the default one for the empty name. *llm.UnknownBackendError.
	Generator(name string) (llm.Generator, error)
}

// Clock waits. The function is that of package time.
type Clock interface {
	NewTimer(d time.Duration) *time.Timer
}

// Observer hears of the work, for logs and metrics. It does not block, and is safe for concurrent use.
type Observer interface {
	// Seen: the work on a node ended with a Done, a Skipped or a Failed.
	Seen(ctx context.Context, ns string, e Event)
	// Interrupted: the work in the background could not go on, and is tried again.
	Interrupted(ctx context.Context, ns string, err error)
}
