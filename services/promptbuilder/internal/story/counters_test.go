package story_test

import (
	"context"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// server is a model server by rule: F1 of the cases, one BOS and one token for each code point, unless told otherwise.
type server struct {
	window int
	// blind tells no token borders.
	blind bool
	// tokens of a text that is counted without borders.
	tokens func(string) int
	err    error
	// local counts without a server.
	local  bool
	counts int
}

func runesOf(window int) *server { return &server{window: window} }

func (s *server) Counter(name string) (story.Counter, error) {
	if name != "" && name != "f1" {
		return nil, &llm.UnknownBackendError{Name: name, Known: []string{"f1"}}
	}
	return s, nil
}

func (s *server) List() []story.Listed {
	return []story.Listed{{Name: "f1", Kind: "rule", Default: true}, {Name: "f2", Kind: "rule"}}
}

func (s *server) Window(context.Context) (story.Backend, error) {
	return story.Backend{Backend: "f1", Kind: "rule", Model: "runes", Window: s.window, Tokenizer: "f1"}, s.err
}

func (s *server) Local() bool { return s.local }

func (s *server) Count(_ context.Context, text string) (int, error) {
	s.counts++
	if s.tokens != nil {
		return s.tokens(text), nil
	}
	return f1(text), nil
}

func (s *server) Pieces(_ context.Context, text string) ([]int, error) {
	if s.blind {
		return nil, fit.ErrNoPieces
	}
	s.counts++
	pieces := []int{0}
	for text != "" {
		_, n := utf8.DecodeRuneInString(text)
		pieces, text = append(pieces, n), text[n:]
	}
	return pieces, nil
}

func f1(text string) int { return 1 + utf8.RuneCountInString(text) }

func builder(s *server) *story.Builder {
	return story.NewBuilder(s, story.Defaults{MaxTokens: 250, Rating: story.RatingGeneral})
}

func build(t *testing.T, s *server, r story.Request) story.Prompt {
	t.Helper()
	if v := r.Check(); v != nil {
		t.Fatalf("the request is wrong: %v", v)
	}
	p, err := builder(s).Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
