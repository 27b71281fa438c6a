package filesys

import "path"

// Sub gives the tree below one folder of a tree.
func Sub(fsys FS, dir string) FS { return sub{fsys, dir} }

type sub struct {
	fsys FS
	dir  string
}

func (s sub) name(name string) string { return path.Join(s.dir, path.Clean("/"+name)) }

func (s sub) Create(name string) (File, error) { return s.fsys.Create(s.name(name)) }

func (s sub) Append(name string) (File, error) { return s.fsys.Append(s.name(name)) }

func (s sub) ReadFile(name string, limit int64) ([]byte, error) {
	return s.fsys.ReadFile(s.name(name), limit)
}

func (s sub) Rename(from, to string) error { return s.fsys.Rename(s.name(from), s.name(to)) }

func (s sub) RenameNew(from, to string) error { return s.fsys.RenameNew(s.name(from), s.name(to)) }

func (s sub) Remove(name string) error { return s.fsys.Remove(s.name(name)) }

func (s sub) Mkdir(name string) error { return s.fsys.Mkdir(s.name(name)) }

func (s sub) SyncDir(name string) error { return s.fsys.SyncDir(s.name(name)) }

func (s sub) Stat(name string) (Info, error) { return s.fsys.Stat(s.name(name)) }

func (s sub) List(name string) ([]Info, error) { return s.fsys.List(s.name(name)) }

func (s sub) Folder(name string) (Folder, error) { return s.fsys.Folder(s.name(name)) }
