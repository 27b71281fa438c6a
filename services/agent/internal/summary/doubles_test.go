package summary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const ns = "default"

var identity = llm.Identity{Backend: "m", Kind: "fake", Address: "http://m", Model: "tale", Window: 4000, Tokenizer: "t"}

const (
	goodReply = "要約: " + ja + "\nタグ: " + tags
	badReply  = "要約はありません。"
)

type clock struct{}

func (clock) NewTimer(d time.Duration) *time.Timer { return time.NewTimer(d) }

// store is a summary.Store in memory. The source of a node is its texts, and its etag grows with each change.
type store struct {
	mu      sync.Mutex
	nodes   map[uuid.UUID]*stored
	order   []uuid.UUID
	changes chan uuid.UUID
	// listing, reading and writing, where set, may answer in place of Marked, Node and Write, or do something before.
	listing, reading, writing func() error
	watches                   int
}

type stored struct {
	summary.Node
	version int
	reply   summary.Reply
	writes  int
}

func newStore() *store {
	return &store{nodes: map[uuid.UUID]*stored{}, changes: make(chan uuid.UUID, 100)}
}

func (s *store) put(prompt, answer string) uuid.UUID {
	id := uuid.New()
	s.nodes[id] = &stored{Node: summary.Node{ID: id, Stale: true}}
	s.order = append(s.order, id)
	s.edit(id, prompt, answer)
	return id
}

// edit changes the texts of a node, as another caller does.
func (s *store) edit(id uuid.UUID, prompt, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[id]
	n.version++
	n.Prompt, n.Answer, n.Stale = prompt, answer, true
	n.Source, n.Etag = prompt+"|"+answer, fmt.Sprint(n.version)
}

// touch changes something else of a node.
func (s *store) touch(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[id]
	n.version++
	n.Etag = fmt.Sprint(n.version)
}

// of gives a node as it is.
func (s *store) of(id uuid.UUID) stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.nodes[id]
}

func (s *store) Marked(_ context.Context, _ string, _ uuid.UUID) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		if s.listing != nil {
			if err := s.listing(); err != nil {
				yield(uuid.Nil, err)
				return
			}
		}
		for _, id := range s.order {
			if s.of(id).Stale && !yield(id, nil) {
				return
			}
		}
	}
}

