package nodecontext

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// Context is a text and what became of each node.
type Context struct {
	Text    string
	Parts   []Part
	Tokens  int
	Counter string
	Exact   bool
	Entries []Entry
	// Dropped are nodes of the path and DroppedRefs references that are left out for want of room.
	Dropped, DroppedRefs int
	Forgeable            bool
	Changes              []Change
	// TextsWithout are texts of the request that have not all placeholders of the default ones.
	TextsWithout []template.Wrong
}

// OverflowError is a context of which what is never left out is over the budget: the prompt, and the last node, as short as it may be.
// Prompt and Node say that there is one.
type OverflowError struct {
	Limit, Tokens int
	Prompt, Node  bool
}

// Error says what would be right.
func (e *OverflowError) Error() string {
	what, why := "what says that nodes are left out has", "raise it"
	switch {
	case e.Prompt && e.Node:
		what, why = "the prompt and the beginning and end of the node before it have", "the prompt is never cut"
	case e.Prompt:
		what, why = "the prompt, with what stands before it, has", "the prompt is never cut"
	case e.Node:
		what = "the beginning and end of the last node have"
	}
	return fmt.Sprintf("%s %d tokens, and max_tokens is %d: %s", what, e.Tokens, e.Limit, why)
}

// overflow is the error of a draft that is as short as it can be.
func (d *Draft) overflow(ctx context.Context, counter tokens.Counter, limit int) error {
	size, err := d.size(ctx, counter)
	return cmp.Or(err, error(&OverflowError{limit, size, d.current != "", len(d.parents) > 0}))
}

// Context tells of the text as far as it was trimmed. The error is the counter's.
func (d *Draft) Context(ctx context.Context, counter tokens.Counter) (Context, error) {
	c := Context{Dropped: d.dropped, DroppedRefs: d.droppedRefs, Forgeable: d.request.Seed, Counter: counter.Name(), Exact: counter.Exact()}
	locale, _ := template.Locale(d.request.Locale) // Checked.
	c.TextsWithout = template.Lost(locale, d.request.Texts)
	c.Text, c.Parts = d.Text()
	for _, i := range d.all {
		e := *i.Entry
		e.SummaryCut = e.Form == Line && e.Summary == Fresh && passage.Characters.Size(i.node.Summary) > maxLine
		c.Entries = append(c.Entries, e)
		part := "flow"
		if e.Reference {
			part = "refs"
		}
		if what := i.changed(); what != "" {
			c.Changes = append(c.Changes, Change{part, e.ID, what})
		}
	}
	if d.promptChanges != "" && d.current != "" {
		c.Changes = append(c.Changes, Change{"current", "", d.promptChanges})
	}
	var err error
	c.Tokens, err = counter.Count(ctx, c.Text)
	return c, err
}
