package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// To is where the file of a step goes; empty where it stays in its place, or is only moved away.
func (s Step) To() string { return s.to }

// MovedTo is the step with another place to go to.
func (s Step) MovedTo(to string) Step {
	s.to, s.Text = to, movesTo(to)
	return s
}

func movesTo(to string) string { return "moves to " + to }

// moves plans where files of the trash go whose names are taken.
type moves struct {
	tree *tree
	free map[format.Kind]*format.Names
}

// step plans for one file; ok is false where all names are taken.
func (m *moves) step(f *file) (s Step, ok bool) {
	s.Path = f.path
	if copied := m.tree.copyOf(f); copied != nil {
		return s.MovedTo(copied.path), true
	}
	if m.free == nil {
		m.free = m.tree.freeNames()
	}
	n, ok := m.free[f.kind].Give()
	if !ok {
		return s, false
	}
	return s.MovedTo(path.Join(f.folder, f.kind.SlotPath(n))), true
}

// copyOf finds what a mending that was interrupted made of a file already: it is not copied twice.
func (t *tree) copyOf(f *file) *file {
	for _, g := range t.files {
		there := t.files[path.Join(f.inTree().folder, g.row())]
		if g != f && g.place == f.place && g.ok && f.ok && g.sum == f.sum && there == nil {
			return g
		}
	}
	return nil
}

// freeNames gives, by kind, names that were never given: a file that is gone does not make its name free.
func (t *tree) freeNames() map[format.Kind]*format.Names {
	taken := map[format.Kind][]int{}
	take := func(kind format.Kind, name format.FileName) {
		if n, ok := name.Slot(); ok {
			taken[kind] = append(taken[kind], n)
		}
	}
	for _, f := range t.files {
		take(f.kind, f.name)
	}
	for _, r := range t.tombs {
		if name, ok := r.Kind.ParseName(r.Path); ok {
			take(r.Kind, name)
		}
	}
	for _, p := range places {
		data, err := t.fsys.ReadFile(p.index(), maxIndex)
		if err != nil || p.trash {
			continue
		}
		rows, _ := p.kind.ReadIndex(data)
		for _, r := range rows {
			if name, ok := p.kind.ParseName(r.Path); ok {
				take(p.kind, name)
			}
		}
	}
	nodes, flows := format.NamesBehind(taken[format.Nodes]), format.NamesBehind(taken[format.Flows])
	return map[format.Kind]*format.Names{format.Nodes: &nodes, format.Flows: &flows}
}

// move gives a file its new name: written and durable there before it is taken away here.
func (s Step) move(fsys filesys.FS) error {
	data, err := fsys.ReadFile(s.Path, format.MaxFile)
	if err != nil {
		return err
	}
	there, err := fsys.ReadFile(s.to, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = put(fsys, s.to, data)
	case err == nil && !bytes.Equal(there, data):
		return &LeftError{fmt.Sprintf("%s, to which it was to move, is another file; look again", s.to)}
	}
	if err != nil {
		return err
	}
	if err := fsys.Remove(s.Path); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(s.Path))
}

func put(fsys filesys.FS, name string, data []byte) error {
	if err := ensureAll(fsys, path.Dir(name)); err != nil {
		return err
	}
	if err := filesys.Replace(fsys, name, data); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}
