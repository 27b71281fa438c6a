package nodecontext

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

func est(t testing.TB) tokens.Counter {
	t.Helper()
	c, ok := tokens.Estimate("")
	if !ok {
		t.Fatal("no estimate")
	}
	return c
}

func fit(t testing.TB, r Request) Context {
	t.Helper()
	if wrong := Check(r); len(wrong) > 0 {
		t.Fatalf("%v", wrong)
	}
	d, err := Fit(context.Background(), r, est(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Context(context.Background(), est(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func id(n int) string { return fmt.Sprintf("0196b2c4-1111-7aaa-8bbb-0000%08x", n) }

// long is a flow of n nodes with summaries, the last with an answer of so many characters.
func long(n, answer int) Request {
	r := Request{Locale: "en", Prompt: "And now?"}
	for i := range n {
		r.Nodes = append(r.Nodes, Node{ID: id(i), Prompt: fmt.Sprint("ask ", i), Answer: fmt.Sprint("answer ", i), Summary: fmt.Sprintf("summary %d of this node of the story", i)})
		r.Path = append(r.Path, id(i))
	}
	r.Nodes[n-1].Answer = strings.Repeat("x", answer)
	return r
}

func forms(c Context) (all []Form) {
	for _, e := range c.Entries {
		all = append(all, e.Form)
	}
	return all
}

// A stale summary is never printed, a missing one is made of the beginning, and each says so.
func TestSummariesThatDoNotHold(t *testing.T) {
	t.Parallel()
	r := long(4, 10)
	r.Nodes[0].Stale, r.Nodes[1].Summary = true, ""
	c := fit(t, r)
	for _, want := range []string{"[00000000]: (opening only) ask 0 answer 0", "[00000001]: (opening only) ask 1 answer 1", "[00000002]: summary 2"} {
		if !strings.Contains(c.Text, want) {
			t.Errorf("%q is not in %s", want, c.Text)
		}
	}
	if c.Entries[0].Summary != Stale || c.Entries[1].Summary != Missing || c.Entries[2].Summary != Fresh || strings.Contains(c.Text, "summary 0") {
		t.Errorf("%v", c.Entries)
	}
}

// A summary of more than 200 characters is cut in its line, and its entry says so: not at 200, and not where the line is of other text,
// the node in full, or left out.
func TestSummariesThatAreCut(t *testing.T) {
	t.Parallel()
	r := long(6, 10)
	of := func(n int) string { return strings.Repeat("季", n) }
	for i := range r.Nodes {
		r.Nodes[i].Summary = of(201)
	}
	r.Nodes[1].Summary, r.Nodes[2].Stale = of(200), true
	r.Path, r.Refs = []string{id(0), id(1), id(2), id(3)}, []string{id(4), id(5), id(0)}
	r.MaxTokens, r.TrimStep = fit(t, r).Tokens-1, 1
	c := fit(t, r)
	var cut []bool
	for _, e := range c.Entries {
		cut = append(cut, e.SummaryCut)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, true, false, false}, cut); diff != "" || c.DroppedRefs != 1 {
		t.Errorf("%s %+v", diff, c.Entries)
	}
	if !strings.Contains(c.Text, "[00000000]: "+of(199)+"…\n") || !strings.Contains(c.Text, "[00000001]: "+of(200)+"\n") {
		t.Error(c.Text)
	}
}

// What was taken out of a text is told for each node whose text it is, and for the prompt; not of texts that are not printed.
func TestCleanedTextsAreTold(t *testing.T) {
	t.Parallel()
	r := long(4, 10)
	r.Nodes[0].Summary, r.Nodes[0].Prompt = "a\x07b", "\x07" // a line of its summary
	r.Nodes[1].Stale, r.Nodes[1].Prompt, r.Nodes[1].Summary = true, "\x07\x07ask", "\x07"
	r.Nodes[3].Prompt, r.Nodes[3].Answer, r.Nodes[3].Summary = "\ufeffask", "\xff", "\x07"
	r.Nodes = append(r.Nodes, Node{ID: id(9), Summary: "\x07ref", Tags: []string{"a", "b\x00"}}, Node{ID: id(10), Summary: "\x07gone " + strings.Repeat("季", 190)})
	r.Refs, r.Prompt = []string{id(9), id(0), id(10)}, "And\x00 now?\r\n"
	r.MaxTokens = fit(t, r).Tokens - 1
	want := []Change{
		{"flow", id(0), "summary: 1 control or tag characters are gone"},
		{"flow", id(1), "prompt: 2 control or tag characters are gone"},
		{"flow", id(3), "prompt: a byte order mark is gone; answer: 1 places with bytes that are no UTF-8 became U+FFFD"},
		{"refs", id(9), "summary: 1 control or tag characters are gone; tags: 1 control or tag characters are gone"},
		{"current", "", "1 control or tag characters are gone"},
	}
	if diff := cmp.Diff(want, fit(t, r).Changes); diff != "" {
		t.Error(diff)
	}
	r.NoCurrent = true
	if diff := cmp.Diff(want[:4], fit(t, r).Changes[:4]); diff != "" || slices.ContainsFunc(fit(t, r).Changes, func(c Change) bool { return c.Part == "current" }) {
		t.Error(diff)
	}
}

// A text of the caller that has not what the default one says is used as it is, and told.
func TestATextWithoutItsNumberIsTold(t *testing.T) {
	t.Parallel()
	r := long(4, 10)
	r.Texts = map[string]string{"context.left_out": "some are missing", "context.head": "H"}
	want := []template.Wrong{{ID: "context.left_out", Problem: "this text of the request has no {n}: what stands for it by default is not printed"}}
	if diff := cmp.Diff(want, fit(t, r).TextsWithout); diff != "" {
		t.Error(diff)
	}
}

// Without words before it a context begins with its first part, or with what the model may ask for.
func TestAnEmptiedHeadLeavesNoGap(t *testing.T) {
	t.Parallel()
	for _, seed := range []bool{false, true} {
		r := long(4, 10)
		r.Seed, r.Texts = seed, map[string]string{"context.head": "\r\n", "context.hint": ""}
		if c := fit(t, r); !strings.HasPrefix(c.Text, "1. ") || strings.Contains(c.Text, "\n\n\n") || c.Parts[0].Start != 0 {
			t.Errorf("seed %v: %q, %v", seed, c.Text, c.Parts)
		}
	}
	r := long(4, 10)
	r.Texts = map[string]string{"context.head": "", "context.hint": "Ask.\n"}
	if c := fit(t, r); !strings.HasPrefix(c.Text, "Ask.\n\n1. ") {
		t.Errorf("%q", c.Text)
	}
}

// A node with two parents has both in full, in the order of the path; a reference that is on the path, or named twice, is not repeated.
func TestParentsAndReferences(t *testing.T) {
	t.Parallel()
	r := long(4, 10)
	r.Parents = []string{id(3), id(1)}
	r.Nodes = append(r.Nodes, Node{ID: id(9), Summary: "nine", Tags: []string{" a\nb ", ""}})
	r.Refs = []string{id(9), id(0), id(9)}
	c := fit(t, r)
	if diff := cmp.Diff([]Form{Line, Full, Line, Full, Line, Repeated, Repeated}, forms(c)); diff != "" {
		t.Error(diff)
	}
	if strings.Index(c.Text, `id="00000001"`) > strings.Index(c.Text, `id="00000003"`) || !strings.Contains(c.Text, "[00000009]: nine [#a_b]") {
		t.Error(c.Text)
	}
}

// Two nodes with the same last digits are named by their whole ids, so that the model asks for the right one.
func TestShortIDsThatCollide(t *testing.T) {
	t.Parallel()
	r := long(2, 10)
	twin := "1196b2c4-1111-7aaa-8bbb-000000000000"
	r.Nodes = append(r.Nodes, Node{ID: twin, Summary: "twin"})
	r.Refs = []string{twin}
	c := fit(t, r)
	if c.Entries[0].TextID != id(0) || c.Entries[2].TextID != twin || c.Entries[1].TextID != "00000001" || !strings.Contains(c.Text, "["+twin+"]: twin") {
		t.Errorf("%+v", c.Entries)
	}
}

// What gives way, in order: references from the last, ancestors eight at once, parents but the last, the answer of the last.
func TestTheBudget(t *testing.T) {
	t.Parallel()
	r := long(12, 5000)
	r.Parents = []string{id(10), id(11)}
	r.Nodes = append(r.Nodes, Node{ID: id(20), Summary: "ref"})
	r.Refs = []string{id(20)}
	whole := fit(t, r)
	seen := map[Form]bool{}
	for limit := whole.Tokens; limit > 60; limit-- {
		r.MaxTokens = limit
		d, err := Fit(context.Background(), r, est(t))
		var over *OverflowError
		if errors.As(err, &over) {
			if over.Limit != limit || over.Tokens <= limit {
				t.Fatalf("%v", over)
			}
			break
		}
		c, err := d.Context(context.Background(), est(t))
		if err != nil || c.Tokens > limit || !strings.Contains(c.Text, "And now?") {
			t.Fatalf("%d of %d tokens, %v", c.Tokens, limit, err)
		}
		refs, parent, last := c.Entries[12].Form, c.Entries[10].Form, c.Entries[11].Form
		switch {
		case c.Dropped > 0 && refs != LeftOut, parent == Line && c.Dropped != 10, last == Cut && parent != Line:
			t.Fatalf("with %d: %v", limit, forms(c))
		case c.Dropped != 0 && c.Dropped != 8 && c.Dropped != 10:
			t.Fatalf("%d ancestors went", c.Dropped)
		}
		if c.Dropped > 0 != strings.Contains(c.Text, fmt.Sprintf("(%d earlier nodes left out)", c.Dropped)) || last == Cut != strings.Contains(c.Text, passage.CutMark) {
			t.Fatal(c.Text)
		}
		seen[refs], seen[parent], seen[last] = true, true, true
	}
	for _, form := range []Form{Full, Line, Cut, LeftOut} {
		if !seen[form] {
			t.Errorf("no node ever was %s", form)
		}
	}
}

// A turn later, the text is the same up to the node that was full.
func TestTheNextTurnKeepsThePrefix(t *testing.T) {
	t.Parallel()
	r := long(6, 10)
	before := fit(t, r).Text
	after := fit(t, long(7, 10)).Text
	at := strings.Index(before, "<node")
	if before[:at] != after[:at] {
		t.Errorf("%s\n%s", before, after)
	}
}

// The number of lines is bounded by what is asked for, and what was not asked for is not told as dropped.
func TestAncestors(t *testing.T) {
	t.Parallel()
	r := long(6, 10)
	for n, want := range map[int]int{0: 0, 2: 2, 200: 5} {
		r.Ancestors = &n
		if c := fit(t, r); strings.Count(c.Text, "summary ") != want || c.Dropped != 0 {
			t.Errorf("%d: %s", n, c.Text)
		}
	}
	empty := fit(t, Request{Locale: "en"})
	if empty.Text != "" {
		t.Errorf("%q", empty.Text)
	}
}

// A prompt of blanks alone is none: an empty part is left out, and the numbers of the others have no gap.
func TestABlankPromptIsNoPart(t *testing.T) {
	t.Parallel()
	for _, seed := range []bool{false, true} {
		for _, prompt := range []string{"", " \n ", "\n\t\n", "\ufeff\x00"} {
			if c := fit(t, Request{Prompt: prompt, Seed: seed}); c.Text != "" || c.Parts != nil {
				t.Errorf("%q: %q", prompt, c.Text)
			}
			r := long(2, 10)
			r.Prompt, r.Seed = prompt, seed
			if c := fit(t, r); len(c.Parts) != 1 || strings.Contains(c.Text, "Current flow") || !strings.Contains(c.Text, "\n\n1. Conversation so far:\n") {
				t.Errorf("%q: %s", prompt, c.Text)
			}
		}
	}
}

// A context that cannot fit says of what it consists that is never cut, and does not speak of a node where there is none.
func TestOverflowSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("季", 500)
	node := []Node{{ID: id(1), Prompt: many, Answer: many}}
	for want, r := range map[string]Request{
		"the prompt and the beginning and end of the node before it have ": {Prompt: many, Nodes: node, Path: []string{id(1)}},
		"the beginning and end of the last node have ":                     {Nodes: node, Path: []string{id(1)}},
		"the prompt, with what stands before it, has ":                     {Prompt: many},
		"what says that nodes are left out has ":                           {Nodes: node, Path: []string{id(1)}, LinesOnly: true},
	} {
		r.MaxTokens = 2
		_, err := Fit(context.Background(), r, est(t))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "the prompt is never cut") != (r.Prompt != "") {
			t.Errorf("%v, and not %s", err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	n := -1
	r := Request{
		Nodes: []Node{{ID: "x"}, {ID: id(1)}, {ID: id(1)}}, Path: []string{id(2)}, Refs: []string{id(1), id(3)}, Parents: []string{id(1)}, Ancestors: &n, MaxTokens: -1, TrimStep: -1,
		Counter: "x", Locale: "?", Texts: map[string]string{"x": ""},
	}
	var fields []string
	for _, v := range Check(r) {
		fields = append(fields, v.Field)
	}
	want := []string{"nodes[0].id", "nodes[2].id", "path[0]", "refs[1]", "parents[0]", "ancestors_max", "max_tokens", "trim_step", "counter", "locale", `texts["x"]`}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}
