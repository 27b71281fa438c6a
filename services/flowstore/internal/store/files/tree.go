package files

import (
	"errors"
	"io/fs"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// treeState is what the gate knows of the tree.
type treeState struct {
	// prepared says that the folders and files of a new namespace are there.
	prepared bool
	// folders are known to be durable under their names.
	folders map[string]bool
	indexes map[format.Kind]*indexFile
	// grown says that local.db wants a checkpoint, when nobody writes.
	grown bool
	// apart says that this file system cannot sync all that was written at once: each file is, without trying.
	apart bool
	// failed is when writing failed the last time.
	failed time.Time
	// closeErr is how the last writing of all went.
	closeErr error
}

func newTreeState() treeState {
	return treeState{
		folders: map[string]bool{},
		indexes: map[format.Kind]*indexFile{format.Nodes: {kind: format.Nodes}, format.Flows: {kind: format.Flows}},
	}
}

// prepare makes what a new namespace has.
func (sp *space) prepare() error {
	if sp.written.prepared {
		return nil
	}
	for _, dir := range []string{string(format.Nodes), string(format.Flows)} {
		if err := sp.ensureFolder(dir); err != nil {
			return err
		}
	}
	_, err := sp.tree.Stat(configName)
	if errors.Is(err, fs.ErrNotExist) {
		err = sp.writeNamespace()
	}
	sp.written.prepared = err == nil
	return err
}

func (sp *space) writeNamespace() error {
	for _, f := range format.NewTree(sp.clock()) {
		if _, err := sp.tree.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := filesys.Replace(sp.tree, f.Path, f.Data); err != nil {
			return err
		}
		if err := sp.tree.SyncDir("."); err != nil {
			return err
		}
	}
	return nil
}

const configName = format.ConfigName

// readConfig takes the settings of config.yaml, and tells what of it has no effect. A tree that a newer program wrote is refused.
func (sp *space) readConfig() error {
	data, err := sp.tree.ReadFile(configName, format.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var c format.Config
	if err == nil {
		c, err = format.DecodeConfig(data)
	}
	if err != nil {
		return &configError{err}
	}
	sp.settings = c.Settings
	sp.nodes.step, sp.flows.step = c.Settings.MaxFilesPerFolder, c.Settings.MaxFilesPerFolder
	sp.reader.Timezone = c.Settings.Timezone
	if len(c.Warnings) > 0 {
		sp.log.Warn("config.yaml has keys without an effect", zap.Strings("keys", c.Warnings))
	}
	return nil
}

type configError struct{ cause error }

func (e *configError) Error() string { return configName + ": " + e.cause.Error() }

// Unwrap gives the cause.
func (e *configError) Unwrap() error { return e.cause }

func (sp *space) ensureFolder(dir string) error {
	if sp.written.folders[dir] {
		return nil
	}
	if err := filesys.EnsureDir(sp.tree, dir); err != nil {
		return err
	}
	sp.written.folders[dir] = true
	return nil
}

// outFile is a file about to be written.
type outFile struct {
	path string
	data []byte
	hash commitlog.Hash
	id   uuid.UUID
	// time and created are as in holding.
	time, created time.Time
	// isNew says that nothing stood in its place.
	isNew bool
}

func (sp *space) describe(files []outFile) ([]commitlog.File, error) {
	return describeIn(sp.tree, files)
}

func describeIn(tree filesys.FS, files []outFile) ([]commitlog.File, error) {
	list := make([]commitlog.File, 0, len(files))
	for _, f := range files {
		info, err := tree.Stat(f.path)
		if err != nil {
			return nil, err
		}
		list = append(list, commitlog.File{
			Path: f.path, Size: info.Size, ModTime: info.ModTime, Hash: f.hash, ID: f.id, Time: f.time, Created: f.created,
		})
	}
	return list, nil
}
