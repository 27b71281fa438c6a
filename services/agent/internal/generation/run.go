package generation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// errFull ends an answer that fills a text of a node.
var errFull = fmt.Errorf("the answer was ended at %d bytes, the most that a text may hold", maxAnswer)

// run is a generation from its beginning to its end. Whatever ends it, what was received is stored.
func (s *Service) run(ctx context.Context, g *generation, o order) ending {
	switch n, err := s.flows.Node(ctx, g.ns, g.id); {
	case err == nil:
		return answered(g, n)
	case !errors.Is(err, ErrNoNode):
		return failed(ctx, g, err)
	}
	if err := s.checkReuse(ctx, g); err != nil {
		return failed(ctx, g, err)
	}
	d, err := o.drafter(ctx)
	if err != nil {
		return failed(ctx, g, err)
	}
	if over := d.built.Overflow; over != nil && !o.SendOverflow {
		return failed(ctx, g, over)
	}
	p := o.plan(d)
	g.open(p.opened())
	t, err := s.answer(ctx, g, p)
	return s.settle(ctx, g, p, t, err)
}

// checkReuse is a *ReusedError where what came of another request with the same id is kept, and a *CutOftenError where what
// would come of this one could not be.
func (s *Service) checkReuse(ctx context.Context, g *generation) error {
	switch n, err := s.flows.Node(ctx, g.ns, cutID(g.id, 0)); {
	case errors.Is(err, ErrNoNode):
		return nil
	case err != nil:
		return err
	case n.Record == nil || n.Record.RequestDigest != g.digest:
		return &ReusedError{RequestID: g.asked.request}
	}
	switch _, err := s.flows.Node(ctx, g.ns, cutID(g.id, MaxCuts-1)); {
	case err == nil:
		return &CutOftenError{RequestID: g.asked.request}
	case !errors.Is(err, ErrNoNode):
		return err
	}
	return nil
}

// answered ends a generation whose node is there already.
func answered(g *generation, n Node) ending {
	if n.Record == nil || n.Record.RequestDigest != g.digest {
		return ending{err: &ReusedError{RequestID: g.asked.request}}
	}
	return replayed(g.id, n, g.asked)
}

// failed ends a generation that did not reach the model.
func failed(ctx context.Context, g *generation, err error) ending {
	if cut := g.cutBy(ctx); cut != nil {
		return ending{finish: cut.Finish, err: cut}
	}
	return ending{err: err}
}

// lastBytes gives how many bytes the last characters of a text have.
func lastBytes(text string, characters int) int {
	end := len(text)
	for ; characters > 0 && end > 0; characters-- {
		_, size := utf8.DecodeLastRuneInString(text[:end])
		end -= size
	}
	return len(text) - end
}

// ask takes one answer of the model into the log. The error is why it is not whole, or errFull.
func (s *Service) ask(ctx context.Context, g *generation, model llm.Generator, req llm.Request) (llm.Result, error) {
	stop := func() bool { return false } // of the limit on silence, once the prompt is sent
	defer func() { stop() }()
	asking := llm.OnSent(ctx, func() { stop = s.endAfter(s.limits.FirstPiece, g, FinishIdle).Stop })
	stream, err := model.Generate(asking, req)
	if err != nil {
		return llm.Result{}, err
	}
	//nolint:errcheck // an answer that was received is not worse for a connection that closes badly
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.Result(), nil
		}
		if err != nil {
			return stream.Result(), err
		}
		stop()
		if !g.append(piece) {
			result := stream.Result()
			result.Finish = llm.FinishLength
			return result, errFull
		}
		stop = s.endAfter(s.limits.Silence, g, FinishIdle).Stop
	}
}

