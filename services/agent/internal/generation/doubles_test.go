package generation_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const ns = "default"

var identity = llm.Identity{Backend: "m", Kind: "fake", Address: "http://m", Model: "tale", Window: 1000, Tokenizer: "t"}

// clock is package time; inside a synctest bubble its time is the bubble's.
type clock struct{}

func (clock) Now() time.Time                                  { return time.Now() }
func (clock) NewTimer(d time.Duration) *time.Timer            { return time.NewTimer(d) }
func (clock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

type dice struct{}

func (dice) ID() uuid.UUID { return uuid.New() }

// observer remembers the ends.
type observer struct {
	mu    sync.Mutex
	began int
	ends  []generation.Outcome
	fault []error
}

func (o *observer) Fault(_ context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fault = append(o.fault, err)
}

func (o *observer) Began(context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began++
}

func (o *observer) Ended(_ context.Context, e generation.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends = append(o.ends, e)
}

func (o *observer) ended() []generation.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.ends)
}

// flows is a store in memory. fault, where set, may answer for Add.
type flows struct {
	mu      sync.Mutex
	story   generation.Story
	nodes   map[uuid.UUID]generation.Node
	parents map[uuid.UUID][]uuid.UUID
	order   []uuid.UUID
	adds    []generation.Addition
	fault   func(ctx context.Context) error
	problem map[uuid.UUID]string
}

var errNoFlow = errors.New("no such flow")

func newFlows() *flows {
	return &flows{nodes: map[uuid.UUID]generation.Node{}, parents: map[uuid.UUID][]uuid.UUID{}, problem: map[uuid.UUID]string{}}
}

// put stores a node with texts given as role, content, role, content, and gives its id.
func (f *flows) put(parents []uuid.UUID, texts ...string) uuid.UUID {
	n := generation.Node{ID: uuid.New()}
	for i := 0; i < len(texts); i += 2 {
		n.Texts = append(n.Texts, generation.NodeText{Role: texts[i], Content: texts[i+1]})
	}
	f.nodes[n.ID], f.parents[n.ID] = n, parents
	f.order = append(f.order, n.ID)
	return n.ID
}

// lose takes a node away, as if it had never been stored.
func (f *flows) lose(id uuid.UUID) {
	delete(f.nodes, id)
	f.order = slices.DeleteFunc(f.order, func(other uuid.UUID) bool { return other == id })
}

func (f *flows) Node(_ context.Context, _ string, id uuid.UUID) (generation.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.nodes[id]
	if !ok {
		return n, generation.ErrNoNode
	}
	return n, nil
}

func (f *flows) Story(_ context.Context, _ string, flow uuid.UUID) (generation.Story, error) {
	if flow == uuid.Nil {
		return generation.Story{}, errNoFlow
	}
	return f.story, nil
}

func (f *flows) Path(_ context.Context, _ string, _, node uuid.UUID) iter.Seq2[generation.PathNode, error] {
	return func(yield func(generation.PathNode, error) bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		before := map[uuid.UUID]bool{}
		f.ancestors(node, before)
		if len(before) == 0 {
			yield(generation.PathNode{}, errNoFlow)
			return
		}
		for _, id := range f.order {
			n := generation.PathNode{ID: id, Parents: f.parents[id], Texts: f.nodes[id].Texts, Problem: f.problem[id], File: id.String() + ".xml"}
			if before[id] && !yield(n, nil) {
				return
			}
		}
	}
}

func (f *flows) ancestors(id uuid.UUID, into map[uuid.UUID]bool) {
	if _, ok := f.nodes[id]; !ok || into[id] {
		return
	}
	into[id] = true
	for _, p := range f.parents[id] {
		f.ancestors(p, into)
	}
}

