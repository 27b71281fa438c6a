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
	limit := cmp.Or(r.MaxTokens, defaultTokens)
	states, err := d.weigh(ctx)
	if err != nil {
		return d, err
	}
	f := fitter{draft: d, counter: counter, limit: limit, states: states}
	at, err := f.first(ctx)
	if err != nil {
		return d, err
	}
	d.at(min(at, len(states)-1))
	if at == len(states) {
		err = d.overflow(ctx, counter, limit)
	}
	return d, err
}

// fitter finds the first state of a draft that fits, as if the whole was counted after each step (field/systemprompt-rules.md 4), with
// a few counts of the whole: a count may be a call of a server. Which states to count is told by what an estimate says of the lines
// that went, scaled by the last counts. The two counts at the end, of the last state that is over and the first that fits, prove the
// rest as far as a text that loses lines has fewer tokens.
type fitter struct {
	draft   *Draft
	counter tokens.Counter
	limit   int
	states  []state
	// last is the state that was counted last, at so many tokens, and rate how many of these a weight of 1 has; 0 is unknown.
	last, tokens int
	rate         float64
}

const (
	// surely is how much larger, by weight, what went must be than what came instead, so that there are not more tokens by any
	// vocabulary: a token of one language may weigh so much more than that of another.
	surely = 4
	// maxGuesses is how many states are counted that an estimate names, before the remaining ones are halved.
	maxGuesses = 8
)

// first gives the first state that fits; as many as there are where none does.
func (f *fitter) first(ctx context.Context) (int, error) {
	fits, err := f.between(ctx, -1, len(f.states))
	if err != nil {
		return 0, err
	}
	// Where a step may have made the text longer, an earlier state may have fit.
	for i, over := 0, -1; i < fits-1; i++ {
		if !f.doubtful(i, i+1) {
			continue
		}
		if f.doubtful(i, fits-1) {
			size, err := f.count(ctx, i)
			if err != nil {
				return 0, err
			}
			if size <= f.limit {
				return f.between(ctx, over, i)
			}
		}
		over = i
	}
	return fits, nil
}

// between finds the first state that fits after one that is over, up to one that fits.
func (f *fitter) between(ctx context.Context, over, fits int) (int, error) {
	for tries := 0; fits-over > 1; tries++ {
		at := (over + fits) / 2
		if tries < maxGuesses {
			at = min(max(f.guess(), over+1), fits-1)
		}
		size, err := f.count(ctx, at)
		if err != nil {
			return 0, err
		}
		if size > f.limit {
			over = at
		} else {
			fits = at
		}
	}
	return fits, nil
}

// guess gives the first state that fits by the estimate. Of a text that may fit as it is, that is the first.
func (f *fitter) guess() int {
	rate, from := f.rate, f.states[f.last].weight
	if rate == 0 {
		if rate, from = 1./quarters, 0; f.states[0].weight <= 2*quarters*f.limit {
			return 0
		}
	}
	for i, s := range f.states {
		if float64(f.tokens)+rate*float64(s.weight-from) <= float64(f.limit) {
			return i
		}
	}
	return len(f.states)
}

// doubtful says that one state may have fewer tokens than a later one.
func (f *fitter) doubtful(i, later int) bool {
	a, b := f.states[i], f.states[later]
	return b.gone-a.gone < surely*(b.come-a.come)
}

// count counts a state, and learns from it what the estimate is worth.
func (f *fitter) count(ctx context.Context, at int) (int, error) {
	f.draft.at(at)
	size, err := f.draft.size(ctx, f.counter)
	if err != nil {
		return 0, err
	}
	before, weight := f.states[f.last].weight, f.states[at].weight
	rate := 0.
	if f.rate > 0 && before != weight {
		rate = float64(size-f.tokens) / float64(weight-before)
	}
	if rate <= 0 {
		rate = float64(size) / float64(max(1, weight))
	}
	f.last, f.tokens, f.rate = at, size, rate
	return size, nil
}

func (d *Draft) size(ctx context.Context, counter tokens.Counter) (int, error) {
	text, _ := d.Text()
	return counter.Count(ctx, text)
}
