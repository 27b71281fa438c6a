package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
)

// registerMetrics shows the counts of the store.
func registerMetrics(r prometheus.Registerer, s *files.Store) error {
	count := func(name, help string, value func(files.Stats) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "tsumugi", Subsystem: "flowstore", Name: name, Help: help},
			func() float64 { return value(s.Stats()) })
	}
	gauge := func(name, help string, value func(files.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "tsumugi", Subsystem: "flowstore", Name: name, Help: help},
			func() float64 { return value(s.Stats()) })
	}
	for _, c := range []prometheus.Collector{
		count("commits_total", "Transactions of callers, each one fsync.", func(s files.Stats) float64 { return float64(s.Commits) }),
		count("records_total", "Nodes, flows and changes that were written.", func(s files.Stats) float64 { return float64(s.Records) }),
		count("log_syncs_total", "Fsyncs of the commit log: one for each transaction, those of callers and of the text files.", func(s files.Stats) float64 { return float64(s.Syncs) }),
		count("files_total", "Text files that were written.", func(s files.Stats) float64 { return float64(s.Files) }),
		count("waits_total", "Writers that had to wait for text files to be written.", func(s files.Stats) float64 { return float64(s.Waits) }),
		count("waits_seconds_total", "How long writers waited for text files.", func(s files.Stats) float64 { return s.Waited.Seconds() }),
		gauge("pending_records", "Acknowledged records that are in no text file yet.", func(s files.Stats) float64 { return float64(s.PendingRecords) }),
		gauge("pending_bytes", "Size of the pending records.", func(s files.Stats) float64 { return float64(s.PendingBytes) }),
		gauge("read_only_namespaces", "Namespaces that cannot write.", func(s files.Stats) float64 { return float64(s.ReadOnly) }),
	} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering metrics of flowstore: %w", err)
		}
	}
	return nil
}