func (f *flows) Add(ctx context.Context, _ string, a generation.Addition) (generation.Node, error) {
	if f.fault != nil {
		if err := f.fault(ctx); err != nil {
			return generation.Node{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.nodes[a.Node.ID]; ok {
		return generation.Node{}, generation.ErrTaken
	}
	n := a.Node
	n.Created = time.Now()
	f.adds = append(f.adds, a)
	f.nodes[n.ID], f.parents[n.ID] = n, []uuid.UUID{a.Parent}
	f.order = append(f.order, n.ID)
	return n, nil
}

func (f *flows) added() []generation.Addition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.adds)
}

// prompts builds `<title>body` and counts one token for each character.
type prompts struct {
	mu       sync.Mutex
	builds   []generation.BuildRequest
	measured func(build int) llm.Identity
	stop     []string
	sampling llm.Sampling
	overflow *llm.OverflowError
	// combinations are those of a build that asks for all; more says that they are not.
	combinations [][]generation.Pick
	more         bool
	// wait is how long a build takes.
	wait time.Duration
	err  error
	// waitFor, where set, says it for each.
	waitFor func(q generation.BuildRequest) time.Duration
}

func (p *prompts) identity() llm.Identity {
	if p.measured != nil {
		return p.measured(len(p.builds))
	}
	return identity
}

func (p *prompts) Build(ctx context.Context, _ string, q generation.BuildRequest) (generation.Built, error) {
	p.mu.Lock()
	p.builds = append(p.builds, q)
	p.mu.Unlock()
	wait := p.wait
	if p.waitFor != nil {
		wait = p.waitFor(q)
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return generation.Built{}, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return generation.Built{}, p.err
	}
	title := ""
	if q.Story.Title != nil {
		title = *q.Story.Title
	}
	prompt := "<" + title + ">" + q.Body
	picks := []generation.Pick{{Field: "story.note", Group: 0, Options: []int{1}, Text: "雨"}}
	if q.Picks != nil {
		picks = q.Picks
	}
	all, more := p.combinations, p.more
	if !q.All {
		all, more = nil, false
	}
	return generation.Built{
		Prompt: prompt, Suffix: len([]rune(q.Body)), Digest: "digest of " + prompt, Task: "CONT_INFO", Tokens: len([]rune(prompt)),
		MaxTokens: cmp.Or(q.MaxTokens, 500), Overflow: p.overflow,
		Picks: picks, Combinations: all, More: more, Stop: p.stop, Sampling: p.sampling, Measured: p.identity(),
	}, nil
}

func (p *prompts) Count(_ context.Context, _, _ string, texts []string) (counts []int, _ llm.Identity, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range texts {
		counts = append(counts, len([]rune(text)))
	}
	return counts, p.identity(), p.err
}

// step is what the model does next: wait, then say a piece or fail. Without text and error it ends.
type step struct {
	wait time.Duration
	text string
	err  error
	// late: it fails with model.late, where that is set by then, else it says nothing.
	late bool
}

// model answers with the same steps each time.
type model struct {
	mu       sync.Mutex
	steps    []step
	startErr error
	result   llm.Result
	requests []llm.Request
	// late is the failure of the steps that are late.
	late error
	// fail, where set, gives the steps of a request instead; nil: the usual ones.
	fail   func(llm.Request) []step
	window func() (llm.Identity, error)
	// place is how long a request waits for a free place.
	place time.Duration
	// asks, where set, gives the tools that the answer to a request calls.
	asks func(llm.Request) []llm.ToolCall
	// without are the knobs that it does not have.
	without []llm.Knob
	// toolless: it takes no tools.
	toolless bool
}

func says(pieces ...string) *model {
	m := &model{result: llm.Result{
		Finish: llm.FinishStop, PromptTokens: 7, CachedTokens: 3, CacheTold: true, AnswerTokens: len(pieces),
		PromptTime: time.Second, AnswerTime: 2 * time.Second,
	}}
	for _, p := range pieces {
		m.steps = append(m.steps, step{text: p})
	}
	m.steps = append(m.steps, step{})
	return m
}

func (m *model) Generator(name string) (llm.Generator, error) {
	if name == "nobody" {
		return nil, &llm.UnknownBackendError{Name: name, Known: []string{"m"}}
	}
	return m, nil
}

// Tells implements llm.Teller: the double takes all that there is.
func (m *model) Tells() llm.Told {
	m.mu.Lock()
	defer m.mu.Unlock()
	return llm.Told{Conversations: true, Tools: !m.toolless}
}

func (m *model) Kind(string) string { return "fake" }

// Knobs are all but those in without.
func (m *model) Knobs() []llm.Knob {
	return slices.DeleteFunc(llm.Knobs(everyKnob()), func(k llm.Knob) bool { return slices.Contains(m.without, k) })
}

func (m *model) Window(context.Context) (llm.Identity, error) {
	if m.window != nil {
		return m.window()
	}
	return identity, nil
}

func (m *model) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	time.Sleep(m.place)
	llm.Sent(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if m.startErr != nil {
		return nil, m.startErr
	}
	steps := m.steps
	if m.fail != nil {
		if own := m.fail(req); own != nil {
			steps = own
		}
	}
	result := m.result
	if m.asks != nil {
		result.Calls = m.asks(req)
	}
	return &stream{ctx: ctx, m: m, steps: steps, result: result}, nil
}

// mend changes the model while it answers.
func (m *model) mend(change func(*model)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *model) lateError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late
}

