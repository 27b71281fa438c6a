package summary

import "github.com/google/uuid"

// Event is what happened: Begun first, then a Done, Skipped or Failed for each node, as its work ends, and Report at last;
// Heartbeat whenever nothing happened for a while.
type Event interface{ event() }

// Begun says how many nodes there are.
type Begun struct{ Total int }

// Use is what a node took.
type Use struct {
	// Asked is how often the model was asked. The tokens are those that its server tells, of all requests and replies.
	Asked, PromptTokens, AnswerTokens int
}

// Done says that the summary and the tags of a node are stored.
type Done struct {
	ID uuid.UUID
	Reply
	Use
	// Partial: the model saw the beginnings and ends of the texts, since there was no room for all.
	Partial bool
}

// Skipped says that there was nothing to do for a node.
type Skipped struct {
	ID  uuid.UUID
	Why Why
	Use
}

// Why is why there was nothing to do.
type Why int

// The reasons.
const (
	// Fresh: its summary is of its texts.
	Fresh Why = iota
	// Empty: it has no text.
	Empty
	// Changed: its texts changed meanwhile. It is still marked.
	Changed
	// InWork: somebody else is at it.
	InWork
	// FailedBefore: it failed with these texts, and no person asks. Only in the background.
	FailedBefore
)

// Failed says that a node keeps what it has, and why: a Reason, or that of a *NodeError.
type Failed struct {
	ID              uuid.UUID
	Reason, Message string
	Use
}

// Heartbeat says that the work goes on.
type Heartbeat struct{}

// Report counts what was done.
type Report struct {
	Done, Partial, Skipped, Failed int
	Use
}

func (Begun) event()     {}
func (Done) event()      {}
func (Skipped) event()   {}
func (Failed) event()    {}
func (Heartbeat) event() {}
func (Report) event()    {}

// add counts the end of the work on a node.
func (r *Report) add(e Event) {
	var use Use
	switch e := e.(type) {
	case Done:
		r.Done++
		if e.Partial {
			r.Partial++
		}
		use = e.Use
	case Skipped:
		r.Skipped++
		use = e.Use
	case Failed:
		r.Failed++
		use = e.Use
	}
	r.Asked += use.Asked
	r.PromptTokens += use.PromptTokens
	r.AnswerTokens += use.AnswerTokens
}
