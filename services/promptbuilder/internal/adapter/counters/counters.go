// Package counters counts the parts of prompts with the model servers of the backends file, and remembers what it counted: a part
// that did not change is not counted again.
package counters

import (
	"context"
	"crypto/sha256"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// remembered bounds what is remembered: some 100 bytes each, of a hundred prompts of a hundred parts.
const remembered = 10_000

// Counters is a sysprompt.Counters over the backends of a story.Builder. Safe for concurrent use.
type Counters struct {
	stories *story.Builder
	memory  *lru.Cache[key, int]
}

// key is a text and what cuts it into tokens.
type key struct {
	tokenizer string
	text      [sha256.Size]byte
}

// New makes Counters.
func New(stories *story.Builder) *Counters {
	memory, err := lru.New[key, int](remembered)
	if err != nil {
		panic(err) // for a size under 1 alone
	}
	return &Counters{stories, memory}
}

// Counter gives that of a backend, for one request. Errors: *llm.UnknownBackendError, and *llm.Error.
func (c *Counters) Counter(ctx context.Context, backend string) (tokens.Counter, error) {
	m, err := c.stories.Measure(ctx, backend)
	if err != nil {
		return nil, err
	}
	return &counter{measure: m, memory: c.memory}, nil
}

type counter struct {
	measure            *story.Measure
	memory             *lru.Cache[key, int]
	counts, characters int
}

func (c *counter) Name() string { return c.measure.Backend.Backend }

func (c *counter) Exact() bool { return !c.measure.Estimates() }

func (c *counter) Spent() (counts, characters int) { return c.counts, c.characters }

// Count gives the tokens of a text without the BOS that the server adds to each.
func (c *counter) Count(ctx context.Context, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	begin, err := c.count(ctx, "")
	if err != nil {
		return 0, err
	}
	n, err := c.count(ctx, text)
	return n - begin, err
}

func (c *counter) count(ctx context.Context, text string) (int, error) {
	k := key{c.Name() + "\x00" + c.measure.Tokenizer(), sha256.Sum256([]byte(text))}
	if n, ok := c.memory.Get(k); ok {
		return n, nil
	}
	n, err := c.measure.Count(ctx, text)
	if err != nil {
		return 0, err
	}
	c.counts++
	c.characters += utf8.RuneCountInString(text)
	c.memory.Add(k, n)
	return n, nil
}
