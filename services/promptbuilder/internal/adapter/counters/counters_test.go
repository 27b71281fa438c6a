package counters_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/counters"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// words is a model server of which each word is a token, and that begins each text with one of its own.
type words struct{ story.Counter }

func (words) Window(context.Context) (story.Backend, error) {
	return story.Backend{Backend: "w", Window: 1000, Tokenizer: "words"}, nil
}

func (words) Count(_ context.Context, text string) (int, error) {
	return 1 + len(strings.Fields(text)), nil
}

func (words) Pieces(context.Context, string) ([]int, error) { return nil, fit.ErrNoPieces }

func (words) Estimates() bool { return false }

type servers struct{ story.Backends }

func (servers) Counter(string) (story.Counter, error) { return words{}, nil }

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

// cost is how many texts a build had counted, and their characters.
func cost(t *testing.T, b *sysprompt.Builder, r sysprompt.Request) (counts, characters int, p sysprompt.Prompt) {
	t.Helper()
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	p, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p.Counts, p.Sent, p
}

// A second build of an equal request has nothing counted, and one in which a volatile section changed that section alone.
func TestWhatDidNotChangeIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	b := sysprompt.NewBuilder(noRoots{}, counters.New(story.NewBuilder(servers{}, nil, story.Defaults{})), sysprompt.Defaults{})
	r := sysprompt.Request{Backend: "w", Locale: "en", Sections: []sysprompt.Custom{{ID: "turn", Text: "turn one", Class: sysprompt.Volatile}, {ID: "last", Text: "the end", Class: sysprompt.Volatile}}}
	for i := range 12 {
		r.Tools = append(r.Tools, sysprompt.Tool{Name: fmt.Sprint("tool", i), Summary: strings.Repeat("does things ", 10)})
	}
	for i := range 7 {
		r.Files = append(r.Files, sysprompt.File{Name: fmt.Sprint(i, ".md"), Content: []byte(strings.Repeat("rule upon rule\n", 500))})
	}
	counts, _, first := cost(t, b, r)
	if counts == 0 || first.Tokens != len(strings.Fields(first.Text)) || !first.Exact || first.Counter != "w" {
		t.Errorf("%d counts, %d tokens of %d words", counts, first.Tokens, len(strings.Fields(first.Text)))
	}
	if counts, characters, _ := cost(t, b, r); counts != 0 || characters != 0 {
		t.Errorf("the same request again: %d counts of %d characters", counts, characters)
	}
	r.Sections[0].Text = "turn number two"
	counts, characters, second := cost(t, b, r)
	// It is counted alone, for the report, and with the blank line before it, for the whole.
	if counts != 2 || characters != 2*len("turn number two")+len("\n\n") || second.Tokens != first.Tokens+1 {
		t.Errorf("one section changed: %d counts of %d characters, %d tokens", counts, characters, second.Tokens)
	}
}
