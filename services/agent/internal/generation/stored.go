package generation

import (
	"cmp"
	"context"
	"errors"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// stored gives the node of a generation of which only that is left: its answer, or what came before it was cut the last
// time. *NotFoundError, also for a node that no model made.
func (s *Service) stored(ctx context.Context, ns string, id uuid.UUID) (Node, error) {
	n, err := s.flows.Node(ctx, ns, id)
	if errors.Is(err, ErrNoNode) {
		n, err = s.lastCut(ctx, ns, id)
	}
	if errors.Is(err, ErrNoNode) || (err == nil && n.Record == nil) {
		return Node{}, &NotFoundError{ID: id}
	}
	return n, err
}

// lastCut gives what came of an answer before it was cut, the last time. ErrNoNode.
func (s *Service) lastCut(ctx context.Context, ns string, answer uuid.UUID) (last Node, err error) {
	found := ErrNoNode
	for cut := range MaxCuts {
		n, err := s.flows.Node(ctx, ns, cutID(answer, cut))
		if errors.Is(err, ErrNoNode) {
			return last, found
		}
		if err != nil {
			return Node{}, err
		}
		last, found = n, nil
	}
	return last, found
}

// replay is the generation of which only the node is left.
func replay(k key, n Node, a asked) *generation {
	e := replayed(k.id, n, a)
	g := &generation{ns: k.ns, id: k.id, asked: a, cancel: func(error) {}}
	g.finish(e)
	return g
}

// replayed is the ending of a generation of which only the node is left.
func replayed(id uuid.UUID, n Node, a asked) ending {
	r := n.Record
	return ending{
		finish: r.Finish, node: &n, replayed: true, cut: cutOf(id, n),
		// The record has 0 for what the server did not tell.
		cache: cacheOf(llm.Result{PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens, CacheTold: r.CachedTokens > 0}),
		opened: &Opened{
			Generation: id, RequestID: a.request, Branch: cmp.Or(r.Branch, a.branch), Answers: a.answers,
			PromptDigest: r.PromptDigest, PromptTokens: r.PromptTokens, Backend: r.Backend, Sampling: r.Sampling,
		},
	}
}

// cutOf is why a node is not whole; nil where it is.
func cutOf(id uuid.UUID, n Node) *CutError {
	if n.Record.Finish.state() == Done {
		return nil
	}
	return &CutError{Generation: id, Finish: n.Record.Finish, Node: n.ID, Err: &told{n.Record}}
}

// told is why an answer was cut, as its node tells it.
type told struct{ record *Record }

func (t *told) Error() string { return t.record.Error }

// Unwrap gives what was wrong with the model server, so that whoever asks later hears of the same as who watched.
func (t *told) Unwrap() error {
	r := t.record
	if r.Fault == "" {
		return nil
	}
	return &llm.Error{
		Fault: r.Fault, Backend: r.Backend.Backend, Address: r.Backend.Address, Message: r.Error,
		Window: r.Backend.Window, Tokens: r.PromptTokens,
	}
}

// nodeStatus is what a node tells of the generation that made it.
func nodeStatus(id uuid.UUID, n Node) Status {
	st := Status{ID: id, State: n.Record.Finish.state(), Node: n.ID, Ended: n.Created, Finish: n.Record.Finish}
	if cut := cutOf(id, n); cut != nil {
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
		return nodeStatus(g.id, *end.node)
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
