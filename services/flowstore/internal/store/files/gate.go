package files

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Gate says when acknowledged writes become files. Written at once beside the log they take away what the shared fsync
// gains; left for ever they fill memory and local.db.
type Gate struct {
	// Idle is how long nothing must have been written.
	Idle time.Duration
	// MaxAge is how old a write may grow, however busy the store is.
	MaxAge time.Duration
	// MaxRecords and MaxBytes bound what waits: when it is as much, writers wait until half of it is in files.
	MaxRecords int
	MaxBytes   int64
	// Retry is how long to wait after files could not be written.
	Retry time.Duration
	// Parallel is how many files are written at once: their fsyncs share what the disk has to do.
	Parallel int
	// Together is from how many new files on all that was written to the file system is synced instead of each of them: by
	// others too, which takes the longer the more that is.
	Together int
}

// DefaultGate is what a Gate should be without a reason for something else.
func DefaultGate() Gate {
	return Gate{
		Idle:       20 * time.Millisecond,
		MaxAge:     5 * time.Second,
		MaxRecords: 10_000,
		MaxBytes:   64 << 20,
		Retry:      5 * time.Second,
		Parallel:   8,
		Together:   32,
	}
}

// full says that writers have to wait.
func (g Gate) full(p *pending) bool {
	return p.records >= g.MaxRecords || p.bytes >= g.MaxBytes
}

// halfEmpty says that writers who waited may go on.
func (g Gate) halfEmpty(p *pending) bool {
	return p.records <= g.MaxRecords/2 && p.bytes <= g.MaxBytes/2
}

// flush is somebody who waits for the files.
type flush struct{ done chan flushed }

type flushed struct {
	files int
	err   error
}

