package story

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// Defaults stand in for what a request leaves open.
type Defaults struct {
	// MaxTokens are kept free for the answer.
	MaxTokens int
	// Rating is one of the ratings.
	Rating string
}

// Builder makes prompts. Safe for concurrent use; it keeps nothing between calls.
type Builder struct {
	backends Backends
	defaults Defaults
	// bytesEach is how many bytes of a body are looked at for each token of the limit, to begin with.
	bytesEach int
}

// NewBuilder makes a Builder over model servers.
func NewBuilder(backends Backends, defaults Defaults) *Builder {
	return &Builder{backends: backends, defaults: defaults, bytesEach: bytesEach}
}

// Build makes the prompt of a request in which Check finds nothing wrong. Errors: *llm.UnknownBackendError, *llm.BudgetError
// (before anything is counted), *llm.OverflowError, *CountError, and those of the counter.
func (b *Builder) Build(ctx context.Context, r Request) (Prompt, error) {
	r.MaxTokens = cmp.Or(r.MaxTokens, b.defaults.MaxTokens)
	r.Work.Rating = cmp.Or(r.Work.Rating, b.defaults.Rating)
	counter, backend, err := b.open(ctx, r.Backend)
	if err != nil {
		return Prompt{}, err
	}
	limit := backend.Window - r.MaxTokens
	if limit <= 0 {
		return Prompt{}, &llm.BudgetError{Window: backend.Window, MaxTokens: r.MaxTokens}
	}
	d := newDraws(r)
	p := Prompt{Limit: limit, MaxTokens: r.MaxTokens, Rating: r.Work.Rating, Seed: r.Seed, Wrapping: r.Wrapping.resolve(), Backend: backend}
	if r.Sampler == All {
		p.Combinations, p.Some = d.combinations()
	}
	drawn, picks := d.settle()
	blockFence := drawn.guard(&d)
	p.Picks, p.Warnings = picks, d.warnings
	if err := p.fit(ctx, counter, drawn, blockFence, b.bytesEach*limit); err != nil {
		return Prompt{}, err
	}
	return p, nil
}

// fit makes the text of a prompt from a request whose draws are made, of whose body it looks at reach bytes to begin with.
func (p *Prompt) fit(ctx context.Context, counter Counter, r Request, blockFence string, reach int) error {
	l, fitted, err := cut(ctx, counter, r, blockFence, p.Limit, reach)
	if err != nil {
		return p.Backend.blame(err)
	}
	p.Task, p.Text, p.Tokens, p.Overflow = l.task, fitted.Prompt, fitted.Size.Tokens, fitted.Over
	if !counter.Local() {
		p.Counts = fitted.Counts
	}
	p.Blocks = sizes(l.stretches(fitted.Offset), fitted.Size)
	if fitted.Over && !r.Uncut && !r.ReturnOver {
		return p.tooLarge()
	}
	digest := sha256.Sum256([]byte(p.Text))
	p.Digest = hex.EncodeToString(digest[:])
	at := 0
	if fitted.Place != fit.Whole {
		at = l.inBody(fitted.Offset)
		p.Cut = l.cutOf(r.Body, at)
	}
	p.Warnings = append(p.Warnings, l.warnings(r, *p, fitted, r.Body[len(l.skipped)+at:])...)
	return nil
}

// tooLarge says what the least prompt is made of.
func (p *Prompt) tooLarge() error {
	e := &llm.OverflowError{Limit: p.Limit, Tokens: p.Tokens, MaxTokens: p.MaxTokens}
	ofStory := 0
	for _, b := range p.Blocks {
		if b.Kind == KindReference || b.Kind == KindNote {
			ofStory += b.Tokens
		}
		e.Blocks = append(e.Blocks, llm.BlockSize{Kind: string(b.Kind), Tokens: b.Tokens})
	}
	if ofStory > p.Tokens-p.Limit {
		e.Field = "story"
	}
	return e
}

// bytesEach is more than twice what a token of prose has in any script.
const bytesEach = 12

// cut lays the request out and cuts it. Where all of the body's end fits that was looked at, the whole body is.
func cut(ctx context.Context, counter Counter, r Request, blockFence string, limit, reach int) (layout, fit.Result, error) {
	switch {
	case r.Uncut:
		l := arrange(r, blockFence, 0)
		fitted, err := fit.Measure(ctx, counter, l.prompt(), limit, 0)
		return l, fitted, err
	case r.Trim > 0:
		return trim(ctx, counter, r, blockFence, limit)
	}
	head := 0
	if taskOf(r.Mode, r.Body, r.Work).continues() {
		head = beyond(r.Body, reach)
	}
	l := arrange(r, blockFence, head)
	fitted, err := fit.Cut(ctx, counter, l.prompt(), fit.Options{Limit: limit, Finest: r.Finest})
	if err == nil && head > 0 && fitted.Place == fit.Whole {
		l = arrange(r, blockFence, 0)
		fitted, err = fit.Cut(ctx, counter, l.prompt(), fit.Options{Limit: limit, Finest: r.Finest, Used: fitted.Counts})
	}
	return l, fitted, err
}

// trim keeps the last characters of a body whose whole is over the limit, and counts what is left (seed 000, 2.3).
func trim(ctx context.Context, counter Counter, r Request, blockFence string, limit int) (layout, fit.Result, error) {
	l := arrange(r, blockFence, 0)
	fitted, err := fit.Measure(ctx, counter, l.prompt(), limit, 0)
	offset := l.inText(beforeLast(r.Body, r.Trim))
	if err != nil || !fitted.Over || offset == 0 {
		return l, fitted, err
	}
	counts := fitted.Counts
	fitted, err = fit.Measure(ctx, counter, l.prompt(), limit, offset)
	fitted.Counts += counts
	return l, fitted, err
}

// Counts is how large texts are.
type Counts struct {
	// Tokens of each text.
	Tokens  []int
	Backend Backend
}

// Count counts texts, each on its own. Errors: *llm.UnknownBackendError, *CountError, and those of the counter.
func (b *Builder) Count(ctx context.Context, backend string, texts []string) (Counts, error) {
	counter, identity, err := b.open(ctx, backend)
	if err != nil {
		return Counts{}, err
	}
	tokens := make([]int, len(texts))
	for i, text := range texts {
		if tokens[i], err = counter.Count(ctx, text); err != nil {
			return Counts{}, err
		}
		if err := fit.CheckCount(text, tokens[i]); err != nil {
			return Counts{}, identity.blame(err)
		}
	}
	return Counts{Tokens: tokens, Backend: identity}, nil
}

func (b *Builder) open(ctx context.Context, name string) (Counter, Backend, error) {
	counter, err := b.backends.Counter(name)
	if err != nil {
		return nil, Backend{}, err
	}
	backend, err := counter.Window(ctx)
	return counter, backend, err
}
