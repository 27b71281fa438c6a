package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// App is what a service's app package makes: it holds data and does work in the background. One that also has a method
// Drain() is told at once when the process begins to stop. (A gRPC stream learns of it later, by interceptor.Draining.)
type App interface {
	// Ready tells how the things are that it needs.
	Ready(ctx context.Context) []obs.Check
	// Run works until ctx ends; it may return nil early when there is nothing to do.
	Run(ctx context.Context) error
	// Close writes what is pending and frees what it holds. It is called once Run has returned.
	Close(ctx context.Context) error
}

// AppPart runs an App.
func AppPart(name string, app App) Part {
	ctx, cancel := context.WithCancel(background)
	ran := make(chan struct{})
	var drain func()
	if d, ok := app.(interface{ Drain() }); ok {
		drain = d.Drain
	}
	return Part{
		// Not with the streams, after the delay: whom the app must still tell what it ends, a store in another process,
		// may have had the same signal and be gone by then.
		Name: name, Unready: drain,
		Serve: func() error {
			defer close(ran)
			if err := app.Run(ctx); err != nil && ctx.Err() == nil {
				return err
			}
			return nil
		},
		Close: func(total context.Context) error {
			cancel()
			select {
			case <-ran:
			case <-total.Done():
				return errors.New("its background work did not end")
			}
			return app.Close(total)
		},
	}
}

// Closers close what was opened, last first.
type Closers []func() error

// Close closes everything and tells all that went wrong.
func (c Closers) Close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i]())
	}
	return errors.Join(errs...)
}

// GRPCPart serves a gRPC server on its listeners: TCP, or a bufconn for callers in this process, or both.
func GRPCPart(name string, s *grpcserver.Server, listeners ...net.Listener) Part {
	return Part{
		Name: name,
		Serve: func() error {
			ended := make(chan error, len(listeners))
			for _, l := range listeners {
				go func() { ended <- s.Serve(l) }()
			}
			for range listeners {
				if err := <-ended; err != nil {
					return err // the others end with the stop that follows
				}
			}
			return nil
		},
		Unready: s.Unready, Drain: s.Drain, Stop: s.Stop,
	}
}

// HTTPPart serves an HTTP handler. There is no write limit: an answer may be a stream that lasts as long as a model
// writes, so handlers that answer at once set their own through http.ResponseController.
func HTTPPart(name string, l net.Listener, h http.Handler, log *zap.Logger) Part {
	s := &http.Server{
		Handler: h, ErrorLog: zap.NewStdLog(log), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10,
	}
	return Part{
		Name: name,
		Serve: func() error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("HTTP on %s: %w", l.Addr(), err)
			}
			return nil
		},
		Stop: func(ctx context.Context) error {
			if err := s.Shutdown(ctx); err == nil {
				return nil
			}
			return s.Close() // whoever is still reading is cut
		},
	}
}

// AdminPart serves the admin port. It stops last, so that /readyz can tell about the stop.
func AdminPart(l net.Listener, a *obs.Admin, log *zap.Logger) Part {
	p := HTTPPart("the admin port", l, a, log)
	p.Unready = a.Unready
	return p
}