// flush has the gate write everything, and says how many files it wrote. The metadata files, which follow, are not counted.
func (sp *space) flush(ctx context.Context) (int, error) {
	f := flush{done: make(chan flushed, 1)}
	defer sp.foldBeside(ctx)()
	select {
	case sp.flushes <- f:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-sp.closing:
		return 0, store.ErrClosed
	}
	select {
	case r := <-f.done:
		if r.err != nil {
			return r.files, r.err
		}
		return r.files, sp.writeMetadata(ctx, func(do func() error) error { return sp.ask(ctx, do) })
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// foldBeside begins to read what waits into the index, which the metadata need, while files are written: where that is as much as
// a chunk, from memory and on another core. wait returns when it has ended; what it could not read is read again.
func (sp *space) foldBeside(ctx context.Context) (wait func()) {
	sp.mu.RLock()
	many := sp.pending.records >= chunkFiles
	sp.mu.RUnlock()
	if !many {
		return func() {}
	}
	var folding sync.WaitGroup
	folding.Go(func() { _ = sp.finder.Fold(ctx) })
	return folding.Wait
}

// wakeGate has the gate look again when it should write.
func (sp *space) wakeGate() {
	select {
	case sp.wake <- struct{}{}:
	default:
	}
}

// runGate writes files when it is time, or somebody waits for it, and all that is left at the end.
func (sp *space) runGate() {
	defer close(sp.stopping)
	timer := time.NewTimer(long)
	defer timer.Stop()
	for {
		wait := sp.dueIn(time.Now())
		if wait <= 0 {
			sp.writeDue()
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-sp.wake:
		case f := <-sp.flushes:
			files, err := sp.write(never)
			f.done <- flushed{files, err}
		case j := <-sp.gateJobs:
			j.done <- sp.guard(j.do)
		case <-sp.closing:
			if !sp.copied { // Nothing was acknowledged, and what was before is where it was.
				_, sp.written.closeErr = sp.write(never)
			}
			return
		}
	}
}

func never() bool { return false }

// long is how long the gate sleeps when there is nothing to do: until it is woken.
const long = time.Hour

// dueIn is how long to wait before files are written.
func (sp *space) dueIn(now time.Time) time.Duration {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	p := &sp.pending
	switch {
	case sp.broken:
		return long
	case sp.cause != nil:
		return sp.written.failed.Add(sp.gate.Retry).Sub(now)
	case sp.gate.full(p):
		return 0
	}
	idle := p.wrote.Add(sp.gate.Idle).Sub(now)
	if sp.committing.Load() {
		idle = sp.gate.Idle
	}
	switch {
	case p.empty() && !sp.written.stale() && sp.written.grown:
		return idle
	case p.empty() && !sp.written.stale():
		return long
	}
	return min(idle, max(p.since.Add(sp.gate.MaxAge).Sub(now), 0))
}

// writeDue writes files for the reason for which it is time. Without need it gives way to the next writer.
func (sp *space) writeDue() {
	sp.mu.RLock()
	p := &sp.pending
	full, wrote := sp.gate.full(p), p.wrote
	old := !p.empty() && time.Since(p.since) >= sp.gate.MaxAge
	sp.mu.RUnlock()
	stop := func() bool { return sp.wroteAfter(wrote) }
	switch {
	case full:
		stop = func() bool { return !sp.mustWait() }
	case old:
		stop = never
	}
	// The error stands in cause, and is tried again after Retry.
	_, _ = sp.write(stop)
}

func (sp *space) isClosing() bool {
	select {
	case <-sp.closing:
		return true
	default:
		return false
	}
}

// wroteAfter says that a write came after t, or is about to.
func (sp *space) wroteAfter(t time.Time) bool {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.committing.Load() || sp.pending.wrote.After(t)
}

// mustWait says that writers have to wait for files. Once they do, half of what waits must be written first. Where nothing
// can be written they do not wait, and are told so.
func (sp *space) mustWait() bool {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.cause == nil && sp.pending.waiting
}

// write writes files until everything that was pending is written, or stop says so between two chunks.
func (sp *space) write(stop func() bool) (files int, err error) {
	start, last := time.Now(), sp.lastSeq()
	var done, again bool
	for !done && err == nil {
		var n int
		err = sp.guard(func() (err error) {
			n, done, err = sp.writeChunk(last)
			return err
		})
		files += n
		if err != nil {
			// A hand may have taken a folder away.
			sp.written.prepared = false
			clear(sp.written.folders)
		}
		if again = errors.Is(err, fs.ErrNotExist) && !again; again {
			err = nil // It is made anew where it stood, and what was written into it is written there.
		}
		if stop() {
			break
		}
	}
	sp.stats.files.Add(int64(files))
	return files, sp.wrote(start, done, err)
}

func (sp *space) lastSeq() int64 {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.pending.last
}

// wrote notes how writing went, and has SQLite move on what is in its write-ahead log: when nobody has written for a moment
// (field/perf.md row 13), since callers wait for the writer meanwhile.
func (sp *space) wrote(start time.Time, done bool, err error) error {
	return sp.onWriter(func() error {
		if err := sp.setCause(err); err != nil {
			return err
		}
		if done {
			sp.mu.Lock()
			sp.pending.since = start
			sp.mu.Unlock()
		}
		sp.mu.RLock()
		busy := time.Since(sp.pending.wrote) < sp.gate.Idle
		sp.mu.RUnlock()
		err := sp.local.Checkpoint(busy)
		sp.written.grown = sp.local.Grown()
		if err != nil {
			sp.log.Warn("local.db grows, since it cannot be checkpointed", zap.Error(err))
		}
		return nil
	})
}

// setCause turns the namespace read-only after a disk fault, and back when writing works again: what was acknowledged is
// in local.db, and is written anew from there. (Syncing a file again after a failed sync proves nothing.)
func (sp *space) setCause(err error) error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	switch {
	case sp.broken:
		return &store.ReadOnlyError{Cause: sp.cause}
	case err != nil:
		sp.written.failed = time.Now()
		sp.cause = err
		sp.log.Error("files cannot be written; no more writes until they can", zap.Error(err))
		return &store.ReadOnlyError{Cause: err}
	case sp.cause != nil:
		sp.cause = nil
		sp.log.Info("files can be written again")
	}
	return nil
}
