package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"go.uber.org/zap"
)

// maxWatched is how many folders of a store are watched (field/flowstore.md 3): systems have as many watches to give for all
// programs together. Others are looked through with Options.Rescan alone.
const maxWatched = 2000

// watching is what tells of changes, for all namespaces.
type watching struct {
	mu      sync.Mutex
	watcher Watcher
	folders map[string]bool
	// told says that the log knows that something cannot be watched.
	told bool
}

// startWatching makes the watcher; where there is none to be had, the log is told.
func (s *Store) startWatching() {
	s.watch.folders = map[string]bool{}
	if s.opts.Watch == nil {
		return
	}
	watcher, err := s.opts.Watch(s.changed, s.lost)
	if err != nil {
		s.notWatched(err)
		return
	}
	s.watch.watcher = watcher
}

// watchFolder has a folder of the tree watched.
func (s *Store) watchFolder(folder string) error {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watcher == nil {
		return nil
	}
	if !w.folders[folder] && len(w.folders) >= maxWatched {
		return fmt.Errorf("there are more than %d folders", maxWatched)
	}
	err := w.watcher.Watch(filepath.Join(s.opts.Data, filepath.FromSlash(folder)))
	if err == nil {
		w.folders[folder] = true
	} else {
		delete(w.folders, folder)
	}
	return err
}

// close ends telling.
func (w *watching) close() error {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Close()
}

// changed tells a namespace that something changed in one of its folders.
func (s *Store) changed(folder string) {
	rel, err := filepath.Rel(s.opts.Data, folder)
	if err != nil {
		return
	}
	ns, dir, _ := strings.Cut(filepath.ToSlash(rel), "/")
	s.stir(ns, path.Clean(dir))
}

// lost has all namespaces looked through, since changes may have been missed.
func (s *Store) lost(err error) {
	s.opts.Log.Info("changes of files may have been missed; all folders are looked through", zap.Error(err))
	s.mu.Lock()
	var all []string
	for ns := range s.spaces {
		all = append(all, ns)
	}
	s.mu.Unlock()
	for _, ns := range all {
		s.stir(ns, "")
	}
}

// stir tells a namespace that is open.
func (s *Store) stir(ns, folder string) {
	s.mu.Lock()
	o := s.spaces[ns]
	s.mu.Unlock()
	if o == nil {
		return
	}
	select {
	case <-o.ready:
		if o.space != nil {
			o.space.stirred.stir(folder)
		}
	default: // It looks at everything when it is open.
	}
}

// notWatched tells the log, once, that changes are found by looking only.
func (s *Store) notWatched(err error) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if !s.watch.told {
		s.watch.told = true
		s.opts.Log.Warn("not all folders can be watched; what hands change there is found when all are looked through",
			zap.Duration("every", s.opts.Rescan), zap.Error(err))
	}
}

// watchIn has a folder of the namespace watched, and says whether it was not before.
func (sp *space) watchIn(dir string) (isNew bool) {
	isNew = !sp.watched[dir]
	sp.watched[dir] = true
	if err := sp.watcher(path.Join(sp.name, dir)); errors.Is(err, fs.ErrNotExist) {
		delete(sp.watched, dir)
	} else if err != nil {
		sp.notWatched(err)
	}
	return isNew
}
