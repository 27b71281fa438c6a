package nodecontext_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// store is a store in memory with one flow, whose nodes stand in the order of history.
type store struct {
	history []uuid.UUID
	before  map[uuid.UUID][]uuid.UUID
	nodes   map[uuid.UUID]nodecontext.Node
	broken  map[uuid.UUID]string
	// found is what searches find, by their words, and tags with commas between them.
	found map[string][]uuid.UUID
	// read is what was read of single nodes; pages how many pages of hits.
	read  map[nodecontext.Much][]uuid.UUID
	pages int
}

func newStore() *store {
	return &store{
		before: map[uuid.UUID][]uuid.UUID{}, nodes: map[uuid.UUID]nodecontext.Node{}, broken: map[uuid.UUID]string{},
		found: map[string][]uuid.UUID{}, read: map[nodecontext.Much][]uuid.UUID{},
	}
}

func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("0192f0c1-7d3a-7c52-9b1e-%012d", n)) }

// put stores a node with a prompt and an answer behind others, which have smaller numbers.
func (s *store) put(n int, prompt, answer, summary string, before ...int) {
	node := nodecontext.Node{ID: id(n), Summary: nodecontext.Text{Content: summary}, Stale: summary == ""}
	node.Texts = []nodecontext.Text{{Role: "user", Content: prompt}, {Role: "assistant", Content: answer}}
	s.nodes[node.ID] = node
	s.history = append(s.history, node.ID)
	for _, b := range before {
		s.before[node.ID] = append(s.before[node.ID], id(b))
	}
}

func (s *store) Seq(context.Context, string) (int64, error) { return 41, nil }

// beginning is a text as flowstore shows it where not all is asked for.
func beginning(t nodecontext.Text) nodecontext.Text {
	if r := []rune(t.Content); len(r) > 200 {
		t.Content, t.Cut = string(r[:200]), true
	}
	return t
}

func (s *store) glance(id uuid.UUID) nodecontext.Node {
	n := s.nodes[id]
	n.Texts = slices.Clone(n.Texts)
	for i, t := range n.Texts {
		n.Texts[i] = beginning(t)
	}
	n.Summary = beginning(n.Summary)
	return n
}

func (s *store) steps(on func(uuid.UUID) bool) iter.Seq2[nodecontext.Step, error] {
	return func(yield func(nodecontext.Step, error) bool) {
		for _, id := range s.history {
			step := nodecontext.Step{Node: s.glance(id), Problem: s.broken[id]}
			if step.Problem != "" {
				step.Node = nodecontext.Node{ID: id}
			}
			if on(id) && !yield(step, nil) {
				return
			}
		}
	}
}

func (s *store) Way(_ context.Context, _ string, _, node uuid.UUID, field string) iter.Seq2[nodecontext.Step, error] {
	on := map[uuid.UUID]bool{node: true}
	for queue := []uuid.UUID{node}; len(queue) > 0; queue = queue[1:] {
		for _, b := range s.before[queue[0]] {
			on[b], queue = true, append(queue, b)
		}
	}
	if _, ok := s.nodes[node]; !ok {
		return func(yield func(nodecontext.Step, error) bool) {
			yield(nodecontext.Step{}, fmt.Errorf("%s is not there", field))
		}
	}
	return s.steps(func(id uuid.UUID) bool { return on[id] })
}

func (s *store) History(context.Context, string, uuid.UUID) iter.Seq2[nodecontext.Step, error] {
	return s.steps(func(uuid.UUID) bool { return true })
}

func (s *store) Before(context.Context, string, uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	return s.before, nil
}

func (s *store) Glance(_ context.Context, _ string, id uuid.UUID, much nodecontext.Much) (nodecontext.Node, error) {
	n, ok := s.nodes[id]
	if !ok {
		return nodecontext.Node{}, nodecontext.ErrNoNode
	}
	s.read[much] = append(s.read[much], id)
	switch much {
	case nodecontext.Everything:
		return n, nil
	case nodecontext.WholeSummary:
		whole := n.Summary
		n = s.glance(id)
		n.Texts, n.Summary = []nodecontext.Text{{Role: "user", Content: "x", Cut: true}}, whole
		return n, nil
	}
	return s.glance(id), nil
}

func (s *store) Search(_ context.Context, _ string, q nodecontext.Query, page string) (nodecontext.Hits, error) {
	s.pages++
	all := s.found[q.Words+strings.Join(q.Tags, ",")]
	all = all[len(page):] // a page token is as long as what it passes over
	hits := nodecontext.Hits{Approximate: q.Words != ""}
	for _, id := range all[:min(2, len(all))] {
		hits.Nodes = append(hits.Nodes, s.glance(id))
	}
	if len(all) > 2 {
		hits.Next = page + "xx"
	}
	return hits, nil
}

// builder keeps what it is given.
type builder struct{ got nodecontext.Material }

func (b *builder) BuildContext(_ context.Context, _ string, m nodecontext.Material) (nodecontext.Built, error) {
	b.got = m
	return nodecontext.Built{Text: "built"}, nil
}

func (*builder) BuildDetail(_ context.Context, _ string, _ nodecontext.Settings, textID string, n nodecontext.Excerpt, chars int) (string, error) {
	return fmt.Sprint(textID, ": ", n.Prompt, n.Answer, " ", chars), nil
}

func (*builder) Text(_ context.Context, _, locale, id string, values map[string]string) (string, error) {
	return locale + " " + id + " " + values["id"], nil
}

// build makes a context and gives what promptbuilder was told.
func (s *store) build(t *testing.T, r nodecontext.Request) (nodecontext.Material, nodecontext.Context) {
	t.Helper()
	b := &builder{}
	c, err := nodecontext.New(s, b).Build(t.Context(), "n", r)
	if err != nil {
		t.Fatal(err)
	}
	return b.got, c
}

// refused gives the error of a context that is none.
func (s *store) refused(t *testing.T, r nodecontext.Request) error {
	t.Helper()
	_, err := nodecontext.New(s, &builder{}).Build(t.Context(), "n", r)
	if err == nil {
		t.Fatal("it was made")
	}
	return err
}

func ids(numbers ...int) (all []uuid.UUID) {
	for _, n := range numbers {
		all = append(all, id(n))
	}
	return all
}
