package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/runner"
)

// Sessions is a runner.Observer and a conversation.Observer.
type Sessions struct {
	log    *zap.Logger
	failed *prometheus.CounterVec
}

// NewSessions makes a Sessions and registers its metrics.
func NewSessions(log *zap.Logger, metrics prometheus.Registerer) (*Sessions, error) {
	s := &Sessions{log: log, failed: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tsumugi_agent_session_failures_total", Help: "Sessions that could not be carried on and are tried again, by what went wrong: failed, lost, unread, flow, prune, sweep, unclosed.",
	}, []string{"what"})}
	if err := metrics.Register(s.failed); err != nil {
		return nil, fmt.Errorf("metrics of sessions: %w", err)
	}
	return s, nil
}

// Failed writes why a session could not be carried on.
func (s *Sessions) Failed(ns, session string, err error) {
	s.failed.WithLabelValues("failed").Inc()
	fields := []zap.Field{zap.String("namespace", ns), zap.String("session", session), zap.Error(err)}
	var broke *runner.PanicError
	if errors.As(err, &broke) {
		s.log.Error("a session broke down and is tried again", append(fields, zap.ByteString("stack", broke.Stack))...)
		return
	}
	s.log.Warn("a session could not be carried on and is tried again", fields...)
}

// Lost writes that another process has a session now.
func (s *Sessions) Lost(ns, session string) {
	s.failed.WithLabelValues("lost").Inc()
	s.log.Warn("another process took a session over", zap.String("namespace", ns), zap.String("session", session))
}

// Unread writes that the list of what is to be done could not be read.
func (s *Sessions) Unread(err error) {
	s.failed.WithLabelValues("unread").Inc()
	s.log.Error("the sessions that are to be carried on could not be read", zap.Error(err))
}

// Fault writes why turns are not in their flows yet.
func (s *Sessions) Fault(_ context.Context, err error) {
	s.failed.WithLabelValues("flow").Inc()
	s.log.Warn("turns of sessions are not in flowstore yet and are tried again", zap.Error(err))
}

// Unclosed writes that approvals about a tool that has changed could not be closed: their calls are stopped when they would begin.
func (s *Sessions) Unclosed(err error) {
	s.failed.WithLabelValues("unclosed").Inc()
	s.log.Error("approvals about tools of an MCP server that have changed could not be closed", zap.Error(err))
}

// Pruned writes what was taken away since its time was over, and why not all was.
func (s *Sessions) Pruned(ctx context.Context, gone ledger.Pruned, err error) {
	switch {
	case err != nil && ctx.Err() == nil:
		s.failed.WithLabelValues("prune").Inc()
		s.log.Error("what is kept no longer could not be taken away, and is tried again", zap.Error(err))
	case gone != ledger.Pruned{}:
		s.log.Info("what is kept no longer was taken away", zap.Any("gone", gone))
	}
}

// Swept writes what crashes had left in a work folder and was taken away, and why not all was.
func (s *Sessions) Swept(ctx context.Context, root string, swept folder.Swept, err error) {
	about := []zap.Field{zap.String("root", root), zap.Any("swept", swept)}
	switch {
	case err != nil && ctx.Err() == nil:
		s.failed.WithLabelValues("sweep").Inc()
		s.log.Error("what changes that were cut off left in a work folder could not be taken away, and is tried again", append(about, zap.Error(err))...)
	case swept.Gone > 0 || len(swept.Kept) > 0:
		s.log.Info("what changes that were cut off left in a work folder was taken away", about...)
	}
}

// HeldUp writes what keeps a work folder from being swept.
func (s *Sessions) HeldUp(root string, why error) {
	s.failed.WithLabelValues("sweep").Inc()
	s.log.Warn("what changes that were cut off left in a work folder stays, since something holds the sweep up, and is tried again", zap.String("root", root), zap.Error(why))
}
