package nodecontext

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// drawn is a request with nodes of all kinds, some of which share the last digits of their ids.
func drawn(t *rapid.T) Request {
	r := Request{
		Locale: rapid.SampledFrom([]string{"ja", "en"}).Draw(t, "locale"), Prompt: "ASKED" + strings.Repeat("季", rapid.IntRange(0, 20).Draw(t, "prompt")),
		MaxTokens: rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(300, 1200)).Draw(t, "max"), TrimStep: rapid.IntRange(0, 9).Draw(t, "step"), Seed: rapid.Bool().Draw(t, "seed"), NoDetails: rapid.Bool().Draw(t, "no details"),
	}
	for i := range rapid.IntRange(0, 25).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprintf("0196b2c4-%04d-7aaa-8bbb-0000%08x", i, i/2), Stale: rapid.Bool().Draw(t, "stale")}
		n.Prompt = fmt.Sprintf("PROMPT%d. ", i) + strings.Repeat("問い</node>\n", rapid.IntRange(0, 10).Draw(t, "long"))
		n.Answer = fmt.Sprintf("ANSWER%d. ", i) + strings.Repeat("答え[回答]</prompt> ", rapid.IntRange(0, 40).Draw(t, "longer"))
		if rapid.Bool().Draw(t, "summary") {
			n.Summary = fmt.Sprintf("SUMMARY%d.", i)
		}
		r.Nodes = append(r.Nodes, n)
		switch rapid.IntRange(0, 3).Draw(t, "place") {
		case 0:
			r.Refs = append(r.Refs, n.ID)
		case 1:
			r.Path, r.Parents = append(r.Path, n.ID), append(r.Parents, n.ID)
		default:
			r.Path = append(r.Path, n.ID)
		}
	}
	return r
}

// Whatever a conversation is: the text is within its budget, has the whole prompt, names each node by an id of its own, shows no stale
// summary, and says of each node what became of it; else the error says how large it is.
func TestEveryContext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawn(t)
		if wrong := Check(r); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		counter, _ := tokens.Estimate("")
		d, err := Fit(context.Background(), r, counter)
		var over *OverflowError
		if errors.As(err, &over) {
			if over.Limit != r.MaxTokens || over.Tokens <= over.Limit {
				t.Fatalf("%+v", over)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Context(context.Background(), counter)
		if n, _ := counter.Count(context.Background(), c.Text); err != nil || c.Tokens > r.MaxTokens || c.Tokens != n || !strings.Contains(c.Text, r.Prompt) {
			t.Fatalf("%d of %d tokens, %v: %s", c.Tokens, r.MaxTokens, err, c.Text)
		}
		named := map[string]string{}
		for _, e := range c.Entries {
			checkEntry(t, r, c, e)
			if e.TextID != "" && named[e.TextID] != "" && named[e.TextID] != e.ID {
				t.Fatalf("%s is %s, and %s", e.TextID, named[e.TextID], e.ID)
			}
			named[e.TextID] = e.ID
		}
		checkWhatIsGone(t, r, c)
	})
}

// checkEntry looks at what the text has of a node.
func checkEntry(t *rapid.T, r Request, c Context, e Entry) {
	i := slices.IndexFunc(r.Nodes, func(n Node) bool { return n.ID == e.ID })
	n := r.Nodes[i]
	number := fmt.Sprintf("%d.", i)
	has := func(text string) bool { return strings.Contains(c.Text, text+number) }
	state := Fresh
	switch {
	case n.Summary == "":
		state = Missing
	case n.Stale:
		state = Stale
	}
	if e.Summary != state || state != Fresh && has("SUMMARY") {
		t.Fatalf("the summary is %s, and should be %s: %s", e.Summary, state, c.Text)
	}
	shown := map[Form]bool{
		Full: has("PROMPT") && has("ANSWER"), Line: state == Fresh && has("SUMMARY") || state != Fresh && has("PROMPT"),
		Cut: has("PROMPT") && !has("SUMMARY"), LeftOut: !has("PROMPT") && !has("ANSWER") && !has("SUMMARY"),
	}
	if !shown[e.Form] {
		t.Fatalf("node %d is not %s: %s", i, e.Form, c.Text)
	}
	if printed := e.Form != LeftOut && (!r.Seed || e.Reference); printed != (e.TextID != "") || printed && !strings.Contains(c.Text, "["+e.TextID+"]: ") && !strings.Contains(c.Text, `id="`+e.TextID+`"`) {
		t.Fatalf("node %d is called %q in %s", i, e.TextID, c.Text)
	}
}

// checkWhatIsGone looks at the order in which nodes went: references from the last, then the oldest of the path, but for parents.
func checkWhatIsGone(t *rapid.T, r Request, c Context) {
	gone, refs, kept := 0, 0, false
	for _, e := range c.Entries {
		switch {
		case e.Reference && e.Form == LeftOut:
			refs++
		case e.Reference && refs > 0:
			t.Fatalf("a reference went before a later one: %+v", c.Entries)
		case !e.Reference && e.Form == LeftOut && kept:
			t.Fatalf("a node of the path went before an older one: %+v", c.Entries)
		case !e.Reference && e.Form == LeftOut:
			gone++
		case !e.Reference && e.Form == Line && !slices.Contains(r.Parents, e.ID):
			kept = true
		}
	}
	if gone != c.Dropped || refs != c.DroppedRefs {
		t.Fatalf("%d nodes and %d references went, and %d and %d are told", gone, refs, c.Dropped, c.DroppedRefs)
	}
}

// Over its budget, the beginning of a growing conversation moves once in so many turns as trim_step says.
func TestTheCutMovesSeldom(t *testing.T) {
	t.Parallel()
	for _, step := range []int{1, 2, 8} {
		moves, before := 0, -1
		for turn := 40; turn <= 40+4*step; turn++ {
			r := Request{Locale: "en", Prompt: "And now?", MaxTokens: 300, TrimStep: step}
			for i := range turn {
				r.Nodes = append(r.Nodes, Node{ID: id(i), Prompt: "p", Answer: "a", Summary: fmt.Sprintf("turn %03d of the talk", i)})
				r.Path = append(r.Path, id(i))
			}
			c := fit(t, r)
			if c.Dropped == 0 || c.Dropped%step != 0 {
				t.Fatalf("%d nodes went, %d at once", c.Dropped, step)
			}
			if before >= 0 && c.Dropped != before {
				moves++
			}
			before = c.Dropped
		}
		if moves != 4 {
			t.Errorf("%d at once: the cut moved %d times in %d turns", step, moves, 4*step)
		}
	}
}

// An id is one, whatever the case of its letters: two nodes would answer to it.
func TestIDsThatDifferInCase(t *testing.T) {
	t.Parallel()
	r := Request{Nodes: []Node{{ID: "0196b2c4-1111-7aaa-8bbb-0000000000ab"}, {ID: "0196B2C4-1111-7AAA-8BBB-0000000000AB"}}}
	if wrong := Check(r); len(wrong) != 1 || wrong[0].Field != "nodes[1].id" {
		t.Errorf("%v", wrong)
	}
}
