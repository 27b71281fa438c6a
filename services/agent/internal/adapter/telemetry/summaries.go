package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

// Summaries is a summary.Observer.
type Summaries struct {
	log    *zap.Logger
	seen   *prometheus.CounterVec
	asked  prometheus.Counter
	tokens prometheus.Counter
}

// NewSummaries makes a Summaries and registers its metrics.
func NewSummaries(log *zap.Logger, metrics prometheus.Registerer) (*Summaries, error) {
	s := &Summaries{
		log: log,
		seen: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_agent_summaries_total", Help: "Nodes that were to get a summary, by what came of it: done, skipped, failed.",
		}, []string{"result"}),
		asked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tsumugi_agent_summary_questions_total", Help: "How often models were asked for a summary, again after a bad reply included.",
		}),
		tokens: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tsumugi_agent_summary_tokens_total", Help: "Tokens of replies with summaries, as the model servers counted them.",
		}),
	}
	for _, c := range []prometheus.Collector{s.seen, s.asked, s.tokens} {
		if err := metrics.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of summaries: %w", err)
		}
	}
	return s, nil
}

// Seen counts the end of the work on a node, and writes its line where the model was asked or the node failed.
func (s *Summaries) Seen(ctx context.Context, ns string, e summary.Event) {
	var use summary.Use
	result, fields := "skipped", []zap.Field{zap.String("request_id", interceptor.RequestID(ctx)), zap.String("namespace", ns)}
	switch e := e.(type) {
	case summary.Done:
		result, use = "done", e.Use
		fields = append(fields, zap.Stringer("node", e.ID), zap.Bool("partial", e.Partial))
	case summary.Failed:
		result, use = "failed", e.Use
		fields = append(fields, zap.Stringer("node", e.ID), zap.String("reason", e.Reason))
	case summary.Skipped:
		use = e.Use
		fields = append(fields, zap.Stringer("node", e.ID))
	}
	s.seen.WithLabelValues(result).Inc()
	s.asked.Add(float64(use.Asked))
	s.tokens.Add(float64(use.AnswerTokens))
	if result == "failed" || use.Asked > 0 {
		s.log.Info("summary", append(fields, zap.String("result", result), zap.Int("asked", use.Asked), zap.Int("tokens", use.AnswerTokens))...)
	}
}

// Interrupted writes that the work in the background waits, and why.
func (s *Summaries) Interrupted(_ context.Context, ns string, err error) {
	write := s.log.Warn
	if errors.As(err, new(*summary.PanicError)) {
		write = s.log.Error
	}
	write("summaries in the background wait", zap.String("namespace", ns), zap.Error(err))
}
