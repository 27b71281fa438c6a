package story_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// server is a model server by rule: F1 of the cases, one BOS and one token for each code point, unless told otherwise.
type server struct {
	window int
	// blind tells no token borders.
	blind bool
	// most is how many characters a token has at the most; 。 and the like end one. Where tokens begin depends on what stands
	// before, then.
	most int
	// tokens of a text that is counted without borders.
	tokens func(string) int
	// vocabulary is a real one, instead of the rule.
	vocabulary *tokenizer.Tokenizer
	err        error
	// fails is the count that gives err; 0: asking for the window does.
	fails int
	// hangs: a count waits for the end of the call.
	hangs bool
	// bytes were counted, largest at once.
	bytes, largest int
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
	return story.Backend{Backend: "f1", Kind: "rule", Model: "runes", Window: s.window, Tokenizer: "f1"}, s.trouble(0)
}

// trouble is the error of the count that fails.
func (s *server) trouble(count int) error {
	if count == s.fails {
		return s.err
	}
	return nil
}

// note notes that a text is counted, and tells whoever wants to know where that asks a server.
func (s *server) note(ctx context.Context, text string) {
	s.counts++
	s.bytes, s.largest = s.bytes+len(text), max(s.largest, len(text))
	if !s.local {
		llm.Counted(ctx, text)
	}
}

func (s *server) Local() bool { return s.local }

func (s *server) Estimates() bool { return s.vocabulary != nil && s.vocabulary.Estimates() }

func (s *server) Count(ctx context.Context, text string) (int, error) {
	s.note(ctx, text)
	if err := s.trouble(s.counts); err != nil {
		return 0, err
	}
	if s.tokens != nil {
		return s.tokens(text), nil
	}
	if s.vocabulary != nil {
		return s.vocabulary.Count(text, tokenizer.Prompt), nil
	}
	return f1(text), nil
}

func (s *server) Pieces(ctx context.Context, text string) ([]int, error) {
	if s.blind {
		return nil, fit.ErrNoPieces
	}
	s.note(ctx, text)
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.vocabulary != nil {
		return s.vocabulary.Lengths(text, tokenizer.Prompt), nil
	}
	pieces := []int{0}
	for text != "" {
		_, n := utf8.DecodeRuneInString(text)
		for i := 1; i < s.most && n < len(text) && !strings.ContainsAny(text[:n], "。\n」"); i++ {
			_, more := utf8.DecodeRuneInString(text[n:])
			n += more
		}
		pieces, text = append(pieces, n), text[n:]
	}
	return pieces, nil
}

func f1(text string) int { return 1 + utf8.RuneCountInString(text) }

func builder(s *server) *story.Builder {
	return story.NewBuilder(s, &memories{}, story.Defaults{MaxTokens: 250, IdeaTokens: 500, AutocompleteTokens: 64, Rating: story.RatingGeneral})
}

func build(t *testing.T, s *server, r story.Request) story.Prompt {
	t.Helper()
	if v := r.Check(); v != nil {
		t.Fatalf("the request is wrong: %v", v)
	}
	return buildWith(t, builder(s), r)
}

// buildWith builds with a builder that has built before.
func buildWith(t *testing.T, b *story.Builder, r story.Request) story.Prompt {
	t.Helper()
	p, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// memories forget nothing.
type memories struct{ all sync.Map }

type lineCosts struct {
	all       *sync.Map
	tokenizer string
}

func (m *memories) Of(tokenizer string) fit.Memory { return lineCosts{&m.all, tokenizer} }

func (l lineCosts) Cost(line string) (cost int, known bool) {
	v, known := l.all.Load(l.tokenizer + line)
	cost, _ = v.(int)
	return cost, known
}

func (l lineCosts) Learn(line string, cost int) { l.all.Store(l.tokenizer+line, cost) }

// asks is what the server counts for a text.
func (s *server) asks(text string) int {
	if pieces, err := s.Pieces(context.Background(), text); err == nil {
		return len(pieces)
	}
	n, _ := s.Count(context.Background(), text)
	return n
}
