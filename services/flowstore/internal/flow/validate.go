package flow

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ProblemKind is what is wrong with a flow.
type ProblemKind int

// The kinds.
const (
	// BadEntry is something in the file that cannot be used as it stands, such as an index that stands there twice.
	BadEntry ProblemKind = iota
	// DanglingEdge leads from or to an index that no node has; paths leave it out.
	DanglingEdge
	// CycleEdge closes a cycle; paths leave it out.
	CycleEdge
	// BadCurrent is a reader's place that is not there: the newest leaf is taken, or none where the entry cannot be read.
	BadCurrent
	// MissingNode is a node of the flow whose file is missing.
	MissingNode
	// UnreadableNode is a node of the flow whose file cannot be read.
	UnreadableNode
	// DanglingHead is a head that stands at no node of the flow.
	DanglingHead
	// DanglingLink is a link that begins at no node of the flow, or leads to a flow that is not there or cannot be read.
	DanglingLink
)

// Problem is one thing that is wrong with a flow that hands, or git, brought about.
type Problem struct {
	Kind ProblemKind
	// Text is one sentence that begins with the place in the file, as in Flow.Problems.
	Text string
	// Edge is set for edges, Head and Link for those, Index and Node for nodes.
	Edge  Edge
	Head  Head
	Link  Link
	Index int
	Node  uuid.UUID
	// File is what a node would be read from, seen from the folder of the namespace; empty where there is none.
	File string
}

// Validate gives Problems as data, in their order (field/flowstore.md row 20). No node is read.
func (f Flow) Validate() []Problem {
	places := f.danglingBranches()
	for _, e := range f.Skipped {
		p := Problem{Kind: CycleEdge, Text: closesCycle(e), Edge: e}
		if _, there := position(f.Members, e.From); !there {
			p.Kind, p.Text = DanglingEdge, leadsNowhere(e, e.From)
		} else if _, there := position(f.Members, e.To); !there {
			p.Kind, p.Text = DanglingEdge, leadsNowhere(e, e.To)
		}
		places[p.Text] = p
	}
	problems := make([]Problem, len(f.Problems))
	for i, text := range f.Problems {
		p, known := places[text]
		if !known {
			p = Problem{Text: text}
			if strings.HasPrefix(text, currentPlace) {
				p.Kind = BadCurrent
			}
		}
		problems[i] = p
	}
	return problems
}

func leadsNowhere(e Edge, missing int) string {
	return fmt.Sprintf("connections: %d -> %d: no node has index %d; it is left out of paths", e.From, e.To, missing)
}

func closesCycle(e Edge) string {
	return fmt.Sprintf("connections: %d -> %d closes a cycle; it is left out of paths", e.From, e.To)
}
