// Package watch tells which folders somebody changes, by what the operating system says (fsnotify).
//
// Network file systems say nothing, and some systems lose events when many come at once: who needs to be sure looks by itself now
// and then.
package watch

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watcher watches folders, not those below them. Safe for concurrent use.
type Watcher struct {
	fs *fsnotify.Watcher
	wg sync.WaitGroup
}

// New makes a watcher without folders. changed is told of each change the folder in which it was; names that begin with a dot are
// left out, as those are of programs and not of people. lost is told why changes may have been missed. Both are called on a
// goroutine of the watcher, one at a time, and never after Close. The error says why the operating system has no watcher to give.
func New(changed func(folder string), lost func(error)) (*Watcher, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{fs: fs}
	w.wg.Go(func() { w.run(changed, lost) })
	return w, nil
}

func (w *Watcher) run(changed func(folder string), lost func(error)) {
	for {
		select {
		case e, ok := <-w.fs.Events:
			switch {
			case !ok:
				return
			case e.Op != fsnotify.Chmod && !strings.HasPrefix(filepath.Base(e.Name), "."):
				changed(filepath.Dir(e.Name))
			}
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			lost(err)
		}
	}
}

// Watch watches a folder; one that is watched already stays so. A folder that goes away is watched no longer: when it comes back,
// watch it again. The error wraps those of package io/fs where they apply.
func (w *Watcher) Watch(folder string) error { return w.fs.Add(folder) }

// Close ends watching.
func (w *Watcher) Close() error {
	err := w.fs.Close()
	w.wg.Wait()
	return err
}
