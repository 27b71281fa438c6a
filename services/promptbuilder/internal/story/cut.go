package story

import (
	"cmp"
	"context"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// bytesEach is well over what a token of prose has in any script: 3 to 5. Where it is too little, the whole body is looked at.
const bytesEach = 8

// farOver is how many bytes no token of prose has: a body of more to each token of the limit is over it.
const farOver = 32

// cutter makes a request fit whose draws are made.
type cutter struct {
	counter Counter
	// memory is nil where counting costs next to nothing.
	memory  fit.Memory
	request Request
	frame
	limit int
	// reach is how many bytes of the body are looked at to begin with.
	reach int
}

// cut lays the request out and cuts it. Where all of the body's end fits that was looked at, the whole body is.
func (c cutter) cut(ctx context.Context) (layout, fit.Result, error) {
	r := c.request
	switch r.Fit {
	case FitNone:
		l := arrange(r, c.frame, 0)
		fitted, err := fit.Measure(ctx, c.counter, l.prompt(), c.limit, 0)
		return l, after(fitted, c.spent), err
	case FitCharTrim:
		return c.trim(ctx)
	}
	head := c.head()
	l, fitted, err := c.from(ctx, head, c.spent)
	if err == nil && head > 0 && fitted.Place == fit.Whole {
		l, fitted, err = c.from(ctx, 0, fitted)
	}
	return l, fitted, err
}

// head is how much of the head of the body is not looked at.
func (c cutter) head() int {
	if r := c.request; taskOf(r.Mode, r.Body, r.Work).continues() {
		return beyond(r.Body, c.reach)
	}
	return 0
}

// after adds what was counted before.
func after(fitted, earlier fit.Result) fit.Result {
	fitted.Counts += earlier.Counts
	return fitted
}

// from cuts what is behind a head of the body that is not looked at. Earlier counts are among those of the result.
func (c cutter) from(ctx context.Context, head int, earlier fit.Result) (layout, fit.Result, error) {
	l := arrange(c.request, c.frame, head)
	fitted, err := fit.Cut(ctx, c.counter, l.prompt(), fit.Options{
		Limit: c.limit, Finest: c.request.Finest, Slack: *c.request.Slack, Anchor: l.anchor(c.request.State), Memory: c.memory, Used: earlier.Counts,
	})
	return l, fitted, err
}

// trim keeps the last characters of a body whose whole is over the limit, and counts what is left (seed 000, 2.3).
func (c cutter) trim(ctx context.Context) (layout, fit.Result, error) {
	l := arrange(c.request, c.frame, 0)
	offset := l.inText(beforeLast(c.request.Body, cmp.Or(c.request.TrimTo, DefaultTrim)))
	if offset > 0 && len(c.request.Body) > farOver*c.limit { // a novel is not sent to learn that it is one
		fitted, err := fit.Measure(ctx, c.counter, l.prompt(), c.limit, offset)
		return l, after(fitted, c.spent), err
	}
	whole, err := fit.Measure(ctx, c.counter, l.prompt(), c.limit, 0)
	whole = after(whole, c.spent)
	if err != nil || !whole.Over || offset == 0 {
		return l, whole, err
	}
	fitted, err := fit.Measure(ctx, c.counter, l.prompt(), c.limit, offset)
	return l, after(fitted, whole), err
}
