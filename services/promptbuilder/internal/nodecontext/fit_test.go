package nodecontext

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// pairs counts as tokenizers do that join what stands beside each other: two characters of a kind are one token, and a line break
// belongs to the sign before it.
type pairs struct{ tokens.Counter }

func (pairs) Count(_ context.Context, text string) (int, error) {
	n, before := 0, ' '
	for _, r := range text {
		if r == before || r == '\n' && (before == '>' || before == ':' || before == ']') || r == '[' && before == '\n' {
			before = 0
			continue
		}
		n, before = n+1, r
	}
	return n, nil
}

// ledger is a counter that keeps what it was given; what it counted before is remembered.
type ledger struct {
	tokens.Counter
	seen       map[string]bool
	characters int
}

func (l *ledger) Count(ctx context.Context, text string) (int, error) {
	if !l.seen[text] {
		l.seen[text] = true
		l.characters += passage.Characters.Size(text)
	}
	return l.Counter.Count(ctx, text)
}

// slowly fits as the rule is written (field/systemprompt-rules.md 4): everything is counted after each step.
func slowly(t tester, r Request, counter tokens.Counter) (*Draft, error) {
	t.Helper()
	d := newDraft(r)
	for {
		size, err := d.size(context.Background(), counter)
		if err != nil {
			t.Fatal(err)
		}
		if size <= r.MaxTokens {
			return d, nil
		}
		if d.shrink() == nil {
			return d, slowlyLast(t, d, counter)
		}
	}
}

// slowlyLast tries every end of the last answer, the longest first.
func slowlyLast(t tester, d *Draft, counter tokens.Counter) error {
	t.Helper()
	count := func() int {
		size, err := d.size(context.Background(), counter)
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	if n := len(d.parents); n > 0 {
		last := d.parents[n-1]
		last.Form = Cut
		for tail := passage.Characters.Size(last.node.Answer)/maxOpening + 1; tail > 0; tail-- {
			last.keep(tail)
			if count() <= d.request.MaxTokens {
				return nil
			}
		}
	}
	return &OverflowError{d.request.MaxTokens, count(), d.current != "", len(d.parents) > 0}
}

type tester interface {
	Helper()
	Fatal(args ...any)
}

// Whatever a conversation is and whatever counts it: most steps are not counted, and the text is the one that counting after each
// gives, to the byte, with the same report.
func TestPredictedAsIfCounted(t *testing.T) {
	t.Parallel()
	for name, open := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter := open(t)
			rapid.Check(t, func(t *rapid.T) {
				r := drawn(t)
				want, wantErr := slowly(t, r, counter)
				got, err := Fit(context.Background(), r, counter)
				if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
					t.Fatal(diff)
				}
				if wantErr != nil {
					return
				}
				wanted, err1 := want.Context(context.Background(), counter)
				is, err2 := got.Context(context.Background(), counter)
				if diff := cmp.Diff(wanted, is); diff != "" || err1 != nil || err2 != nil {
					t.Fatal(diff, err1, err2)
				}
			})
		})
	}
}

// A conversation far over the budget is fitted with a few counts of texts about as long as the budget, where each count is a call of a
// model server: in its first turn, and in the ones after it; and the text is the one of the rule, with every counter.
func TestCountsAreFew(t *testing.T) {
	t.Parallel()
	for name, open := range counters {
		for step, budget := range map[int]int{1: 3500, 8: defaultTokens} {
			t.Run(fmt.Sprintf("%s, %d at once, %d tokens", name, step, budget), func(t *testing.T) {
				t.Parallel()
				countsAreFew(t, open(t), step, budget)
			})
		}
	}
}

