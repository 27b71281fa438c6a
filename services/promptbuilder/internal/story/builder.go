package story

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// Defaults stand in for what a request leaves open.
type Defaults struct {
	// MaxTokens are kept free for the answer, IdeaTokens and AutocompleteTokens in the modes of these names.
	MaxTokens, IdeaTokens, AutocompleteTokens int
	// Rating is one of the ratings.
	Rating string
	// Slack is in percent.
	Slack int
	// Presets are those that a request may name, in each of which Check finds nothing wrong.
	Presets map[string]Preset
}

// Memories remember what lines cost.
type Memories interface {
	// Of is the memory of what cuts text into the same tokens.
	Of(tokenizer string) fit.Memory
}

// maxTokens are kept free for the answer of a mode.
func (d Defaults) maxTokens(mode Mode) int {
	switch mode {
	case Idea:
		return d.IdeaTokens
	case Autocomplete:
		return d.AutocompleteTokens
	}
	return d.MaxTokens
}

// Builder makes prompts. Safe for concurrent use; between calls it keeps what lines cost, and nothing else.
type Builder struct {
	backends Backends
	defaults Defaults
	memories Memories
	// bytesEach is how many bytes of a body are looked at for each token of the limit, to begin with.
	bytesEach int
}

// NewBuilder makes a Builder over model servers. Without memories it keeps nothing.
func NewBuilder(backends Backends, memories Memories, defaults Defaults) *Builder {
	return &Builder{backends: backends, defaults: defaults, memories: memories, bytesEach: bytesEach}
}

// Build makes the prompt of a request in which Check finds nothing wrong. Errors: *llm.UnknownBackendError, *llm.BudgetError
// (before anything is counted), *llm.OverflowError, and *llm.Error, which says what was tried where a count failed.
func (b *Builder) Build(ctx context.Context, r Request) (Prompt, error) {
	r.MaxTokens = cmp.Or(r.MaxTokens, b.defaults.maxTokens(r.Mode))
	r.Work.Rating = cmp.Or(r.Work.Rating, b.defaults.Rating)
	if r.Slack == nil {
		r.Slack = &b.defaults.Slack
	}
	var asked tally
	ctx = llm.OnCount(ctx, asked.add)
	counter, backend, err := b.open(ctx, r.Backend)
	if err != nil {
		return Prompt{}, err
	}
	limit := backend.Window - r.MaxTokens
	if limit <= 0 {
		return Prompt{}, &llm.BudgetError{Window: backend.Window, MaxTokens: r.MaxTokens}
	}
	d := newDraws(r)
	p := Prompt{Limit: limit, MaxTokens: r.MaxTokens, Rating: r.Work.Rating, Seed: r.Seed, Wrapping: r.Wrapping.resolve(), Slack: *r.Slack, Held: r.held(), Backend: backend}
	if r.Sampler == All {
		p.Combinations, p.Some = d.combinations()
	}
	drawn, picks := d.settle()
	blockFence := drawn.guard(&d)
	p.Picks, p.Warnings = picks, d.warnings
	c := cutter{counter: counter, request: drawn, frame: frame{fence: blockFence}, limit: limit, reach: b.bytesEach * limit}
	if b.memories != nil && !counter.Local() {
		c.memory = b.memories.Of(backend.tokenizer())
	}
	if err := p.fit(ctx, c); err != nil {
		return Prompt{}, err
	}
	p.Counts, p.Sent = asked.counts, asked.characters
	return p, nil
}

// Unfit is what Build refuses of the backend, for a request in which Check finds something else wrong, so that its caller
// learns of all at once: *llm.UnknownBackendError or *llm.BudgetError. A server that does not tell its window refuses nothing.
func (b *Builder) Unfit(ctx context.Context, r Request) error {
	counter, err := b.backends.Counter(r.Backend)
	if err != nil || r.MaxTokens <= 0 {
		return err
	}
	backend, err := counter.Window(ctx)
	if err == nil && r.MaxTokens >= backend.Window {
		return &llm.BudgetError{Window: backend.Window, MaxTokens: r.MaxTokens}
	}
	return nil
}

