// Package telemetry writes down how generations end: one line each, and metrics. No line holds any text of a prompt or
// an answer.
package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Observer is a generation.Observer.
type Observer struct {
	log     *zap.Logger
	running prometheus.Gauge
	ended   *prometheus.CounterVec
	tokens  *prometheus.CounterVec
	seconds *prometheus.CounterVec
}

// New makes an Observer and registers its metrics. Labels are bounded: the ways in which an answer ends, and the names in
// the backends file.
func New(log *zap.Logger, metrics prometheus.Registerer) (*Observer, error) {
	o := &Observer{
		log: log,
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tsumugi_agent_generations_running", Help: "Generations that run.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_agent_generations_total", Help: "Generations that ended, by why; `none` did not reach the model, `replayed` was answered with its node.",
		}, []string{"finish"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_agent_answer_tokens_total", Help: "Tokens of answers, as the model servers counted them.",
		}, []string{"backend"}),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_agent_answer_seconds_total", Help: "Seconds of answers, as the model servers measured them.",
		}, []string{"backend"}),
	}
	for _, c := range []prometheus.Collector{o.running, o.ended, o.tokens, o.seconds} {
		if err := metrics.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of generations: %w", err)
		}
	}
	return o, nil
}

// Began counts a generation that runs.
func (o *Observer) Began(context.Context) { o.running.Inc() }

// Ended writes the line of a generation.
func (o *Observer) Ended(ctx context.Context, e generation.Outcome) {
	o.running.Dec()
	finish := string(e.Status.Finish)
	switch {
	case e.Replayed:
		finish = "replayed"
	case finish == "":
		finish = "none"
	}
	if !e.Again {
		o.ended.WithLabelValues(finish).Inc()
	}
	if !e.Again && e.Backend != "" {
		o.tokens.WithLabelValues(e.Backend).Add(float64(e.Tokens))
		o.seconds.WithLabelValues(e.Backend).Add(e.Answer.Seconds())
	}
	write := o.log.Info
	if ours(e.Status.Err) {
		write = o.log.Error
	}
	write("generation", zap.Stringer("generation", e.Status.ID), zap.String("finish", finish),
		zap.Bool("stored", e.Status.Node != uuid.Nil), zap.String("backend", e.Backend),
		zap.Int("characters", e.Status.Characters), zap.Int("tokens", e.Tokens),
		zap.Duration("prompt", e.Prompt), zap.Duration("answer", e.Answer),
		zap.Duration("total", e.Took),
		zap.String("request_id", interceptor.RequestID(ctx)), zap.String("namespace", namespace.From(ctx)),
		zap.Error(e.Status.Err))
}

// Fault writes what no caller hears of.
func (o *Observer) Fault(ctx context.Context, err error) {
	o.log.Error("generation", zap.String("request_id", interceptor.RequestID(ctx)), zap.String("namespace", namespace.From(ctx)), zap.Error(err))
}

// ours says that somebody has to look: a fault of ours, or an answer without a node.
func ours(err error) bool {
	var fault *generation.PanicError
	var notStored *generation.NotStoredError
	return errors.As(err, &fault) || errors.As(err, &notStored)
}
