package edge

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxLogged bounds the path and the method in the log, in bytes.
const maxLogged = 256

// metrics have the path template as label, never a path, a host or a caller: the number of series stays small.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	running  prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_gateway_requests_total", Help: "HTTP requests answered."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsumugi_gateway_request_seconds", Help: "Time from a request to the end of its answer.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 600}}, []string{"route"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tsumugi_gateway_requests_running", Help: "HTTP requests that are running, streams included."}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.running} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe writes one line for each request, and counts it.
func observe(next http.Handler, log *zap.Logger, m *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		m.running.Inc()
		defer func() {
			took := time.Since(start)
			m.running.Dec()
			m.count(r, took)
			if entry := log.Check(level(of(r.Context())), "request"); entry != nil {
				entry.Write(fields(r, took)...)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func level(c *call) zapcore.Level {
	status := c.answer.status
	switch {
	case status == http.StatusInternalServerError:
		return zap.ErrorLevel
	case status > http.StatusInternalServerError || status == http.StatusTooManyRequests || c.cause != nil: // a stream has begun with 200
		return zap.WarnLevel
	}
	return zap.InfoLevel
}

func (m *metrics) count(r *http.Request, took time.Duration) {
	c := of(r.Context())
	route, method := c.route, r.Method
	if route == "" { // anything may stand in the path and the method of a request that nothing matched
		route, method = "none", "none"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(c.answer.status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func fields(r *http.Request, took time.Duration) []zap.Field {
	c := of(r.Context())
	peer, _, _ := net.SplitHostPort(r.RemoteAddr)
	out := []zap.Field{
		zap.String("method", head(r.Method)), zap.String("route", c.route), zap.String("path", head(r.URL.Path)),
		zap.Int("status", c.answer.status), zap.Int64("bytes", c.answer.bytes), zap.Duration("duration", took),
		zap.String("request_id", c.id), zap.String("peer", peer),
	}
	if t := trace.SpanContextFromContext(r.Context()).TraceID(); t.IsValid() {
		out = append(out, zap.Stringer("trace_id", t))
	}
	if c.reason != "" {
		out = append(out, zap.String("reason", c.reason))
	}
	if c.cause != nil {
		out = append(out, zap.String("service", c.service), zap.Error(c.cause))
	}
	return out
}

// head is the beginning of what a caller wrote.
func head(s string) string { return s[:min(len(s), maxLogged)] }
