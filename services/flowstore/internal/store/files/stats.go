package files

import (
	"sync/atomic"
	"time"
)

// Stats are counts since Open, over all namespaces, and what is pending now.
type Stats struct {
	// Commits is transactions of callers, each one fsync; Records is what they wrote: nodes, flows and changes.
	Commits, Records int64
	// Syncs is how often the commit log was synced: once for each transaction of local.db, callers' or our own bookkeeping
	// of files. (Checkpoints sync besides: when nobody writes, or one in 64 MiB.)
	Syncs int64
	// Files is how many files were written.
	Files int64
	// Waits is how often writers had to wait for files to be written, Waited for how long.
	Waits  int64
	Waited time.Duration
	// PendingRecords and PendingBytes are acknowledged and not in the tree yet.
	PendingRecords int
	PendingBytes   int64
	// ReadOnly is how many namespaces cannot write.
	ReadOnly int
}

type counters struct {
	commits, records, syncs, files, waits, waited atomic.Int64
}

// Stats gives the counts, for metrics.
func (s *Store) Stats() Stats {
	stats := Stats{
		Commits: s.stats.commits.Load(), Records: s.stats.records.Load(), Syncs: s.stats.syncs.Load(), Files: s.stats.files.Load(),
		Waits: s.stats.waits.Load(), Waited: time.Duration(s.stats.waited.Load()),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spaces {
		select {
		case <-o.ready:
			if o.space != nil {
				o.space.addTo(&stats)
			}
		default: // Not open yet.
		}
	}
	return stats
}

func (sp *space) addTo(stats *Stats) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	stats.PendingRecords += sp.pending.records
	stats.PendingBytes += sp.pending.bytes
	if sp.cause != nil {
		stats.ReadOnly++
	}
}