func (s *store) Node(_ context.Context, _ string, id uuid.UUID) (summary.Node, error) {
	if s.reading != nil {
		if err := s.reading(); err != nil {
			return summary.Node{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[id]
	if n == nil {
		return summary.Node{}, &summary.NodeError{Reason: "NODE_NOT_FOUND", Message: "there is no such node"}
	}
	return n.Node, nil
}

func (s *store) Write(ctx context.Context, _ string, n summary.Node, r summary.Reply) error {
	if s.writing != nil {
		if err := s.writing(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nodes[n.ID]
	if now.Etag != n.Etag || now.Source != n.Source {
		return summary.ErrChanged
	}
	now.version++
	now.writes++
	now.reply, now.Stale, now.Etag = r, false, fmt.Sprint(now.version)
	return nil
}

func (s *store) Changes(ctx context.Context, _ string) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		s.mu.Lock()
		s.watches++
		s.mu.Unlock()
		if !yield(uuid.Nil, nil) {
			return
		}
		for {
			select {
			case id, open := <-s.changes:
				if !open {
					yield(uuid.Nil, errors.New("the store is away"))
					return
				}
				if !yield(id, nil) {
					return
				}
			case <-ctx.Done():
				yield(uuid.Nil, ctx.Err())
				return
			}
		}
	}
}

// prompts writes `prompt|answer` and a word behind it, and counts a token for each character.
type prompts struct{ measured llm.Identity }

func (p *prompts) Text(_ context.Context, _, locale, id string, values map[string]string) (string, error) {
	switch {
	case locale == "??":
		return "", errors.New("no locale")
	case id == "summarise":
		return values["prompt"] + "|" + values["answer"], nil
	}
	return "\nagain: " + values["reason"], nil
}

func (p *prompts) Count(_ context.Context, _, _ string, texts []string) ([]int, llm.Identity, error) {
	return []int{utf8.RuneCountInString(texts[0])}, p.measured, nil
}

// model answers by a function, and remembers what it was asked.
type model struct {
	mu     sync.Mutex
	asked  []llm.Request
	at     int
	most   int
	window int
	answer func(ctx context.Context, n int, message string) (string, llm.Finish, error)
}

func (m *model) Window(context.Context) (llm.Identity, error) {
	who := identity
	if m.window != 0 {
		who.Window = m.window
	}
	return who, nil
}

func (m *model) Generate(ctx context.Context, q llm.Request) (llm.Stream, error) {
	m.mu.Lock()
	m.asked = append(m.asked, q)
	n := len(m.asked)
	m.at++
	m.most = max(m.most, m.at)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.at--
		m.mu.Unlock()
	}()
	if len(q.Messages) != 1 {
		return nil, errors.New("one message is asked for")
	}
	text, finish, err := m.answer(ctx, n, q.Messages[0].Content)
	if err != nil {
		return nil, err
	}
	if finish == "" {
		finish = llm.FinishStop
	}
	return &stream{pieces: strings.SplitAfter(text, "\n"), result: llm.Result{Finish: finish, PromptTokens: 10, AnswerTokens: 3}}, nil
}

func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// replies answers with texts, one after the other; the last one stays.
func (m *model) replies(texts ...string) {
	m.answer = func(_ context.Context, n int, _ string) (string, llm.Finish, error) {
		return texts[min(n, len(texts))-1], "", nil
	}
}

type stream struct {
	pieces []string
	result llm.Result
}

func (s *stream) Recv() (string, error) {
	if len(s.pieces) == 0 {
		return "", io.EOF
	}
	p := s.pieces[0]
	s.pieces = s.pieces[1:]
	return p, nil
}

func (s *stream) Result() llm.Result { return s.result }
func (s *stream) Close() error       { return nil }

type models struct{ *model }

func (m models) Generator(name string) (llm.Generator, error) {
	if name != "" {
		return nil, &llm.UnknownBackendError{Name: name}
	}
	return m.model, nil
}

// observer remembers what it hears.
type observer struct {
	mu          sync.Mutex
	seen        []summary.Event
	interrupted []error
}

func (o *observer) Seen(_ context.Context, _ string, e summary.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, e)
}

func (o *observer) Interrupted(_ context.Context, _ string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.interrupted = append(o.interrupted, err)
}

// rig is a service over doubles.
type rig struct {
	*testing.T
	*summary.Service
	store    *store
	prompts  *prompts
	model    *model
	observer *observer
}

func newRig(t *testing.T, change ...func(*summary.Deps)) *rig {
	r := &rig{T: t, store: newStore(), prompts: &prompts{measured: identity}, model: &model{}, observer: &observer{}}
	r.model.replies(goodReply)
	d := summary.Deps{
		Store: r.store, Prompts: r.prompts, Models: models{r.model}, Clock: clock{}, Observer: r.observer, Numbers: summary.DefaultNumbers(),
		Limits: summary.Limits{Parallel: 2, Ask: time.Minute, Store: time.Minute, Heartbeat: time.Minute},
	}
	for _, c := range change {
		c(&d)
	}
	r.Service = summary.New(d)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// build makes summaries and gives what was sent.
func (r *rig) build(ctx context.Context, q summary.Request) (sent []summary.Event, err error) {
	r.Helper()
	err = r.Build(ctx, ns, q, func(e summary.Event) error {
		sent = append(sent, e)
		return nil
	})
	return sent, err
}

// one makes the summary of all, which is one node, and gives how that ended.
func (r *rig) one() summary.Event {
	r.Helper()
	sent, err := r.build(r.Context(), summary.Request{})
	if err != nil || len(sent) != 3 || sent[0] != summary.Event(summary.Begun{Total: 1}) {
		r.Fatalf("%v, %v", sent, err)
	}
	return sent[1]
}