// tally is what a model server was sent to count. Safe for concurrent use until it is read.
type tally struct {
	mu                 sync.Mutex
	counts, characters int
}

func (t *tally) add(characters int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts++
	t.characters += characters
}

// fit makes the text of a prompt.
func (p *Prompt) fit(ctx context.Context, c cutter) error {
	l, fitted, trimmed, err := c.cutBlocks(ctx)
	if err != nil {
		return p.Backend.blame(err)
	}
	p.Task, p.Text, p.Tokens, p.Overflow = l.task, fitted.Prompt, fitted.Size.Tokens, fitted.Over
	r := c.request
	parts := l.stretches(fitted.Offset)
	p.Blocks, p.Suffix = trimmed.tell(sizes(parts, fitted.Size)), l.begun(parts)
	if fitted.Over && r.Fit != FitNone && !r.ReturnOver {
		return p.tooLarge(r)
	}
	digest := sha256.Sum256([]byte(p.Text))
	p.Digest = hex.EncodeToString(digest[:])
	at := 0
	if fitted.Place != fit.Whole {
		at = l.inBody(fitted.Offset)
		p.Cut = l.cutOf(r.Body, at)
		p.State = l.lineState(fitted.Offset)
	}
	p.Warnings = append(p.Warnings, l.warnings(r, *p, fitted, r.Body[len(l.skipped)+at:])...)
	p.Warnings = append(p.Warnings, trimmed.warnings(r, *p)...)
	if c.counter.Estimates() {
		p.estimated()
	}
	return nil
}

// estimated says that no figure of the prompt was counted.
func (p *Prompt) estimated() {
	for i := range p.Blocks {
		p.Blocks[i].Estimated = true
	}
	p.Warnings = append(p.Warnings, Warning{TokensEstimated, "backend",
		"the tokens are estimated, rather too high than too low: with the model's vocabulary as `tokenizer` in the backends file more of the window is used"})
}

// Counts is how large texts are.
type Counts struct {
	// Tokens of each text; Estimated says that nobody counted them.
	Tokens    []int
	Estimated bool
	Backend   Backend
}

// Count counts texts, each on its own. Errors: *llm.UnknownBackendError, and *llm.Error as of Build.
func (b *Builder) Count(ctx context.Context, backend string, texts []string) (Counts, error) {
	m, err := b.Measure(ctx, backend)
	if err != nil {
		return Counts{}, err
	}
	tokens := make([]int, len(texts))
	for i, text := range texts {
		if tokens[i], err = m.Count(ctx, text); err != nil {
			return Counts{}, err
		}
	}
	return Counts{Tokens: tokens, Estimated: m.Estimates(), Backend: m.Backend}, nil
}

// Measure counts texts with one backend. It is for one request.
type Measure struct {
	// Backend is what the texts are measured with.
	Backend Backend
	counter Counter
	counts  int
}

// Measure gives that of a backend. Errors: *llm.UnknownBackendError, and *llm.Error.
func (b *Builder) Measure(ctx context.Context, backend string) (*Measure, error) {
	counter, identity, err := b.open(ctx, backend)
	if err != nil {
		return nil, err
	}
	return &Measure{Backend: identity, counter: counter}, nil
}

// Count gives the tokens of a text, BOS included where the server adds one. Errors are as of Build.
func (m *Measure) Count(ctx context.Context, text string) (int, error) {
	m.counts++
	n, err := m.counter.Count(ctx, text)
	if err == nil {
		err = fit.CheckCount(text, n)
	}
	if err != nil {
		return 0, m.Backend.blame(&fit.FailedError{Count: m.counts, Characters: utf8.RuneCountInString(text), Err: err})
	}
	return n, nil
}

// Estimates says that nobody counts, and that counts are estimates.
func (m *Measure) Estimates() bool { return m.counter.Estimates() }

// Tokenizer names what cuts texts into the same tokens.
func (m *Measure) Tokenizer() string { return m.Backend.tokenizer() }

func (b *Builder) open(ctx context.Context, name string) (Counter, Backend, error) {
	counter, err := b.backends.Counter(name)
	if err != nil {
		return nil, Backend{}, err
	}
	backend, err := counter.Window(ctx)
	return counter, backend, err
}
