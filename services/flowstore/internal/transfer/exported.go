package transfer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// exportedNode is a node in our own export.
type exportedNode struct {
	ID           uuid.UUID      `json:"id"`
	Created      time.Time      `json:"created,omitzero"`
	Texts        []exportedText `json:"texts"`
	Model        string         `json:"model,omitempty"`
	Tags         []string       `json:"tags,omitempty"`
	Summary      string         `json:"summary,omitempty"`
	SummaryStale bool           `json:"summary_stale,omitempty"`
	SummaryBuilt time.Time      `json:"summary_built,omitzero"`
	Generation   *generation    `json:"generation,omitempty"`
	Score        *float64       `json:"score,omitempty"`
	Note         string         `json:"note,omitempty"`
}

type exportedText struct {
	Role     string  `json:"role"`
	Content  string  `json:"content"`
	Count    int     `json:"tokens,omitempty"`
	Duration float64 `json:"seconds,omitempty"`
	Rate     float64 `json:"tokens_per_second,omitempty"`
}

func zero(id uuid.UUID) bool { return id == uuid.UUID{} }

func fromNode(n node.Node) exportedNode {
	out := exportedNode{
		ID: n.ID, Created: n.Created, Model: n.Model, Tags: n.Tags, Score: n.Score, Note: n.Note, Generation: fromGeneration(n.Generation),
		Summary: n.Summary.Text, SummaryStale: n.Summary.Stale, SummaryBuilt: n.Summary.Built,
	}
	for _, t := range n.Texts {
		out.Texts = append(out.Texts, exportedText(t))
	}
	return out
}

func (e exportedNode) node() node.Node {
	n := node.Node{
		ID: e.ID, Created: kept(e.Created), Model: e.Model, Tags: e.Tags, Score: e.Score, Note: e.Note, Generation: e.Generation.node(),
		Summary: node.Summary{Text: e.Summary, Stale: e.SummaryStale, Built: kept(e.SummaryBuilt)},
	}
	for _, t := range e.Texts {
		n.Texts = append(n.Texts, node.Text(t))
	}
	n = n.Rounded()
	if n.Summary.Text != "" && !n.Summary.Stale {
		n.Summary.Source = n.Source()
	}
	return n
}

// kept is a time as it is stored: to the microsecond.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	if _, offset := t.Zone(); offset != 0 {
		return t.Truncate(time.Microsecond).In(time.FixedZone("", offset))
	}
	return t.Truncate(time.Microsecond).UTC()
}

// exportedFlow is a flow in our own export.
type exportedFlow struct {
	ID          uuid.UUID     `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Created     time.Time     `json:"created,omitzero"`
	Updated     time.Time     `json:"updated,omitzero"`
	Story       story         `json:"story,omitzero"`
	Nodes       []flow.Member `json:"nodes"`
	Edges       []flow.Edge   `json:"edges"`
	Heads       []flow.Head   `json:"heads,omitempty"`
	Links       []flow.Link   `json:"links,omitempty"`
	// Current is the index of the reader's place; 0 for none. Next is the index that the next node gets.
	Current int `json:"current"`
	Next    int `json:"next"`
	// Warnings are what is wrong in the file that was exported. They are told, and not read.
	Warnings []string `json:"warnings,omitempty"`
}

type story struct {
	Title         *string  `json:"title,omitempty"`
	Keywords      []string `json:"keywords,omitempty"`
	Genres        []string `json:"genres,omitempty"`
	Synopsis      *string  `json:"synopsis,omitempty"`
	Setting       *string  `json:"setting,omitempty"`
	Plot          *string  `json:"plot,omitempty"`
	Note          *string  `json:"note,omitempty"`
	DialogueLevel *string  `json:"dialogue_level,omitempty"`
	Rating        *string  `json:"rating,omitempty"`
}

func fromFlow(f flow.Flow) exportedFlow {
	out := exportedFlow{
		ID: f.ID, Name: f.Name, Description: f.Description, Created: f.Created, Updated: f.Updated, Story: story(f.Story),
		Nodes: append([]flow.Member{}, f.Members...), Edges: []flow.Edge{}, Current: f.Current, Next: f.Next, Warnings: f.Problems,
	}
	skipped := make(map[flow.Edge]bool, len(f.Skipped))
	for _, e := range f.Skipped {
		skipped[e] = true
	}
	for _, e := range f.Edges {
		if !skipped[e] {
			out.Edges = append(out.Edges, e)
		}
	}
	for _, h := range f.Heads {
		if _, held := f.NodeAt(h.Index); held {
			out.Heads = append(out.Heads, h)
		}
	}
	out.Links = slices.DeleteFunc(slices.Clone(f.Links), func(l flow.Link) bool {
		_, held := f.NodeAt(l.From)
		return l.From != 0 && !held
	})
	return out
}

func (e exportedFlow) flow() (flow.Flow, error) {
	f := flow.Flow{
		ID: e.ID, Name: e.Name, Description: e.Description, Created: kept(e.Created), Updated: kept(e.Updated),
		Members: e.Nodes, Edges: e.Edges, Heads: e.Heads, Links: e.Links, Current: e.Current, Next: e.Next, Story: flow.Story(e.Story),
	}
	if zero(f.ID) || f.Name == "" {
		return f, errors.New("a flow must have an id and a name")
	}
	wrong := f.CheckWords()
	for i, edge := range f.Edges {
		wrong = append(wrong, flow.CheckEdgeName(fmt.Sprintf("edges[%d].name", i), edge.Name)...)
	}
	for i, h := range f.Heads {
		wrong = append(wrong, flow.CheckHeadName(fmt.Sprintf("heads[%d].name", i), h.Name)...)
	}
	if len(wrong) > 0 {
		return f, fmt.Errorf("%s %s", wrong[0].Field, wrong[0].Message)
	}
	return assemble(f)
}

// assemble puts members, edges, heads and links of a flow in order, and refuses what no operation could have made of it.
func assemble(f flow.Flow) (flow.Flow, error) {
	bare := f
	bare.Members, bare.Edges, bare.Heads, bare.Links, bare.Current = nil, nil, nil, nil, 0
	bare.Next = max(f.Next, flow.NextOf(f))
	c := flow.Change{At: f.Updated, Restore: f.Members, Connect: f.Edges, Heads: f.Heads, Link: f.Links, Current: &f.Current}
	if err := bare.Check(c); err != nil {
		return flow.Flow{}, err
	}
	return bare.Apply(c), nil
}