func countsAreFew(t *testing.T, counter tokens.Counter, step, budget int) {
	t.Helper()
	const nodes, refs, turns = 201, 10, 3
	r := long(nodes, 100)
	r.MaxTokens, r.TrimStep = budget, step
	for i := range r.Nodes {
		r.Nodes[i].Summary = summaryOf(i)
	}
	for i := range refs {
		n := Node{ID: id(5000 + i), Summary: summaryOf(i * 7)}
		r.Nodes, r.Refs = append(r.Nodes, n), append(r.Refs, n.ID)
	}
	l := &ledger{Counter: counter, seen: map[string]bool{}}
	for turn := range turns {
		before, characters := len(l.seen), l.characters
		got, err := Fit(context.Background(), r, l)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := newDraft(r).Text()
		counts, size := len(l.seen)-before, passage.Characters.Size(whole)
		t.Logf("turn %d: %d counts of %d characters together; the whole text has %d", turn, counts, l.characters-characters, size)
		if counts > 5 || l.characters-characters > 3*size {
			t.Errorf("turn %d: too many counts", turn)
		}
		want, _ := slowly(t, r, counter)
		wanted, _ := want.Text()
		if is, _ := got.Text(); is != wanted || got.dropped+got.droppedRefs == 0 {
			t.Fatalf("turn %d: %d nodes and %d references went, and not %d and %d", turn, got.dropped, got.droppedRefs, want.dropped, want.droppedRefs)
		}
		i := nodes + turn
		n := Node{ID: id(i), Prompt: "それから？", Answer: summaryOf(i), Summary: summaryOf(i)}
		r.Nodes, r.Path = append(r.Nodes, n), append(r.Path, n.ID)
	}
}

// The end that is kept of a long answer is found with a few counts, too.
func TestCountsOfALongAnswerAreFew(t *testing.T) {
	t.Parallel()
	for name, open := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := long(3, 0)
			r.MaxTokens = defaultTokens
			r.Nodes[2].Answer = strings.Repeat(summaryOf(2)+summaryOf(5), 1000)
			l := &ledger{Counter: open(t), seen: map[string]bool{}}
			d, err := Fit(context.Background(), r, l)
			if err != nil {
				t.Fatal(err)
			}
			end := d.last().tail
			fits, _ := d.size(context.Background(), l.Counter)
			d.last().keep(end + 1)
			over, _ := d.size(context.Background(), l.Counter)
			if len(l.seen) > 6 || l.characters > 10*maxOpening*end || fits > defaultTokens || over <= defaultTokens {
				t.Errorf("%d counts of %d characters; %d hundreds have %d tokens, and one more %d", len(l.seen), l.characters, end, fits, over)
			}
		})
	}
}

// summaryOf is a summary as people have it: in two languages, and of different lengths.
func summaryOf(i int) string {
	text := fmt.Sprintf("第%d章の港町で雨の朝に手紙を見つけ、主人公は古い地図と二つの約束を思い出した。", i)
	if i%5 == 0 {
		text = fmt.Sprintf("Chapter %d: the harbour is closed, and the letter says who kept the old map. ", i)
	}
	return strings.Repeat(text, 1+i%4)
}

// counters count in different ways; those of real models skip where these are not installed.
var counters = map[string]func(t *testing.T) tokens.Counter{
	"est-1":  func(t *testing.T) tokens.Counter { t.Helper(); return est(t) },
	"pairs":  func(t *testing.T) tokens.Counter { t.Helper(); return pairs{est(t)} },
	"chars4": func(*testing.T) tokens.Counter { c, _ := tokens.Estimate(tokens.NameChars4); return c },
	"o200k_base": func(t *testing.T) tokens.Counter {
		t.Helper()
		v, err := tokenizer.OpenAI("o200k_base")
		return opened(t, v, err)
	},
	"gemma": func(t *testing.T) tokens.Counter {
		t.Helper()
		dir := testkit.ModelDir(t)
		gemma.Do(func() { gemma.vocabulary, gemma.err = tokenizer.Open(filepath.Join(dir, "gemma.gguf")) })
		return opened(t, gemma.vocabulary, gemma.err)
	},
	"smollm2": func(t *testing.T) tokens.Counter {
		t.Helper()
		dir := testkit.ModelDir(t)
		smollm2.Do(func() { smollm2.vocabulary, smollm2.err = tokenizer.Open(filepath.Join(dir, "smollm2.gguf")) })
		return opened(t, smollm2.vocabulary, smollm2.err)
	},
}

// gemma and smollm2 are the vocabularies of the small real models, opened once: that takes seconds.
var gemma, smollm2 struct {
	sync.Once
	vocabulary *tokenizer.Tokenizer
	err        error
}

func opened(t *testing.T, v *tokenizer.Tokenizer, err error) tokens.Counter {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return vocabulary{est(t), v}
}

// Who has gone away is not worked for: no text is counted, by an estimate either.
func TestFitEndsWithItsCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(ctx, long(20, 50_000), est(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// vocabulary counts with that of a model.
type vocabulary struct {
	tokens.Counter
	*tokenizer.Tokenizer
}

func (v vocabulary) Count(_ context.Context, text string) (int, error) {
	return v.Tokenizer.Count(text, tokenizer.Options{}), nil
}
