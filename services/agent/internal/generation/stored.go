package generation

import (
	"cmp"
	"context"
	"errors"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// stored gives the node of a generation of which only that is left. *NotFoundError, also for a node that no model made.
func (s *Service) stored(ctx context.Context, ns string, id uuid.UUID) (Node, error) {
	n, err := s.flows.Node(ctx, ns, id)
	if errors.Is(err, ErrNoNode) || (err == nil && n.Record == nil) {
		return Node{}, &NotFoundError{ID: id}
	}
	return n, err
}

// replay is the generation of which only the node is left.
func replay(ns string, n Node, a asked) *generation {
	e := replayed(n, a)
	g := &generation{ns: ns, id: n.ID, asked: a, cancel: func(error) {}}
	g.finish(e)
	return g
}

// replayed is the ending of a generation of which only the node is left.
func replayed(n Node, a asked) ending {
	r := n.Record
	return ending{
		finish: r.Finish, node: &n, replayed: true, cut: cutOf(n),
		// The record has 0 for what the server did not tell.
		cache: cacheOf(llm.Result{PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens, CacheTold: r.CachedTokens > 0}),
		opened: &Opened{
			Generation: n.ID, RequestID: a.request, Branch: cmp.Or(branchOf(r.Picks), a.branch), Answers: a.answers,
			PromptDigest: r.PromptDigest, PromptTokens: r.PromptTokens, Backend: r.Backend, Sampling: r.Sampling,
		},
	}
}

// cutOf is why a node is not whole; nil where it is.
func cutOf(n Node) *CutError {
	if n.Record.Finish.state() == Done {
		return nil
	}
	return &CutError{Generation: n.ID, Finish: n.Record.Finish, Node: n.ID, Err: errors.New(n.Record.Error), Replayed: true}
}

// nodeStatus is what a node tells of the generation that made it.
func nodeStatus(n Node) Status {
	st := Status{ID: n.ID, State: n.Record.Finish.state(), Node: n.ID, Ended: n.Created, Finish: n.Record.Finish}
	if cut := cutOf(n); cut != nil {
		st.Err = cut
	}
	for _, t := range n.Texts {
		if t.Role == roleAssistant {
			st.Characters += utf8.RuneCountInString(t.Content)
		}
	}
	return st
}

// status says how far the generation is.
func (g *generation) status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statusAt(g.end)
}

// statusAt is the status with the given end. The caller holds mu.
func (g *generation) statusAt(end *ending) Status {
	if end != nil && end.replayed {
		return nodeStatus(*end.node)
	}
	st := Status{ID: g.id, Flow: g.flow, LastEvent: g.lastEvent(end), Characters: g.characters, Started: g.started}
	if end == nil {
		return st
	}
	st.State, st.Ended, st.Finish, st.Err = end.state(), end.at, end.finish, end.err
	if end.node != nil {
		st.Node = end.node.ID
	}
	return st
}

func (e *ending) state() State {
	var cut *CutError
	switch {
	case e.err == nil:
		return Done
	case errors.As(e.err, &cut):
		return cut.Finish.state()
	default:
		return Failed
	}
}

// outcome is what the observer is told of an end.
func (g *generation) outcome(end *ending) Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := Outcome{Status: g.statusAt(end), Took: end.at.Sub(g.started), Replayed: end.replayed, Again: g.reopened}
	if g.opened != nil {
		o.Backend = g.opened.Backend.Backend
	}
	if n := end.answer(); n != nil && !o.Replayed {
		o.Tokens, o.Prompt, o.Answer = n.Record.AnswerTokens, n.Record.PromptTime, n.Record.AnswerTime
	}
	return o
}
