// Package edge is what every HTTP request passes before its path is looked at: an id, a line in the log, metrics, a net
// under panics, and the limits that hold for all paths alike.
package edge

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Options say what the edge lets in.
type Options struct {
	// Hosts are the names that the header Host may have beside loopback names, without port.
	Hosts []string
	// MaxInFlight is how many requests may run at once, streams included.
	MaxInFlight int
	// WriteTimeout is how long one write of an answer may take: a client that does not read for so long is cut off.
	WriteTimeout time.Duration
	// Log gets one line for each request.
	Log *zap.Logger
	// Metrics is where the metrics are registered; nil for nowhere.
	Metrics prometheus.Registerer
}

// Wrap puts the edge around a handler. The last part is the outermost.
func Wrap(next http.Handler, o Options) (http.Handler, error) {
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	h := limit(next, o.MaxInFlight)
	h = sameOrigin(h)
	h = knownHosts(h, o.Hosts)
	h = recoverPanics(h, o.Log)
	h = observe(h, o.Log, m)
	return identify(h, o.WriteTimeout), nil
}

// refuse answers with an error of the edge itself.
func refuse(w http.ResponseWriter, r *http.Request, e *apierr.Error) {
	SetReason(r.Context(), e.Reason)
	problem.Write(w, e.GRPCStatus())
}
