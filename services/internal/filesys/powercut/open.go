package powercut

import "github.com/tsumugi-dev/tsumugi/services/internal/filesys"

// Folder implements filesys.FS. What is done in it are steps with the whole names.
func (f *FS) Folder(name string) (filesys.Folder, error) {
	err := f.do(OpFolder, name, func() error {
		_, err := f.folder(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return open{filesys.Sub(f, name), f, name}, nil
}

// open is a folder that is held open. It goes by its name all the same: nobody renames folders here.
type open struct {
	filesys.FS
	fs   *FS
	name string
}

// SyncAll makes all below the folder durable, and not the folder's own name, which is less than a disk does. On a fault nothing
// of it is.
func (o open) SyncAll() error {
	o.fs.mu.Lock()
	defer o.fs.mu.Unlock()
	err := o.fs.step(OpSyncAll, o.name)
	switch dir, missing := o.fs.folder(o.name); {
	case err == nil && missing != nil:
		err = missing
	case err == nil:
		dir.syncAll()
	case isFault(err) && missing == nil:
		dir.lose()
	}
	return pathError(OpSyncAll, o.name, err)
}

// Close does nothing: it takes no step.
func (o open) Close() error { return nil }
