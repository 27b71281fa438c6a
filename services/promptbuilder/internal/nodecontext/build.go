package nodecontext

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
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
}

// OverflowError is a context whose prompt and last node, as short as they may be, are over the budget.
type OverflowError struct{ Limit, Tokens int }

// Error says what would be right.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("the prompt and the beginning and end of the node before it have %d tokens, and max_tokens is %d: the prompt is never cut", e.Tokens, e.Limit)
}

// Fit makes a draft of a request in which Check found nothing wrong, cut to its budget: references go from the last, ancestors
// from the oldest, parents but the last become lines, and the last one is cut. Errors: *OverflowError, and of the counter.
func Fit(ctx context.Context, r Request, counter tokens.Counter) (*Draft, error) {
	d := newDraft(r)
	limit := cmp.Or(r.MaxTokens, defaultTokens)
	size, err := d.size(ctx, counter)
	for err == nil && size > limit {
		if !d.shrink() {
			break
		}
		size, err = d.size(ctx, counter)
	}
	if err == nil && size > limit {
		err = d.cutLast(ctx, counter, limit)
	}
	return d, err
}

func (d *Draft) size(ctx context.Context, counter tokens.Counter) (int, error) {
	text, _ := d.Text()
	return counter.Count(ctx, text)
}

// shrink takes the next step; false where only the last parent is left.
func (d *Draft) shrink() bool {
	if d.TakeRef() || d.TakeAncestors() > 0 {
		return true
	}
	if n := len(d.parents); n > 1 {
		for _, i := range d.parents[:n-1] {
			if i.Form == Full {
				i.Form = Line
				return true
			}
		}
	}
	return false
}

// cutLast cuts the last parent: the longest end of its answer, in hundreds of characters, that fits.
func (d *Draft) cutLast(ctx context.Context, counter tokens.Counter, limit int) error {
	n := len(d.parents)
	if n == 0 {
		size, err := d.size(ctx, counter)
		return cmp.Or(err, error(&OverflowError{limit, size}))
	}
	last := d.parents[n-1]
	last.Form = Cut
	low, high := 0, passage.Characters.Size(last.node.Answer)/maxOpening+1
	for low < high {
		last.tail = (low + high + 1) / 2
		size, err := d.size(ctx, counter)
		if err != nil {
			return err
		}
		if size <= limit {
			low = last.tail
		} else {
			high = last.tail - 1
		}
	}
	if last.tail = low; low == 0 {
		last.tail = 1
		size, err := d.size(ctx, counter)
		return cmp.Or(err, error(&OverflowError{limit, size}))
	}
	return nil
}

// Context tells of the text as far as it was trimmed. The error is the counter's.
func (d *Draft) Context(ctx context.Context, counter tokens.Counter) (Context, error) {
	c := Context{Dropped: d.dropped, DroppedRefs: d.droppedRefs, Forgeable: d.request.Seed, Counter: counter.Name(), Exact: counter.Exact()}
	c.Text, c.Parts = d.Text()
	for _, e := range d.entries {
		c.Entries = append(c.Entries, *e)
	}
	var err error
	c.Tokens, err = counter.Count(ctx, c.Text)
	return c, err
}
