package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// loadTombs reads what was purged. A file that cannot be read stops the namespace: without it, what was purged and came
// back with a checkout would be served.
func (sp *space) loadTombs() error {
	tombs, seen, problems, err := sp.readTombs()
	if err != nil {
		return err
	}
	for _, p := range problems {
		sp.keep(note{Problem: store.Problem{Path: tombstonesName, Reason: p}})
	}
	sp.tombsSeen = seen
	for _, t := range tombs {
		x := sp.indexOf(t.Kind)
		for _, file := range t.paths {
			x.take(file)
		}
		x.tombs[t.ID] = t
	}
	return nil
}

// readTombs reads tombstones.tsv, one tomb for each thing, and how it was seen before it was read.
func (sp *space) readTombs() (tombs []tomb, seen commitlog.File, problems []string, err error) {
	info, err := sp.tree.Stat(tombstonesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, seen, nil, nil
	}
	var data []byte
	if err == nil {
		data, err = sp.tree.ReadFile(tombstonesName, format.MaxMetadata)
	}
	if err != nil {
		return nil, seen, nil, fmt.Errorf("what was purged is not known: %w", err)
	}
	seen = commitlog.File{Path: tombstonesName, Size: info.Size, ModTime: info.ModTime}
	rows, problems := format.ReadTombstones(data)
	at := map[store.Thing]int{}
	for _, row := range rows {
		t := tomb{Tombstone: tombstoneOf(row)}
		i, known := at[t.Thing]
		if !known {
			i, tombs = len(tombs), append(tombs, t)
			at[t.Thing] = i
		}
		tombs[i].paths = append(tombs[i].paths, path.Join(string(row.Kind), row.Path))
	}
	return tombs, seen, problems, nil
}

// cameBack says of a file that it holds what was purged: somebody brought it back.
func (t tomb) cameBack() string {
	return fmt.Sprintf("it holds %s, which was purged at %s (%s), and is not served; take the file away, or, if it shall be there "+
		"again, its row out of %s", t.Kind.Name(t.ID), t.At.Format(time.RFC3339), t.Reason, tombstonesName)
}

// Purged implements store.Store.
func (s *Store) Purged(ctx context.Context, ns string, t store.Thing) (store.Purged, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil {
		return store.Purged{}, err
	}
	if sp == nil {
		return store.Purged{}, t.Kind.NotFound()
	}
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	found, ok := sp.indexOf(t.Kind).tombs[t.ID]
	if !ok {
		return store.Purged{}, t.Kind.NotFound()
	}
	told := store.Purged{Tombstone: found.Tombstone, Remains: remains(sp.left[t])}
	told.Nodes = found.With(func(yield func(store.Tombstone) bool) {
		for _, other := range sp.nodes.tombs {
			if !yield(other.Tombstone) {
				return
			}
		}
	})
	if root, ok := workTree(filepath.Join(s.opts.Data, ns)); ok {
		told.Remains = append(told.Remains, inHistory(root, t))
	}
	return told, nil
}

// maxRemains is how many files are named that may hold what was purged.
const maxRemains = 100

// remains are sentences on files that may hold what was purged.
func remains(left map[string]string) (told []string) {
	for _, file := range slices.Sorted(maps.Keys(left)) {
		if len(told) == maxRemains {
			return append(told, fmt.Sprintf("and %d more files; look for the id in the folder", len(left)-maxRemains))
		}
		told = append(told, file+": "+left[file])
	}
	return told
}

// workTree looks upwards for the git work tree that a folder is in.
func workTree(folder string) (root string, ok bool) {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folder, true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", false
		}
		folder = parent
	}
}

// inHistory tells a person what git may still have, and what to do. Git is not asked: it would read all that the history ever held. So
// both commands find the contents by what is in them: a file had other names in earlier commits, and on other branches, and a name
// held other things.
func inHistory(root string, of store.Thing) string {
	files, holds := "*.yaml", `(?im)^id\s*:\s*.?`
	if of.Kind == store.KindNode {
		files, holds = "*.xml", `(?i)<node\s[^>]*\bid\s*=\s*.`
	}
	return fmt.Sprintf("The data is in the git work tree %[1]q: commits, stashes and clones may hold it, under any name. "+
		"`git log --all -m --no-textconv --no-renames --oneline -S%[2]s -- '%[3]s'` lists the commits that brought, moved or removed it. To take it out of "+
		"all of them, run `git filter-repo --blob-callback 'import re; re.search(rb\"%[4]s%[2]s\", blob.data) and blob.skip()'` in a fresh "+
		"clone, push all branches and tags with force, and have every other clone made anew.", root, of.ID, files, holds)
}