func (m *model) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

type stream struct {
	ctx   context.Context
	m     *model
	steps []step
	at    int
	done  bool
	// result is that of the whole answer.
	result llm.Result
}

func (s *stream) Recv() (string, error) {
	if err := s.ctx.Err(); err != nil {
		return "", &llm.Error{Fault: llm.FaultCancelled, Message: "cancelled", Err: err}
	}
	next := s.steps[s.at]
	s.at++
	if next.wait > 0 {
		select {
		case <-time.After(next.wait):
		case <-s.ctx.Done():
			return "", &llm.Error{Fault: llm.FaultCancelled, Message: "cancelled", Err: s.ctx.Err()}
		}
	}
	if next.late {
		if err := s.m.lateError(); err != nil {
			return "", err
		}
		return s.Recv()
	}
	if next.err == nil && next.text == "" {
		s.done = true
		return "", io.EOF
	}
	return next.text, next.err
}

func (s *stream) Result() llm.Result {
	if s.done {
		return s.result
	}
	return llm.Result{}
}

func (*stream) Close() error { return nil }

// world is a Service and what it stands on.
type world struct {
	*generation.Service
	t        *testing.T
	flows    *flows
	prompts  *prompts
	contexts *contexts
	model    *model
	observer *observer
	flow     uuid.UUID
}

func newWorld(t *testing.T, m *model, change ...func(*generation.Limits)) *world {
	w := &world{t: t, flows: newFlows(), prompts: &prompts{}, contexts: &contexts{}, model: m, flow: uuid.New()}
	w.restart(change...)
	return w
}

// restart is a new process over the same store.
func (w *world) restart(change ...func(*generation.Limits)) {
	limits := generation.DefaultLimits()
	for _, c := range change {
		c(&limits)
	}
	w.observer = &observer{}
	s := generation.New(generation.Deps{
		Flows: w.flows, Prompts: w.prompts, Contexts: w.contexts, Models: w.model,
		Clock: clock{}, Random: dice{}, Observer: w.observer, Limits: limits,
	})
	w.Service = s
	w.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			w.t.Errorf("Close: %v", err)
		}
	})
}

func (w *world) request(text string) generation.Request {
	return generation.Request{ID: uuid.New(), Flow: w.flow, Text: text}
}

// generate begins a generation with a watcher that stays until the test ends.
func (w *world) generate(req generation.Request) *generation.View {
	w.t.Helper()
	v, err := w.Generate(w.t.Context(), ns, req)
	if err != nil {
		w.t.Fatalf("Generate: %v", err)
	}
	return v
}

// reading is all that a watcher read.
type reading struct {
	opened     *generation.Opened
	text       string
	events     int
	last       int
	heartbeats int
	joined     int
	details    []generation.Detail
	stored     *generation.Stored
	err        error
}

// read reads a view to its end and detaches. It checks what holds for every watcher.
func (w *world) read(v *generation.View, after int) reading {
	w.t.Helper()
	defer v.Close()
	r := reading{last: after}
	var text strings.Builder
	for {
		e, err := v.Next(w.t.Context())
		if err != nil {
			r.text = text.String()
			if !errors.Is(err, generation.ErrEnd) {
				r.err = err
			}
			return r
		}
		if (r.opened == nil) != isOpened(e) {
			w.t.Fatalf("event %T: exactly the first event of a stream is Opened", e)
		}
		r.take(w.t, e, &text)
	}
}

func isOpened(e generation.Event) bool { _, is := e.(generation.Opened); return is }

func (r *reading) take(t *testing.T, e generation.Event, text *strings.Builder) {
	t.Helper()
	r.events++
	switch e := e.(type) {
	case generation.Opened:
		r.opened = &e
	case generation.Text:
		if e.ID <= r.last {
			t.Errorf("event %d came after event %d", e.ID, r.last)
		}
		r.last = e.ID
		text.WriteString(e.Text)
	case generation.Detail:
		if e.ID != r.last+1 {
			t.Errorf("Detail has id %d after %d", e.ID, r.last)
		}
		r.last = e.ID
		r.details = append(r.details, e)
	case generation.Heartbeat:
		r.heartbeats++
	case generation.Lagged:
		r.joined += e.Joined
	case generation.Stored:
		if !e.Replayed && e.ID != r.last+1 {
			t.Errorf("Stored has id %d after %d", e.ID, r.last)
		}
		r.stored = &e
	}
}

func equal(a, b generation.Record) bool { return reflect.DeepEqual(a, b) }
