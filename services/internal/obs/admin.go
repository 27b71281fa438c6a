package obs

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout bounds all checks of one /readyz together.
const readyTimeout = 5 * time.Second

// NewRegistry makes a metrics registry that also tells about the process and the Go runtime.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	return r
}

// Admin is the admin port of a process. It is for operators and probes, and never leaves loopback or the pod.
type Admin struct {
	mux      *http.ServeMux
	ready    func(context.Context) []Check
	draining atomic.Bool
}

// NewAdmin makes /livez (the process answers), /readyz (it may get requests; the checks as JSON) and /metrics. ready is
// asked at each /readyz and obeys its context.
func NewAdmin(metrics prometheus.Gatherer, ready func(context.Context) []Check) *Admin {
	a := &Admin{mux: http.NewServeMux(), ready: ready}
	a.mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	a.mux.HandleFunc("GET /readyz", a.readyz)
	a.mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return a
}

// Unready makes /readyz answer 503 from now on: the process is going to stop.
func (a *Admin) Unready() { a.draining.Store(true) }

// ServeHTTP answers. The Host must be localhost or an address, which is what probes use: a web page whose name was made
// to resolve to this machine (DNS rebinding) gets nothing.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		host = strings.Trim(r.Host, "[]") // without a port
	}
	if _, err := netip.ParseAddr(host); err != nil && !strings.EqualFold(host, "localhost") {
		http.Error(w, "the admin port answers only where it is called localhost or by its IP address", http.StatusMisdirectedRequest)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// readiness is the body of /readyz.
type readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	body := readiness{Ready: true, Checks: []Check{}}
	if a.draining.Load() {
		body.Checks = append(body.Checks, Check{Name: "draining", Fatal: true, Message: "the process is stopping"})
	} else {
		body.Checks = append(body.Checks, a.ready(ctx)...)
	}
	for _, c := range body.Checks {
		body.Ready = body.Ready && (c.OK || !c.Fatal)
	}
	w.Header().Set("Content-Type", "application/json")
	if !body.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.Encode(body) //nolint:errcheck // a prober that has left is nobody to tell
}
