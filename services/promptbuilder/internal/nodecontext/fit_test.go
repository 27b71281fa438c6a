package nodecontext

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
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
	est1, _ := tokens.Estimate(tokens.NameEst1)
	chars4, _ := tokens.Estimate(tokens.NameChars4)
	all := map[string]tokens.Counter{"est-1": est1, "chars4": chars4, "pairs": pairs{est1}}
	o200k, err := tokenizer.OpenAI("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	all["o200k_base"] = vocabulary{est1, o200k}
	for name, counter := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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

// The most that AgentService.BuildNodeContext takes is cut to the default budget with each line counted once and the whole a few
// times, where each of its 175 steps counted the whole; and a turn later only what is new is counted again.
func TestCountsAreFew(t *testing.T) {
	t.Parallel()
	const ancestors, refs = 1000, 50
	r := long(ancestors+1, 100)
	most := ancestors
	r.Ancestors, r.MaxTokens = &most, defaultTokens
	for i := range r.Nodes {
		r.Nodes[i].Summary = strings.Repeat(fmt.Sprintf("港町%d。", i), 30)
	}
	for i := range refs {
		n := Node{ID: id(5000 + i), Summary: strings.Repeat(fmt.Sprintf("参照%d。", i), 30)}
		r.Nodes, r.Refs = append(r.Nodes, n), append(r.Refs, n.ID)
	}
	l := &ledger{Counter: est(t), seen: map[string]bool{}}
	whole, _ := newDraft(r).Text()
	fitted := func() int {
		before := len(l.seen)
		if _, err := Fit(context.Background(), r, l); err != nil {
			t.Fatal(err)
		}
		return len(l.seen) - before
	}
	if n := fitted(); n > ancestors+refs+10 || n < ancestors/2 || l.characters > 2*passage.Characters.Size(whole) {
		t.Errorf("%d counts of %d characters together, and the text has %d", n, l.characters, passage.Characters.Size(whole))
	}
	r.Nodes = append(r.Nodes, Node{ID: id(9000), Prompt: "more", Answer: "yes"})
	r.Path = append(r.Path, id(9000))
	if n := fitted(); n > 10 {
		t.Errorf("%d counts a turn later", n)
	}
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
