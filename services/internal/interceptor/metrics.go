package interceptor

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
)

// buckets reach from a read out of memory to a model that answers for half an hour.
var buckets = []float64{.001, .005, .025, .1, .5, 2.5, 10, 30, 120, 600, 1800}

// metrics counts calls. Its labels are the service, the method and the code, nothing that a caller can choose: methods
// that the server does not have share one value (cases-gostyle 32).
func metrics(r prometheus.Registerer) func(context.Context, *call, func(context.Context) error) error {
	calls := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tsumugi_grpc_calls_total", Help: "Calls and streams that ended, by code.",
	}, []string{"service", "method", "code"}))
	seconds := register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tsumugi_grpc_call_seconds", Help: "How long calls and streams took.", Buckets: buckets,
	}, []string{"service", "method"}))
	running := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tsumugi_grpc_calls_in_flight", Help: "Calls and streams that are running.",
	}))
	panics := register(r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tsumugi_grpc_panics_total", Help: "Calls that failed by a panic.",
	}))
	return func(ctx context.Context, c *call, next func(context.Context) error) error {
		start := time.Now()
		running.Inc()
		err := next(ctx)
		running.Dec()
		seconds.WithLabelValues(c.service, c.name).Observe(time.Since(start).Seconds())
		calls.WithLabelValues(c.service, c.name, status.Code(err).String()).Inc()
		var p *panicError
		if errors.As(c.cause, &p) {
			panics.Inc()
		}
		return err
	}
}

// register registers a metric, or gives the one that another server of this process has registered before.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if same, ok := before.ExistingCollector.(C); ok {
			return same
		}
	}
	return c
}
