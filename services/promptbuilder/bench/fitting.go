package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/models"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// The task: Japanese text of 42,000 characters into 6,000 tokens.
const (
	characters = 42_000
	limit      = 6_000
	answer     = 250
)

// The loop of the peer cuts so many characters at a time, and begins so many before its guess.
const (
	peerStep   = 100
	peerOffset = 4000
)

// local is a model server that counts here.
type local struct{ vocabulary *tokenizer.Tokenizer }

func (l local) Counter(string) (story.Counter, error) { return l, nil }

func (local) List() []story.Listed { return nil }

func (local) Local() bool { return true }

func (local) Estimates() bool { return false }

func (local) Window(context.Context) (story.Backend, error) {
	return story.Backend{Backend: "local", Kind: "local", Window: limit + answer}, nil
}

func (l local) Count(_ context.Context, text string) (int, error) {
	return l.vocabulary.Count(text, tokenizer.Prompt), nil
}

func (l local) Pieces(_ context.Context, text string) ([]int, error) {
	return l.vocabulary.Lengths(text, tokenizer.Prompt), nil
}

// builder makes prompts that are counted with the vocabulary of the rows.
func builder() (*story.Builder, *tokenizer.Tokenizer, error) {
	v, err := tokenizer.OpenAI(encoding)
	return story.NewBuilder(local{v}, nil, story.Defaults{MaxTokens: answer, Rating: story.RatingGeneral}), v, err
}

// build gives the milliseconds of one BuildStory of a body.
func build(b *story.Builder, body string) func() (float64, error) {
	return func() (float64, error) {
		var wrong error
		ms := 1000 * each(func() {
			if _, err := b.Build(context.Background(), story.Request{Body: body}); err != nil {
				wrong = err
			}
		})
		return ms, wrong
	}
}

// fitting compares a whole BuildStory with the loop of the seed, on the same vocabulary.
func fitting() (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: fmt.Sprintf("fitting %d characters of Japanese into %d tokens", characters, limit), Peer: "the loop of seed 000", Unit: "times a second",
		Goal: benchtable.AtLeast(15),
	}
	ours, vocabulary, err := builder()
	if err != nil {
		return row, err
	}
	body := string([]rune(prose(japanese, "", 4*characters))[:characters])
	loop := peer.Loop{
		Count: func(text string) int { return vocabulary.Count(text, tokenizer.Prompt) },
		Build: func(body string) string {
			return "[INST]続きを書いてください。\n【本文】\n```\n" + body + "\n```\n[/INST]"
		},
		Step: peerStep, Offset: peerOffset,
	}
	p, err := ours.Build(context.Background(), story.Request{Body: body})
	if err != nil {
		return row, err
	}
	prompt, counts := loop.Fit(body, limit)
	asked, err := askedBy(body)
	if err != nil {
		return row, err
	}
	used := benchtable.AtLeast(99.5)
	whole := benchtable.AtMost(100)
	none := benchtable.AtMost(0)
	share := 100 * float64(p.Tokens) / limit
	row.Facts = []benchtable.Fact{
		{Name: "percent of the limit that ours uses", Figure: share, Goal: &used},
		{Name: "and is not over it", Figure: share, Goal: &whole},
		{Name: "percent that the loop uses", Figure: 100 * float64(vocabulary.Count(prompt, tokenizer.Prompt)) / limit},
		{Name: "counts that a server is asked for", Figure: float64(asked), Goal: &none},
		{Name: "counts of the loop", Figure: float64(counts)},
	}
	rate := func(f func() (float64, error)) func() (float64, error) {
		return func() (float64, error) { ms, err := f(); return 1000 / ms, err }
	}
	err = row.Measure(rate(build(ours, body)), rate(func() (float64, error) {
		return 1000 * each(func() { loop.Fit(body, limit) }), nil
	}))
	return row, err
}

// askedBy is how many texts a model server is sent for one prompt, as it sees that itself, where the backends file names the
// vocabulary.
func askedBy(body string) (texts int, err error) {
	var posted atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posted.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "m", "object": "model"}]}`)
	}))
	defer server.Close()
	set, err := backends.Parse(fmt.Appendf(nil, "default: m\nbackends:\n  m: {kind: openai, address: %q, model: m, tokenizer: %s, window: %d}\n", server.URL, encoding, limit+answer))
	if err != nil {
		return 0, err
	}
	defer set.Close() //nolint:errcheck // connections that are left alone end by themselves
	servers, err := models.New(set, "", prometheus.NewRegistry())
	if err != nil {
		return 0, err
	}
	_, err = story.NewBuilder(servers, linecosts.New(1<<20), defaults).Build(context.Background(), story.Request{Body: body})
	return int(posted.Load()), err
}

// bodySize compares a body of 1 MB with one of 100 KB: a novel costs what its end costs.
func bodySize() (benchtable.Row, error) {
	row := benchtable.Row{Ours: "a body of 1 MB", Peer: "a body of 100 KB", Unit: "ms", Goal: benchtable.AtMost(1.3)}
	ours, _, err := builder()
	if err != nil {
		return row, err
	}
	err = row.Measure(build(ours, prose(japanese, "", 1_000_000)), build(ours, prose(japanese, "", 100_000)))
	return row, err
}
