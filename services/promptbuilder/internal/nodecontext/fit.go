package nodecontext

import (
	"cmp"
	"context"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// Fit makes a draft of a request in which Check found nothing wrong, cut to its budget: references go from the last, ancestors
// from the oldest, parents but the last become lines, and the last one is cut. Errors: *OverflowError, and of the counter.
func Fit(ctx context.Context, r Request, counter tokens.Counter) (*Draft, error) {
	d := newDraft(r)
	f := fitter{draft: d, counter: counter, limit: cmp.Or(r.MaxTokens, defaultTokens)}
	over, err := f.first(ctx)
	for err == nil && over {
		t := d.shrink()
		if t == nil {
			err = d.cutLast(ctx, counter, f.limit)
			break
		}
		over, err = f.after(ctx, t)
	}
	return d, err
}

// fitter knows after each step whether a draft is over its limit, as if the whole was counted then (field/systemprompt-rules.md 3.3, 4).
// It counts each line alone, which counters remember from turn to turn, and the whole only where it may fit.
type fitter struct {
	draft   *Draft
	counter tokens.Counter
	limit   int
	// least is what the draft has at least: the sum of its lines, or where counted is set what it had then without what went.
	least   int
	counted bool
}

const (
	// slack bounds how many tokens a line has more or less inside a text than alone: the one of the line break, and those that
	// tokenizers join across its ends.
	slack = 4
	// near is how many bytes for each token of the limit a text may have that is counted at once: most texts have from 3 to 5, and what
	// fits is then counted once.
	near = 16
)

// first says whether a draft of which nothing went is over the limit.
func (f *fitter) first(ctx context.Context) (bool, error) {
	text, _ := f.draft.Text()
	if len(text) <= near*f.limit {
		return f.count(ctx)
	}
	for _, b := range f.draft.blocks() {
		n, err := f.sum(ctx, b.lines, -slack)
		if err != nil {
			return false, err
		}
		f.least += n
	}
	return f.certain(ctx)
}

// after says whether the draft is over the limit after a step.
func (f *fitter) after(ctx context.Context, t *taken) (bool, error) {
	if f.counted && t.last {
		return f.count(ctx) // Headings went, too, with what they have.
	}
	margin := -slack // as in the sum
	if f.counted {
		margin = slack
	}
	gone, err := f.sum(ctx, t.gone, margin)
	if err != nil {
		return false, err
	}
	come, err := f.sum(ctx, t.come, -slack)
	if err != nil {
		return false, err
	}
	f.least += come - gone
	return f.certain(ctx)
}

// certain counts the whole unless it is over the limit for certain.
func (f *fitter) certain(ctx context.Context) (bool, error) {
	if f.least > f.limit {
		return true, nil
	}
	return f.count(ctx)
}

func (f *fitter) count(ctx context.Context) (bool, error) {
	size, err := f.draft.size(ctx, f.counter)
	f.least, f.counted = size, true
	return size > f.limit, err
}

// sum counts lines, each with a margin.
func (f *fitter) sum(ctx context.Context, lines []string, margin int) (int, error) {
	sum := 0
	for _, line := range lines {
		n, err := f.counter.Count(ctx, line)
		if err != nil {
			return 0, err
		}
		sum += n + margin
	}
	return sum, nil
}

func (d *Draft) size(ctx context.Context, counter tokens.Counter) (int, error) {
	text, _ := d.Text()
	return counter.Count(ctx, text)
}

// taken is what a step took away.
type taken struct {
	// gone are the lines that went, come those that stand there instead.
	gone, come []string
	// last says that its kind has nothing more, with which headings may go, too.
	last bool
}

// shrink takes the next step; nil where only the last parent is left.
func (d *Draft) shrink() *taken {
	if n := len(d.refs); n > 0 {
		gone := d.printed(d.refs[n-1])
		d.TakeRef()
		return &taken{gone: []string{gone}, last: n == 1}
	}
	if lines := d.lines; len(lines) > 0 {
		t := &taken{}
		for _, i := range lines[:d.step()] {
			t.gone = append(t.gone, d.printed(i))
		}
		d.TakeAncestors()
		t.last = len(d.lines) == 0
		return t
	}
	n := len(d.parents) - 1
	for at, i := range d.parents[:max(0, n)] {
		if i.Form == Full {
			gone := d.printed(i)
			i.Form, i.text = Line, ""
			return &taken{[]string{gone}, []string{d.printed(i)}, at == n-1}
		}
	}
	return nil
}
