package nodecontext

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// Reason says why a node is a reference, by the names of the contract's enum.
type Reason string

// The reasons.
const (
	ByID       Reason = "ID"
	AsAncestor Reason = "ANCESTOR"
	ByTags     Reason = "TAGS"
	ByQuery    Reason = "QUERY"
)

// Outcome is what became of a mention of a node, by the names of the contract's enum.
type Outcome string

// The outcomes.
const (
	Taken    Outcome = "TAKEN"
	OnPath   Outcome = "ON_PATH"
	Repeated Outcome = "REPEATED"
	OverMax  Outcome = "OVER_MAX"
)

// Choice is a mention of a node. Of is the node whose ancestor it is.
type Choice struct {
	Node    uuid.UUID
	Reason  Reason
	Of      uuid.UUID
	Outcome Outcome
}

// maxHits is how many nodes of a search are looked at.
const maxHits = 300

// chooser takes references in the order of their mentions, each node once.
type chooser struct {
	max         int
	onPath      map[uuid.UUID]bool
	taken       map[uuid.UUID]bool
	nodes       []Node
	choices     []Choice
	approximate bool
}

func newChooser(asked int, path ...[]Node) *chooser {
	c := &chooser{max: most(asked), onPath: map[uuid.UUID]bool{}, taken: map[uuid.UUID]bool{}}
	for _, nodes := range path {
		for _, n := range nodes {
			c.onPath[n.ID] = true
		}
	}
	return c
}

func (c *chooser) full() bool { return len(c.nodes) >= c.max }

// outcome is what becomes of a mention.
func (c *chooser) outcome(id uuid.UUID) Outcome {
	switch {
	case c.onPath[id]:
		return OnPath
	case c.taken[id]:
		return Repeated
	case c.full():
		return OverMax
	}
	return Taken
}

// take takes a mentioned node.
func (c *chooser) take(n Node, why Reason, of uuid.UUID) {
	o := c.outcome(n.ID)
	c.choices = append(c.choices, Choice{n.ID, why, of, o})
	if o == Taken {
		c.taken[n.ID] = true
		c.nodes = append(c.nodes, n)
	}
}

// choose takes the references of a request in their order: those that are named, each with its ancestors, those with tags, and those
// that a search finds (field/systemprompt-rules.md 4).
func (s *Service) choose(ctx context.Context, ns string, r Request, c *chooser, named []Node) error {
	var before map[uuid.UUID][]uuid.UUID
	var err error
	if len(named) > 0 && r.Refs.Ancestors > 0 {
		if before, err = s.flows.Before(ctx, ns, r.Flow); err != nil {
			return err
		}
	}
	for _, n := range named {
		c.take(n, ByID, uuid.Nil)
		for _, id := range nearest(before, n.ID, r.Refs.Ancestors) {
			if err := s.ancestor(ctx, ns, c, id, n.ID); err != nil {
				return err
			}
		}
	}
	if len(r.Refs.Tags) > 0 {
		err = s.find(ctx, ns, c, Query{Tags: r.Refs.Tags}, ByTags)
	}
	if err == nil && r.Refs.Query != "" {
		err = s.find(ctx, ns, c, Query{Words: r.Refs.Query}, ByQuery)
	}
	return err
}

// ancestor takes a node before a reference. It is read only where it becomes one; one that is no longer stored is none.
func (s *Service) ancestor(ctx context.Context, ns string, c *chooser, id, of uuid.UUID) error {
	n := Node{ID: id}
	if c.outcome(id) == Taken {
		var err error
		if n, err = s.flows.Glance(ctx, ns, id, Beginnings); err != nil {
			if errors.Is(err, ErrNoNode) {
				return nil
			}
			return err
		}
	}
	c.take(n, AsAncestor, of)
	return nil
}

// find takes what a search finds, until there are enough references.
func (s *Service) find(ctx context.Context, ns string, c *chooser, q Query, why Reason) error {
	page := ""
	for seen := 0; seen < maxHits && !c.full(); {
		hits, err := s.flows.Search(ctx, ns, q, page)
		if err != nil {
			return err
		}
		c.approximate = c.approximate || hits.Approximate
		for _, n := range hits.Nodes {
			if seen++; seen > maxHits || c.full() {
				return nil
			}
			c.take(n, why, uuid.Nil)
		}
		if page = hits.Next; page == "" {
			return nil
		}
	}
	return nil
}

// named gives the nodes of these ids. *UnknownError about all that are not there.
func (s *Service) named(ctx context.Context, ns string, ids []uuid.UUID) ([]Node, error) {
	var nodes []Node
	unknown := &UnknownError{}
	for i, id := range ids {
		n, err := s.flows.Glance(ctx, ns, id, Beginnings)
		switch {
		case errors.Is(err, ErrNoNode):
			unknown.IDs, unknown.At = append(unknown.IDs, id), append(unknown.At, i)
		case err != nil:
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if len(unknown.IDs) > 0 {
		return nil, unknown
	}
	return nodes, nil
}
