package sysprompt_test

import (
	"context"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt/prefixtest"
)

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

// system builds without a backend: what prompts hold does not depend on what counts them.
func system(r sysprompt.Request) (sysprompt.Prompt, error) {
	b := sysprompt.NewBuilder(noRoots{}, nil, sysprompt.Defaults{})
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		panic(wrong)
	}
	return b.Build(context.Background(), r)
}

// played plays the sessions of an agent through caches that are kept here, on the tokens of a real vocabulary.
type played struct {
	vocabulary *tokenizer.Tokenizer
	tokens     map[string][]int32 // of texts that were cut before: the prompts are the same for each cache
}

func play(t *testing.T) *played {
	t.Helper()
	vocabulary, err := tokenizer.OpenAI("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	return &played{vocabulary, map[string][]int32{}}
}

func (p *played) cut(text string) []int32 {
	ids, ok := p.tokens[text]
	if !ok {
		ids = p.vocabulary.Append(nil, text, tokenizer.Prompt)
		p.tokens[text] = ids
	}
	return ids
}

func (p *played) through(t *testing.T, cache prefixtest.Cache, arm prefixtest.Arm, event prefixtest.Event) prefixtest.Tally {
	t.Helper()
	size := prefixtest.Real()
	size.Sessions = 2
	tally, err := prefixtest.Play(size, arm, event, prefixtest.NewSimulator(cache, p.cut))
	if err != nil {
		t.Fatal(err)
	}
	return tally
}

// What is not edited stays: midnight, tools in another order and another channel leave the part above the boundary as it is,
// and a server that keeps the beginning of prompts has it in every turn.
func TestWhatHappensInASessionMovesNothingStable(t *testing.T) {
	t.Parallel()
	p := play(t)
	for _, event := range []prefixtest.Event{prefixtest.None, prefixtest.Midnight, prefixtest.Shuffle, prefixtest.Channel} {
		tally := p.through(t, prefixtest.Caches()[0], prefixtest.Ours(system), event)
		if tally.Digests != 1 || tally.Held != tally.Turns || tally.Lost > 0 {
			t.Errorf("%s: %d stable parts; of %d turns %d have that of the turn before, which was lost in %d", event, tally.Digests, tally.Turns, tally.Held, tally.Lost)
		}
		if event != prefixtest.Channel && tally.Again > tally.Turns { // A token a turn may be cut in another way.
			t.Errorf("%s: %d tokens are read again in %d turns", event, tally.Again, tally.Turns)
		}
	}
}

// Over everything that happens in sessions, a server reads again at most a quarter of what the sample of seed 003 makes it
// read, whichever way it keeps prompts.
func TestAQuarterOfTheSampleIsReadAgain(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	p := play(t)
	for i, cache := range prefixtest.Caches() {
		var ours, sample prefixtest.Tally
		for _, event := range prefixtest.Events() {
			o, s := p.through(t, cache, prefixtest.Ours(system), event), p.through(t, cache, prefixtest.Sample(), event)
			t.Logf("%s, %s: %d tokens read again, of the sample %d; prompts of %d and %d", cache.Name, event, o.Again, s.Again, o.Tokens/o.Turns, s.Tokens/s.Turns)
			ours.Add(o)
			sample.Add(s)
		}
		if ours.Again == 0 || 4*ours.Again > sample.Again {
			t.Errorf("%s: %d tokens are read again, of the sample %d", cache.Name, ours.Again, sample.Again)
		}
		if i == 0 && ours.Lost > 0 { // The others keep no part of a block.
			t.Errorf("%s: the stable part was lost %d times", cache.Name, ours.Lost)
		}
	}
}
