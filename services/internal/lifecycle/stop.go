package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
)

// wait returns when the process has to stop, with how long requests are still accepted, and the failure that is the
// cause, if it was one.
func wait(ctx context.Context, o Options, signals <-chan os.Signal, ended <-chan outcome, running int) (delay time.Duration, cause error) {
	for {
		select {
		case s := <-signals:
			o.Log.Info("stopping", zap.Stringer("signal", s))
			if s == os.Interrupt {
				return 0, nil
			}
			return o.Stop.Delay, nil
		case <-ctx.Done():
			return 0, nil
		case e := <-ended:
			if e.err != nil {
				o.Log.Error("stopping: a part of the process failed", zap.String("part", e.part), zap.Error(e.err))
				return 0, fmt.Errorf("%s failed: %w", e.part, e.err)
			}
			if running--; running == 0 { // nothing is left that could do anything
				return 0, nil
			}
		}
	}
}

// stop is steps 1 to 5.
func stop(o Options, delay time.Duration, parts []Part) error {
	total, cancel := context.WithTimeout(background, o.Stop.Total)
	defer cancel()
	for _, p := range parts {
		if p.Unready != nil {
			p.Unready()
		}
	}
	time.Sleep(delay)
	for _, p := range parts {
		if p.Drain != nil {
			p.Drain()
		}
	}
	graceful, cancel := context.WithTimeout(total, o.Stop.Graceful)
	defer cancel()
	var errs []error
	for _, p := range parts {
		if err := end(total, graceful, p); err != nil {
			o.Log.Error("a part did not stop well", zap.String("part", p.Name), zap.Error(err))
			errs = append(errs, fmt.Errorf("stopping %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

func end(total, graceful context.Context, p Part) error {
	var errs [2]error
	if p.Stop != nil {
		errs[0] = p.Stop(graceful)
	}
	if p.Close != nil {
		errs[1] = p.Close(total)
	}
	return errors.Join(errs[:]...)
}
