package files

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// The snapshot of the search index lies beside local.db, and is no part of the tree: it can be made from the files, and has a
// checksum, so nothing depends on its being whole.
const snapshotName = "search.idx"

// A snapshot is written when so many nodes changed, and a share of all: so it costs each change no more than ten times the
// index of one node, and after a crash no more than that is read again. At the end it is written in any case.
const (
	snapshotChanges = 1000
	snapshotShare   = 10
)

func snapshotDue(changes, nodes int) bool {
	return changes >= max(snapshotChanges, nodes/snapshotShare)
}

// readSnapshot gives the index as it was written, or an empty one where there is none that can be used.
func (sp *space) readSnapshot() *search.Index {
	if !sp.copied {
		_ = os.Remove(sp.snapshot + ".tmp") // of a process that was killed
	}
	data, err := os.ReadFile(sp.snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return search.New()
	}
	var index *search.Index
	if err == nil {
		index, err = search.Decode(data)
	}
	if err != nil {
		sp.log.Warn("the search index is made anew", zap.Error(err))
		return search.New()
	}
	return index
}

// writeSnapshot writes the index where so many changes of it are not in the snapshot that due says so. An error is told to the log:
// the snapshot that was there stays.
func (sp *space) writeSnapshot(due func(changes, nodes int) bool) {
	if sp.copied {
		return
	}
	sp.snapshots.Lock()
	defer sp.snapshots.Unlock()
	changes := sp.finder.Changes()
	if changes == sp.snapshotOf || !due(changes-sp.snapshotOf, sp.finder.Index().Len()) {
		return
	}
	if err := sp.replaceSnapshot(); err != nil {
		sp.log.Warn("the search index cannot be written; it will be made anew at the next start", zap.Error(err))
		return
	}
	sp.snapshotOf = changes
}

// replaceSnapshot writes the index as it is now, in which nothing is of nodes that were taken out of it.
func (sp *space) replaceSnapshot() error {
	tmp := sp.snapshot + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = sp.finder.Index().Encode(w)
	err = errors.Join(err, w.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, sp.snapshot)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// quiet is how long nothing must have been touched before what is derived from the nodes is written.
const quiet = 5 * time.Second

// runFinder reads what was touched, and what the index lacks, and writes what is derived when it is time, until the namespace
// is closing.
func (sp *space) runFinder() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fold, settle := time.NewTimer(sp.gate.Idle), time.NewTimer(quiet)
	defer fold.Stop()
	defer settle.Stop()
	sp.wg.Go(func() {
		<-sp.closing
		cancel()
	})
	for {
		select {
		case <-sp.finder.Woken():
			if !sp.awaitLull(ctx, fold) {
				return
			}
			sp.foldAll(ctx)
			settle.Reset(max(min(sp.metadata.dueIn(time.Now()), quiet), 0))
		case <-settle.C:
			sp.writeQuietly(ctx)
			settle.Reset(max(min(sp.metadata.dueIn(time.Now()), long), quiet))
		case <-ctx.Done():
			return
		}
	}
}

// foldPatience is how long the index may stay behind while callers write: reading a node into it takes as long as storing one,
// and a search reads what is missing by itself.
const foldPatience = 250 * time.Millisecond

// awaitLull waits until nobody has written for a moment, at most for foldPatience; what is touched again meanwhile is read once.
// False when the context has ended.
func (sp *space) awaitLull(ctx context.Context, timer *time.Timer) bool {
	for began := time.Now(); ; {
		asked := time.Now()
		timer.Reset(sp.gate.Idle)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
		if !sp.wroteAfter(asked) || time.Since(began) >= foldPatience {
			return true
		}
	}
}

// writeQuietly writes what is due of what is derived from the nodes.
func (sp *space) writeQuietly(ctx context.Context) {
	sp.writeSnapshot(snapshotDue)
	if sp.metadata.dueIn(time.Now()) > 0 {
		return
	}
	if err := sp.writeMetadata(ctx, func(do func() error) error { return sp.ask(ctx, do) }); err != nil && ctx.Err() == nil {
		sp.log.Warn("the metadata files cannot be written", zap.Error(err))
	}
}

// foldAll reads what the index lacks; what is touched meanwhile comes first.
func (sp *space) foldAll(ctx context.Context) {
	err := sp.finder.Fold(ctx)
	for more := true; more && err == nil; {
		if more, err = sp.finder.FoldMissing(ctx); err == nil && more {
			err = sp.finder.Fold(ctx)
		}
	}
	if _, why := sp.finder.Partial(); err == nil && why != nil && !sp.toldPartial {
		sp.toldPartial = true
		sp.log.Error("the search index does not have all nodes", zap.Error(why))
	}
}

// closeFinder writes what is derived from the nodes. No goroutine uses the namespace any more.
func (sp *space) closeFinder() error {
	err := sp.finder.Fold(context.Background())
	if _, why := sp.finder.Partial(); why != nil && !errors.As(why, new(*search.FullError)) {
		err = why
	}
	err = errors.Join(err, sp.writeMetadata(context.Background(), func(do func() error) error { return do() }))
	sp.writeSnapshot(func(int, int) bool { return true })
	return err
}

// syncFolder makes the name of a file durable, or that it has none.
func syncFolder(file string) error {
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
