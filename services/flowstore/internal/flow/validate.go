package flow

import (
	"fmt"
	"slices"
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
	// Edge is set for edges, Head and Link for those, Index and Node for nodes; Node also where a Link begins at one.
	Edge  Edge
	Head  Head
	Link  Link
	Index int
	Node  uuid.UUID
	// File is what a node would be read from, seen from the folder of the namespace; empty where there is none.
	File string
	// Cycle is a shortest cycle that a CycleEdge closes: its nodes from the end of the edge on, then the first again. Told of
	// the first maxCycles edges; of a longer cycle the first maxCycleNodes, and not the first again.
	Cycle []uuid.UUID
}

// How much is told of cycles: an answer must hold it, and each takes a walk through the flow.
const (
	maxCycles     = 100
	maxCycleNodes = 1000
)

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
	f.tellCycles(problems)
	return problems
}

// tellCycles adds the cycles to problems. What paths leave out leads back over edges that they follow.
func (f Flow) tellCycles(problems []Problem) {
	if len(f.Skipped) == 0 {
		return
	}
	g := f.walkable()
	told := 0
	for i, p := range problems {
		if p.Kind != CycleEdge || told == maxCycles {
			continue
		}
		told++
		start, _ := position(f.Members, p.Edge.To)
		target, _ := position(f.Members, p.Edge.From)
		way := g.way(int32(start), int32(target))
		if len(way) > maxCycleNodes {
			problems[i].Cycle = way[:maxCycleNodes]
			continue
		}
		problems[i].Cycle = slices.Concat(way, way[:1])
	}
}

func leadsNowhere(e Edge, missing int) string {
	return fmt.Sprintf("connections: %d -> %d: no node has index %d; it is left out of paths", e.From, e.To, missing)
}

func closesCycle(e Edge) string {
	return fmt.Sprintf("connections: %d -> %d closes a cycle; it is left out of paths", e.From, e.To)
}
