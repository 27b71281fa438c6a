// Package models lets the domain count with the model servers of the backends file, and counts how often it does.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// Backends is a story.Backends over a backends file. Safe for concurrent use.
type Backends struct {
	set      *backends.Set
	standard string
	counts   *prometheus.CounterVec
	seconds  *prometheus.CounterVec
	// asked are the counts under way, by backend.
	asked map[string]*singleflight.Group
}

// New makes Backends and registers their metrics, whose labels are names of the file. The empty name means standard, or
// the default of the file where standard is empty too.
func New(set *backends.Set, standard string, metrics prometheus.Registerer) (*Backends, error) {
	b := &Backends{
		set: set, standard: standard, asked: make(map[string]*singleflight.Group),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_promptbuilder_counts_total", Help: "Texts that model servers were asked to count.",
		}, []string{"backend"}),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_promptbuilder_count_seconds_total", Help: "Seconds that model servers took to count.",
		}, []string{"backend"}),
	}
	for _, name := range set.Names() {
		b.asked[name] = new(singleflight.Group)
	}
	for _, c := range []prometheus.Collector{b.counts, b.seconds} {
		if err := metrics.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of counts: %w", err)
		}
	}
	return b, nil
}

// Counter gives a model server by name. The error is a *llm.UnknownBackendError.
func (b *Backends) Counter(name string) (story.Counter, error) {
	if name == "" {
		name = b.standard
	}
	c, err := b.set.Counter(name)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = b.set.Default()
	}
	local, _ := c.(llm.Local)
	estimator, _ := c.(llm.Estimator)
	return &counter{llm: c, local: local != nil && local.CountsHere(), estimates: estimator != nil && estimator.Estimates(), asked: b.asked[name],
		sent: func(int) { b.counts.WithLabelValues(name).Inc() },
		done: func(began time.Time) { b.seconds.WithLabelValues(name).Add(time.Since(began).Seconds()) },
	}, nil
}

// List gives all backends of the file.
func (b *Backends) List() []story.Listed {
	standard := cmp.Or(b.standard, b.set.Default())
	var all []story.Listed
	for _, name := range b.set.Names() {
		l := story.Listed{Name: name, Kind: b.set.Kind(name), Default: name == standard}
		c, err := b.set.Counter(name)
		if err != nil {
			continue // a name of the file is never unknown to it
		}
		if local, ok := c.(llm.Local); ok {
			l.CountsHere = local.CountsHere()
		}
		if e, ok := c.(llm.Estimator); ok {
			l.Estimates = e.Estimates()
		}
		bordered, ok := c.(llm.Bordered)
		l.Borders = l.CountsHere && !l.Estimates || ok && bordered.TellsBorders()
		if s, ok := c.(llm.Sampler); ok {
			for _, k := range s.Knobs() {
				l.Knobs = append(l.Knobs, string(k))
			}
		}
		all = append(all, l)
	}
	return all
}

// counter is an llm.Counter as the domain sees it. Errors pass as they are.
type counter struct {
	llm              llm.Counter
	local, estimates bool
	// asked are the counts of this backend that are under way.
	asked *singleflight.Group
	// sent notes that a text goes to the server, done that a count is over.
	sent func(characters int)
	done func(began time.Time)
}

// Local says that counting asks no server.
func (c *counter) Local() bool { return c.local }

// Warnings implements llm.Warner.
func (c *counter) Warnings() []string {
	if w, ok := c.llm.(llm.Warner); ok {
		return w.Warnings()
	}
	return nil
}

// Tells implements llm.Teller.
func (c *counter) Tells() llm.Told {
	if t, ok := c.llm.(llm.Teller); ok {
		return t.Tells()
	}
	return llm.Told{}
}

// Estimates says that counts are estimates.
func (c *counter) Estimates() bool { return c.estimates }

// Window asks the server who it is. Each caller asks by itself: one that began before a caller came may tell of a model that
// is no longer there when the caller counts, and to wait for the next one that begins would cost as much as to ask.
func (c *counter) Window(ctx context.Context) (story.Backend, error) {
	id, err := c.llm.Window(llm.OnCount(ctx, c.sent))
	return story.Backend(id), err
}

// Count asks for the tokens of a text.
func (c *counter) Count(ctx context.Context, text string) (int, error) {
	if c.local {
		return c.llm.Count(ctx, text)
	}
	ctx = llm.OnCount(ctx, c.sent)
	began := time.Now()
	tokens, err := shared(ctx, c.asked, "count "+text, func(ctx context.Context) (int, error) {
		defer c.done(time.Now())
		return c.llm.Count(ctx, text)
	}, func(ctx context.Context) (int, error) { return c.llm.Count(ctx, text) }) // says how a call ends whose time is over
	return tokens, tried(err, began)
}

// tried adds to the error of a count how long the caller has waited for it.
func tried(err error, began time.Time) error {
	var server *llm.Error
	if !errors.As(err, &server) || errors.Is(err, llm.ErrNoPieces) {
		return err
	}
	own := *server // others may share it
	own.Tried = &llm.Tried{Took: time.Since(began)}
	return &own
}

// Pieces asks for the token borders of a text.
func (c *counter) Pieces(ctx context.Context, text string) ([]int, error) {
	if c.local {
		return c.llm.Pieces(ctx, text)
	}
	ctx = llm.OnCount(ctx, c.sent)
	began := time.Now()
	pieces, err := shared(ctx, c.asked, "pieces "+text, func(ctx context.Context) ([]int, error) { return c.pieces(ctx, text) },
		func(ctx context.Context) ([]int, error) { return c.llm.Pieces(ctx, text) })
	return pieces, tried(err, began)
}

func (c *counter) pieces(ctx context.Context, text string) ([]int, error) {
	began := time.Now()
	pieces, err := c.llm.Pieces(ctx, text)
	switch {
	case errors.Is(err, llm.ErrPiecesUntold):
		err = fmt.Errorf("%w: %w", fit.ErrPiecesUntold, err)
	case errors.Is(err, llm.ErrNoPieces):
		return nil, fmt.Errorf("%w: %w", fit.ErrNoPieces, err)
	}
	c.done(began)
	return pieces, err
}
