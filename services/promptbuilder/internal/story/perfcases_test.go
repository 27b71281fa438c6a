package story_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// The tests of this file are public reports about speed, by their numbers in the collection of cases. What they measure is
// counted: calls, and bytes.

func TestPerf1FewCalls(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(strings.Repeat("あ", 199)+"\n", 500)
	for name, s := range map[string]*server{"counts": {window: 8192, blind: true}, "borders": {window: 8192}, "local": {window: 8192, local: true}} {
		b := builder(s)
		for turn := range 4 {
			s.counts = 0
			p, err := b.Build(t.Context(), story.Request{Body: body + strings.Repeat("今日も雨。\n", turn)})
			if err != nil {
				t.Fatal(err)
			}
			if turn > 0 && s.counts > 2 {
				t.Errorf("%s, turn %d: %d calls, %d told", name, turn, s.counts, p.Counts)
			}
		}
	}
	// A server that hangs: the build ends with the caller's deadline.
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	s := &server{window: 8192, hangs: true}
	if _, err := builder(s).Build(ctx, story.Request{Body: body}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestPerf4EachByteOnce(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(strings.Repeat("あ", 39)+"\n", 2000)
	s := runesOf(300*40 + 250)
	p := build(t, s, story.Request{Body: body})
	// The kept text is counted to learn where its tokens begin, and once more to be sure: never what is dropped.
	if kept := len(p.Text); s.bytes > 5*kept/2 || s.bytes > len(body)*11/10 {
		t.Errorf("%d bytes were counted for a prompt of %d and a text of %d", s.bytes, kept, len(body))
	}
	if line := 40; p.Limit-p.Tokens >= line {
		t.Errorf("%d of %d tokens: another line has room", p.Tokens, p.Limit)
	}
}

func TestPerf5AZeroIsNoCount(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("あ", 200_000/len("あ"))
	s := &server{window: 8192, blind: true, tokens: func(text string) int {
		if len(text) >= len(body) { // the server's fault, in bytes for once
			return 0
		}
		return f1(text)
	}}
	_, err := builder(s).Build(t.Context(), story.Request{Body: body, MaxTokens: 1024, Fit: story.FitNone})
	var wrong *llm.Error
	if !errors.As(err, &wrong) || wrong.Fault != llm.FaultCount || errors.As(err, new(*llm.OverflowError)) {
		t.Errorf("error %v, want that of a count", err)
	}
	if p := build(t, s, story.Request{Body: body, MaxTokens: 1024}); p.Cut == nil || p.Tokens == 0 || f1(p.Text) > 8192-1024 {
		t.Errorf("%d tokens told of %d, cut %+v", p.Tokens, f1(p.Text), p.Cut)
	}
}
