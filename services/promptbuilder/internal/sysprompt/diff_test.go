package sysprompt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// some draws a few of a list.
func some[T any](t *rapid.T, label string, list ...T) (all []T) {
	for _, x := range list {
		if rapid.Bool().Draw(t, label) {
			all = append(all, x)
		}
	}
	return all
}

// drawn is a request that has much in common with another one that is drawn.
func drawn(t *rapid.T) Request {
	text := rapid.SampledFrom([]string{"a", "b", "a\nb", "あ"})
	class := rapid.SampledFrom([]Class{Unset, Stable, Session, Volatile})
	r := Request{
		Locale: rapid.SampledFrom([]string{"ja", "en"}).Draw(t, "locale"), Mode: rapid.SampledFrom([]Mode{Full, Full, Minimal, None}).Draw(t, "mode"),
		Tools: append(some(t, "tool", Tool{Name: "a"}, Tool{Name: "b", Summary: "x"}, Tool{Name: "c"}), Tool{Name: "read"}),
		Zone:  rapid.SampledFrom([]string{"", "UTC", "Asia/Tokyo"}).Draw(t, "zone"), Reasoning: Reasoning{Level: text.Draw(t, "level")},
		Exclude: some(t, "exclude", idFiles, idSkills, "tooling"), ReaderTool: rapid.SampledFrom([]string{"", "a"}).Draw(t, "reader"),
	}
	for _, name := range some(t, "skill", "x", "y", "z") {
		r.Skills = append(r.Skills, Skill{Name: name, Description: text.Draw(t, "description"), Location: "/" + name})
	}
	for _, name := range some(t, "file", "AGENTS.md", "MEMORY.md", "f.md") {
		r.Files = append(r.Files, File{Name: name, Content: []byte(text.Draw(t, "content")), Class: class.Draw(t, "class")})
	}
	for _, id := range some(t, "section", "own", "house", "heartbeats", "workspace", "runtime") {
		c := Custom{ID: id, Text: text.Draw(t, "text"), Heading: rapid.SampledFrom([]string{"", "H", "I"}).Draw(t, "heading")}
		if !builtIn(id) {
			c.Order, c.Class = rapid.IntRange(0, 2).Draw(t, "order"), class.Draw(t, "class")
		}
		r.Sections = append(r.Sections, c)
	}
	if rapid.Bool().Draw(t, "context") {
		n := nodecontext.Request{NoDetails: rapid.Bool().Draw(t, "no details"), Seed: rapid.Bool().Draw(t, "seed")}
		for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
			n.Nodes = append(n.Nodes, nodecontext.Node{ID: fmt.Sprintf("0196b2c4-1111-7aaa-8bbb-%012d", i), Prompt: text.Draw(t, "prompt"), Summary: "s"})
			n.Path = append(n.Path, n.Nodes[i].ID)
		}
		r.Context = &n
	}
	return r
}

// altered is a request that differs from another one in some fields.
func altered(t *rapid.T, r Request) Request {
	other := drawn(t)
	takes := []func(){
		func() { r.Locale, r.Mode = other.Locale, other.Mode }, func() { r.Tools, r.ReaderTool = other.Tools, other.ReaderTool },
		func() { r.Skills = other.Skills }, func() { r.Files = other.Files }, func() { r.Sections = other.Sections },
		func() { r.Zone, r.Reasoning, r.Exclude = other.Zone, other.Reasoning, other.Exclude },
		func() {
			if r.Context != nil && other.Context != nil {
				other.Context.Nodes, other.Context.Path = r.Context.Nodes, r.Context.Path
			}
			r.Context = other.Context
		},
	}
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		rapid.SampledFrom(takes).Draw(t, "change")()
	}
	return r
}

// Whatever changed between two builds: the bytes that are promised to be equal are, without the old text as many at most as with it, and
// the first change is told where there is one.
func TestDiffOfAnyTwo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawn(t)
		b := altered(t, a)
		old := build(t, a)
		common := 0
		b.Previous = &Previous{Sections: old.Sections, Version: Version}
		p := build(t, b)
		for common < min(len(p.Text), len(old.Text)) && p.Text[common] == old.Text[common] {
			common++
		}
		low := p.Diff
		b.Previous.Text = old.Text
		exact := build(t, b).Diff
		if low.Prefix > common || exact.Prefix != common || !exact.Exact || low.Section != exact.Section || low.Part != exact.Part || low.OtherVersion {
			t.Fatalf("%d bytes are equal: %+v without the text, %+v with it", common, low, exact)
		}
		same := slices.EqualFunc(p.Sections, old.Sections, func(x, y Section) bool { return x.ID == y.ID && x.Digest == y.Digest })
		if (low.Reason == "") != same || same && p.Text != old.Text {
			t.Fatalf("the same sections: %v, %+v", same, low)
		}
		if len(p.Text) > 0 && exact.Permille != 1000*common/len(p.Text) {
			t.Fatalf("%+v", exact)
		}
	})
}

// vocabulary counts with a real one.
type vocabulary struct{ *tokenizer.Tokenizer }

func (vocabulary) Name() string { return "o200k_base" }

func (vocabulary) Exact() bool { return true }

func (vocabulary) Spent() (counts, characters int) { return 0, 0 }

func (v vocabulary) Count(_ context.Context, text string) (int, error) {
	return v.Tokenizer.Count(text, tokenizer.Prompt), nil
}

// vocabularies has one for every backend.
type vocabularies struct{ vocabulary }

func (v vocabularies) Counter(context.Context, string) (tokens.Counter, error) {
	return v.vocabulary, nil
}

// cases/systemprompt.md 34: by a real vocabulary sections add up to the whole, but for one token at each place where they are joined.
func TestSystemprompt34SectionsAddUp(t *testing.T) {
	t.Parallel()
	o200k, err := tokenizer.OpenAI("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	r := everything()
	r.Backend = "any"
	r.Files = append(r.Files, File{Name: "IDENTITY.md", Content: []byte(strings.Repeat("規則を守る。", 100))}, File{Name: "TOOLS.md", Content: []byte("Use tools with care.\n")})
	b := NewBuilder(folders{}, vocabularies{vocabulary{o200k}}, Defaults{})
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	p, err := b.Build(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	sum, joins, whole := 0, len(p.Sections)-1, o200k.Count(p.Text, tokenizer.Prompt)
	for _, s := range p.Sections {
		if n := o200k.Count(p.Text[s.Start:s.End], tokenizer.Prompt); s.Tokens != n {
			t.Errorf("%s has %d tokens, not %d", s.ID, n, s.Tokens)
		}
		sum += s.Tokens
	}
	if !p.Exact || p.Counter != "o200k_base" || whole < sum-joins || whole > sum+joins || p.Tokens < whole-joins || p.Tokens > whole+joins {
		t.Errorf("%d tokens at once, %d told, %d in %d sections, by %s", whole, p.Tokens, sum, len(p.Sections), p.Counter)
	}
}
