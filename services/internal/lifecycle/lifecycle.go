// Package lifecycle starts and stops a process so that nothing is lost and nothing hangs.
//
// A process is a list of parts in the order in which they stop: whoever calls stops before whom it calls (HTTP, front,
// inner, stores). Run runs them all; the first that fails, or a signal, begins the six steps of field/gostyle.md 3.2:
//
//  1. every part says that it is not ready (/readyz 503, health NOT_SERVING); apps end what runs in the background,
//  2. requests are accepted for a moment longer, until load balancers have noticed (SIGTERM only: a person at the
//     keyboard does not wait),
//  3. streams are told, and send their last event,
//  4. servers stop in order: running calls may end, then connections are cut,
//  5. stores write what is pending and close,
//  6. Run returns: nil after a signal, an error when a part failed or did not stop in time. A second signal makes it
//     return at once.
//
// Main does all of it for a program of one service; the example holds a whole main.go.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// background is the context of what belongs to the process and not to a request.
var background = context.Background()

// ErrSecondSignal is what Run returns when it was told twice: the program exits with 1 at once.
var ErrSecondSignal = errors.New("stopped at once by a second signal")

// StopConfig are the time limits of a stop. The sum stays under the 30 s that Kubernetes gives.
type StopConfig struct {
	// Delay is how long requests are accepted after SIGTERM, while load balancers look for another server.
	Delay time.Duration `yaml:"delay" help:"how long requests are accepted after SIGTERM"`
	// Graceful is how long running calls may take to end; then their connections are cut.
	Graceful time.Duration `yaml:"graceful" help:"how long running calls may take to end"`
	// Total bounds the whole stop.
	Total time.Duration `yaml:"total" help:"how long the whole stop may take"`
}

// DefaultStopConfig ends within 30 s, the time that Kubernetes gives before it kills (field/gostyle.md 3.2).
func DefaultStopConfig() StopConfig {
	return StopConfig{Delay: 3 * time.Second, Graceful: 15 * time.Second, Total: 30 * time.Second}
}

// Check finds limits that cannot be.
func (c StopConfig) Check(p *config.Problems) {
	for _, limit := range []struct {
		key string
		d   time.Duration
	}{{"delay", c.Delay}, {"graceful", c.Graceful}} {
		if limit.d < 0 {
			p.Add(limit.key, "must not be negative, is %s", limit.d)
			return
		}
	}
	if c.Total < c.Delay+c.Graceful {
		p.Add("total", "must be at least delay and graceful together (%s), is %s", c.Delay+c.Graceful, c.Total)
	}
}

// Part is something that runs and stops. Every function may be nil.
type Part struct {
	// Name is for people, with the address where there is one.
	Name string
	// Serve runs the part until Stop. An error of it stops the process.
	Serve func() error
	// Unready says that no more requests should come; Drain tells streams that the end is near.
	Unready, Drain func()
	// Stop lets callers finish and ends Serve. When ctx ends (StopConfig.Graceful, for all parts together) it waits for
	// nobody any longer.
	Stop func(ctx context.Context) error
	// Close, called behind Stop, writes what is pending and frees what the part holds. ctx ends with StopConfig.Total.
	Close func(ctx context.Context) error
}

// Options of Run.
type Options struct {
	Log  *zap.Logger
	Stop StopConfig
	// Signals are what stops the process; nil: SIGINT and SIGTERM, from Run on.
	Signals <-chan os.Signal
}

// Run runs the parts, given in the order in which they stop, until a signal comes, ctx ends or a part fails, and then
// stops them. The error is the first failure and whatever went wrong in the stop.
func Run(ctx context.Context, o Options, parts ...Part) error {
	signals := o.Signals
	if signals == nil {
		caught, release := Signals()
		defer release()
		signals = caught
	}
	ended := start(parts)
	delay, cause := wait(ctx, o, signals, ended, len(parts))
	done := make(chan error, 1)
	go func() { done <- stop(o, delay, parts) }()
	select {
	case err := <-done:
		o.Log.Info("stopped")
		return errors.Join(cause, err)
	case <-signals:
		return errors.Join(cause, ErrSecondSignal)
	case <-time.After(o.Stop.Total):
		return errors.Join(cause, fmt.Errorf("the stop was not done after %s", o.Stop.Total))
	}
}

// Signals catches SIGINT and SIGTERM, which would end the process at once, until release is called. A program does it
// before it says where it answers: whoever reads that may stop it the next moment.
func Signals() (caught <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// outcome is how the Serve of a part ended.
type outcome struct {
	part string
	err  error
}

// start runs every Serve. Each of them reports to the channel once.
func start(parts []Part) <-chan outcome {
	ended := make(chan outcome, len(parts))
	for _, p := range parts {
		go func() { ended <- outcome{p.Name, serve(p)} }()
	}
	return ended
}

// serve runs a part; a panic is a failure of it. A part without Serve has ended well.
func serve(p Part) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if p.Serve == nil {
		return nil
	}
	return p.Serve()
}
