package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

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
	if err := sp.writeMetadata(context.Background(), sp.onWriter); err != nil {
		return err
	}
	for _, file := range []string{tagsPath, nodeIndexPath} {
		if err := sp.eraseMetadata(file, purges); err != nil {
			return err
		}
	}
	return nil
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

// eraseMetadata takes a file away that still names what was purged, as while it is not written: it is made anew from the nodes.
func (sp *space) eraseMetadata(file string, purges []pendingPurge) error {
	err := sp.tree.Remove(filesys.Temporary(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := sp.tree.ReadFile(file, format.MaxMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !slices.ContainsFunc(purges, func(p pendingPurge) bool { return bytes.Contains(data, []byte(p.tomb.ID.String())) }) {
		return nil
	}
	if err := sp.tree.Remove(file); err != nil {
		return err
	}
	return sp.tree.SyncDir(metadataFolder)
}
