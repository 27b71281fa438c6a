package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// eraseDerived takes what was purged out of what is derived from nodes: the search index, its snapshot, and the metadata files,
// which tell summaries. For the gate.
func (sp *space) eraseDerived(purges []pendingPurge) error {
	purges = slices.DeleteFunc(slices.Clone(purges), func(p pendingPurge) bool { return p.tomb.Kind != store.KindNode })
	if len(purges) == 0 {
		return nil
	}
	if err := sp.finder.Fold(context.Background()); err != nil {
		return err
	}
	if err := sp.eraseSnapshot(); err != nil {
		return err
	}
	// What keeps them from being made is none of the purge's, and no reason to stop all writes: then they go.
	failed := sp.writeMetadata(context.Background(), sp.onWriter)
	if failed != nil {
		sp.log.Warn("the metadata files cannot be written", zap.Error(failed))
	}
	for _, file := range []string{tagsPath, nodeIndexPath} {
		if err := sp.eraseMetadata(file, purges, failed != nil); err != nil {
			return err
		}
	}
	// Also where nothing was there: who took it away may have failed before the folder was synced.
	return ignoreMissing(sp.tree.SyncDir(metadataFolder))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// eraseSnapshot writes the snapshot without what is in the index no more, or takes it away where it cannot be written.
func (sp *space) eraseSnapshot() error {
	if _, err := os.Stat(sp.snapshot); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	sp.snapshots.Lock()
	defer sp.snapshots.Unlock()
	if err := sp.replaceSnapshot(); err != nil {
		return errors.Join(os.Remove(sp.snapshot), syncFolder(sp.snapshot))
	}
	return syncFolder(sp.snapshot)
}

// eraseMetadata takes a file away that still names what was purged, as while it is not written, or that may come back, since
// writing it failed midway: it is made anew from the nodes.
func (sp *space) eraseMetadata(file string, purges []pendingPurge, failed bool) error {
	if err := ignoreMissing(sp.tree.Remove(filesys.Temporary(file))); err != nil {
		return err
	}
	data, err := sp.tree.ReadFile(file, format.MaxMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	named := namesIn(data)
	if err == nil && !failed && !slices.ContainsFunc(purges, func(p pendingPurge) bool { return named[p.tomb.ID] }) {
		return nil
	}
	return sp.tree.Remove(file)
}