// settle makes a node of what was received. Of an answer that was cut before its first character nothing is stored: the
// request made nothing, and may come again.
func (s *Service) settle(ctx context.Context, g *generation, p plan, t said, err error) ending {
	cut := g.verdict(ctx, err)
	text := g.answerText()[t.from:]
	if cut != nil && text == "" && len(t.texts) == 0 {
		return ending{finish: cut.Finish, err: cut}
	}
	finish, why := Finish(t.last.Finish), ""
	switch {
	case cut != nil:
		finish, why = cut.Finish, cut.reason()
	case err != nil:
		why = err.Error()
	}
	n := p.node(t, text, finish, why)
	n.Record.RequestDigest = g.digest
	if fault := (*llm.Error)(nil); cut != nil && errors.As(cut.Err, &fault) {
		n.Record.Fault = fault.Fault
	}
	a := Addition{Flow: p.Flow, Parent: p.Parent, Node: n, SetCurrent: p.SetCurrent}
	return s.store(ctx, g, &answer{addition: a, cache: cacheOf(t.total), cut: cut})
}

// cacheOf is nil where the server told nothing of its cache.
func cacheOf(r llm.Result) *Cache {
	if !r.CacheTold || r.PromptTokens == 0 {
		return nil
	}
	return &Cache{Read: r.PromptTokens - r.CachedTokens, Cached: r.CachedTokens}
}

// verdict says why an answer is not whole; nil when it is.
func (g *generation) verdict(ctx context.Context, err error) *CutError {
	if err == nil || errors.Is(err, errFull) {
		return nil
	}
	if cut := g.cutBy(ctx); cut != nil {
		return cut
	}
	cut := &CutError{Generation: g.id, Finish: FinishBackendError, Err: err}
	var fault *llm.Error
	if errors.As(err, &fault) && fault.Fault == llm.FaultTimeout {
		cut.Finish = FinishIdle
	}
	return cut
}

// cutBy says which of our own causes ended the context; nil where none did.
func (g *generation) cutBy(ctx context.Context) *CutError {
	var cause *CutError
	if !errors.As(context.Cause(ctx), &cause) {
		return nil
	}
	return &CutError{Generation: g.id, Finish: cause.Finish, Limit: cause.Limit}
}

// store stores an answer. It has its own time limit, and neither a cancellation nor the end of the service stops it.
func (s *Service) store(ctx context.Context, g *generation, a *answer) ending {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Store)
	defer stop()
	finish := a.addition.Node.Record.Finish
	n, err := s.add(ctx, g, a)
	if errors.Is(err, ErrTaken) {
		// Another agent was faster. Where it had the same request, its node is the answer.
		if n, err = s.flows.Node(ctx, g.ns, g.id); err == nil {
			return answered(g, n)
		}
	}
	if err != nil {
		return ending{finish: finish, err: &NotStoredError{Generation: g.id, Err: err, Cut: a.cut, Lost: s.stopping()}, unstored: a}
	}
	e := ending{finish: finish, node: &n, cache: a.cache}
	if a.cut != nil {
		cut := *a.cut
		cut.Node = n.ID
		e.err = &cut
	}
	return e
}

// add stores the node of an answer, under its own id where that is its end. ErrTaken; *CutOftenError only where another agent kept
// the last that may be kept since checkReuse.
func (s *Service) add(ctx context.Context, g *generation, a *answer) (Node, error) {
	if a.cut == nil || a.cut.Finish.final() {
		return s.flows.Add(ctx, g.ns, a.addition)
	}
	for cut := range MaxCuts {
		a.addition.Node.ID = cutID(g.id, cut)
		if n, err := s.flows.Add(ctx, g.ns, a.addition); !errors.Is(err, ErrTaken) {
			return n, err
		}
	}
	return Node{}, &CutOftenError{RequestID: g.asked.request}
}

// guard keeps a fault of ours to the one generation that it struck.
func guard(ctx context.Context, work func(context.Context) ending) (e ending) {
	defer func() {
		if p := recover(); p != nil {
			e = ending{err: &PanicError{Value: p, Stack: debug.Stack()}}
		}
	}()
	return work(ctx)
}
