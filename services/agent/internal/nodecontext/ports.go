package nodecontext

import (
	"context"
	"errors"
	"iter"

	"github.com/google/uuid"
)

// ErrNoNode is what Flows answers where the namespace has no such node. Test with errors.Is.
var ErrNoNode = errors.New("no such node")

// Flows is the store of flows and nodes. Other errors than those named are passed on as they are.
type Flows interface {
	// Seq is the number of the last change of the store.
	Seq(ctx context.Context, ns string) (int64, error)
	// Way gives a node of the flow and everything before it, roots first, each with the beginnings of its texts. field is what the
	// node is in the caller's request. An error is the last thing it gives.
	Way(ctx context.Context, ns string, flow, node uuid.UUID, field string) iter.Seq2[Step, error]
	// History gives all nodes of the flow in the order of Way.
	History(ctx context.Context, ns string, flow uuid.UUID) iter.Seq2[Step, error]
	// Before gives the nodes that each node of the flow continues, by their numbers.
	Before(ctx context.Context, ns string, flow uuid.UUID) (map[uuid.UUID][]uuid.UUID, error)
	// Glance gives a node with so much of it. ErrNoNode.
	Glance(ctx context.Context, ns string, id uuid.UUID, much Much) (Node, error)
	// Search gives a page of nodes, with the beginnings of their texts. Page is empty for the first one.
	Search(ctx context.Context, ns string, q Query, page string) (Hits, error)
}

// Much is how much of a node is read.
type Much int

// How much: the beginnings of its texts and its summary, the whole summary with the beginning of one text, everything.
const (
	Beginnings Much = iota
	WholeSummary
	Everything
)

// Step is a node on a way.
type Step struct {
	Node Node
	// Problem is why the node cannot be read, and File what it would be read from, where that is known; empty when it can.
	Problem, File string
}

// Node is a node as far as it was read.
type Node struct {
	ID      uuid.UUID
	Texts   []Text
	Summary Text
	Stale   bool // the summary is older than the texts
	Tags    []string
}

// Text is what one speaker said. Cut: only its beginning was read.
type Text struct {
	Role, Content string
	Cut           bool
}

// Query is what is searched for: nodes with any of the tags, those with most of them first, or what Words say in the form of
// SearchNodes.
type Query struct {
	Tags  []string
	Words string
}

// Hits are a page of nodes that were found. Next is empty on the last page.
type Hits struct {
	Nodes       []Node
	Next        string
	Approximate bool
}

// Prompts makes the text.
type Prompts interface {
	// BuildContext makes the text of a context, cut to its budget.
	BuildContext(ctx context.Context, ns string, m Material) (Built, error)
	// BuildDetail makes the text that answers a model which asked for a node, of at most so many characters of it. textID is the id
	// under which the context has it.
	BuildDetail(ctx context.Context, ns string, s Settings, textID string, n Excerpt, chars int) (string, error)
	// Text gives a default text of a language, filled.
	Text(ctx context.Context, ns, locale, id string, values map[string]string) (string, error)
}

// Material is what a context is made of.
type Material struct {
	Settings Settings
	// Nodes are those of Path, oldest first, and Refs.
	Nodes               []Excerpt
	Path, Parents, Refs []uuid.UUID
	// Ancestors is how many nodes of Path are no parents: all are meant.
	Ancestors int
	// LinesOnly: none of Path is a parent.
	LinesOnly bool
}

// Excerpt is what promptbuilder is told of a node: its texts as far as they can be printed.
type Excerpt struct {
	ID                      uuid.UUID
	Prompt, Answer, Summary string
	Stale                   bool
	Tags                    []string
}

// Built is the text and what became of each node.
type Built struct {
	Text, SHA256 string
	// Bytes are those of Text, also where that is left out.
	Bytes   int
	Tokens  int
	Counter string
	Exact   bool
	Entries []Entry
	// Dropped are nodes of the path and DroppedRefs references that had no room.
	Dropped, DroppedRefs int
	Forgeable            bool
	CountsUsed           int
	Diagnostics          []Diagnostic
}

// Diagnostic is what promptbuilder tells of a text in a context: Part is the id of the node, Byte 0.
type Diagnostic struct {
	Code, Section, Part, Message string
	Byte                         int
}

// Entry is what became of a node: TextID is the id under which it stands in the text, empty where it does not. Form and Summary are
// values of promptbuilder's enums without their prefix.
type Entry struct {
	ID            uuid.UUID
	TextID        string
	Form, Summary string
	Reference     bool
	SummaryCut    bool // its line has a part of its summary
}
