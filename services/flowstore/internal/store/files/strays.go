package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// strays are what the folders hold of things that are to be erased, whatever the index knows: a hand may have copied a file a moment
// ago, and a killed process left one half written.
type strays struct {
	*space
	// of are the things of the kind that is looked for.
	of []store.Thing
	// sought are all of them.
	sought map[store.Thing]bool
	// files are those that can be read and have a name of ours, seen from the namespace.
	files map[store.Thing][]string
	// halves are temporary files of ours.
	halves map[store.Thing][]string
	// remains are files that may be a person's, with what to do about them.
	remains map[store.Thing]map[string]string
}

// maxDepth is how deep folders are looked into; ours are two deep.
const maxDepth = 8

// findStrays looks through the folders of the tree and the trash. Files that are as they were seen last are not opened.
func (sp *space) findStrays(purges []pendingPurge) (*strays, error) {
	s := &strays{
		space: sp, sought: map[store.Thing]bool{}, files: map[store.Thing][]string{}, halves: map[store.Thing][]string{}, remains: map[store.Thing]map[string]string{},
	}
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		s.of = nil
		for _, p := range purges {
			if p.tomb.Kind == thingOf(kind) {
				s.of = append(s.of, p.tomb.Thing)
				s.sought[p.tomb.Thing] = true
			}
		}
		if len(s.of) == 0 {
			continue
		}
		for _, folder := range []string{string(kind), trashPath(string(kind))} {
			if err := s.walk(kind, folder, maxDepth); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *strays) walk(kind format.Kind, folder string, depth int) error {
	entries, err := s.listed(folder)
	if errors.Is(err, fs.ErrPermission) {
		s.closed(folder, err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := path.Join(folder, e.Name)
		switch {
		case e.Mode.IsDir() && depth > 0:
			err = s.walk(kind, file, depth-1)
		case !e.Mode.IsRegular(), file == s.written.indexes[kind].path():
		default:
			s.take(kind, file, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take looks at one file.
func (s *strays) take(kind format.Kind, file string, info filesys.Info) {
	_, ours := kindOfFile(file)
	if id, known := s.known(kind, file, info); ours && known {
		s.found(kind, id, file)
		return
	}
	data, err := s.tree.ReadFile(file, format.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.closed(file, err)
		return
	}
	id, _, _, broken := s.identify(kind, inTree(file), data)
	if broken == nil && ours {
		s.found(kind, id, file)
		return
	}
	named := namesIn(data)
	for _, of := range s.of {
		switch {
		case broken == nil && id != of.ID, broken != nil && !named[of.ID]:
		case isTemporary(kind, file):
			s.halves[of] = append(s.halves[of], file)
		case broken == nil:
			s.remain(of, file, fmt.Sprintf("it holds %s, which was purged, and has no name of ours; take it away", of.Kind.Name(of.ID)))
		default:
			s.remain(of, file, fmt.Sprintf("it cannot be read (%v), and names %s, which was purged; look into it, and take it away", broken, of.Kind.Name(of.ID)))
		}
	}
}

// known gives what a file holds that is as it was seen last, and could be read then.
func (s *strays) known(kind format.Kind, file string, info filesys.Info) (id uuid.UUID, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	row, seen := s.seen.get(file)
	_, broken := s.indexedBy(kind).broken[file]
	return row.id, seen && !broken && row.size == info.Size && row.modTime == info.ModTime
}

func (s *strays) found(kind format.Kind, id uuid.UUID, file string) {
	if of := (store.Thing{Kind: thingOf(kind), ID: id}); s.sought[of] {
		s.files[of] = append(s.files[of], file)
	}
}

// closed notes what cannot be looked into.
func (s *strays) closed(place string, why error) {
	for _, of := range s.of {
		s.remain(of, place, fmt.Sprintf("it cannot be looked into (%v), and may hold %s, which was purged; look into it, and take it away", why, of.Kind.Name(of.ID)))
	}
}

func (s *strays) remain(of store.Thing, file, why string) {
	if s.remains[of] == nil {
		s.remains[of] = map[string]string{}
	}
	s.remains[of][file] = why
}

// namesIn gives the ids that stand anywhere in a text.
func namesIn(data []byte) map[uuid.UUID]bool {
	const length, dash = 36, 8
	ids := map[uuid.UUID]bool{}
	for at := dash; at+length-dash <= len(data); at++ {
		if data[at] != '-' || data[at+5] != '-' {
			continue
		}
		if id, err := uuid.ParseBytes(data[at-dash : at-dash+length]); err == nil {
			ids[id] = true
		}
	}
	return ids
}

// isTemporary says whether a file has the name under which one of ours is written.
func isTemporary(kind format.Kind, file string) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "."), ".tmp")
	own, ours := kindOfFile(path.Join(path.Dir(file), name))
	return ours && own == kind && filesys.Temporary(path.Join(path.Dir(file), name)) == file
}
