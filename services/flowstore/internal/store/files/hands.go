package files

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

const (
	// settle is how long a folder must be quiet before it is looked into: an editor writes a file in several steps. patience is
	// how long it may go on.
	settle   = 200 * time.Millisecond
	patience = time.Second
)

// stirred are the folders of a namespace in which somebody changed something.
type stirred struct {
	mu      sync.Mutex
	folders map[string]bool
	// all says that nobody knows which.
	all         bool
	first, last time.Time
	wake        chan struct{}
}

func newStirred() *stirred { return &stirred{folders: map[string]bool{}, wake: make(chan struct{}, 1)} }

// stir notes that something changed in a folder; the empty name, that nobody knows in which.
func (s *stirred) stir(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if len(s.folders) == 0 && !s.all {
		s.first = s.last
	}
	s.all = s.all || folder == ""
	s.folders[folder] = true
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dueIn is how long to wait before the folders are looked into.
func (s *stirred) dueIn(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.folders) == 0 {
		return long
	}
	return min(s.last.Add(settle).Sub(now), s.first.Add(patience).Sub(now))
}

// taken gives the folders and forgets them; nil for all.
func (s *stirred) taken() (folders []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.all {
		folders = slices.Sorted(maps.Keys(s.folders))
	}
	clear(s.folders)
	s.all = false
	return folders
}

// rescanned is somebody who waits for a scan.
type rescanned struct{ done chan error }

// runHands looks for what hands do: where something stirs, every so often (never, for 0), and when somebody asks for it.
func (sp *space) runHands(every time.Duration, watched bool) {
	if every > 0 || watched {
		sp.stirred.stir("") // So that the folders are watched, and what changed since they were read is found.
	}
	next := time.Now().Add(long)
	if every > 0 {
		next = time.Now().Add(every)
	}
	timer := time.NewTimer(long)
	defer timer.Stop()
	for {
		now := time.Now()
		if every > 0 && !now.Before(next) {
			sp.stirred.stir("")
			next = now.Add(every)
		}
		wait := sp.stirred.dueIn(now)
		if wait <= 0 {
			sp.lookForHands(sp.stirred.taken())
			continue
		}
		timer.Reset(max(min(wait, next.Sub(now)), time.Millisecond))
		select {
		case <-timer.C:
		case <-sp.stirred.wake:
		case r := <-sp.rescans:
			_, err := sp.rescan(context.Background(), nil)
			r.done <- err
		case <-sp.closing:
			return
		}
		if every <= 0 {
			next = time.Now().Add(long)
		}
	}
}

// lookForHands scans, and tells the log why it could not; the folders are looked into again.
func (sp *space) lookForHands(folders []string) {
	again, err := sp.rescan(context.Background(), folders)
	if err != nil && !sp.isClosing() {
		if !sp.handsFailed {
			sp.log.Warn("files cannot be looked through for what hands changed; it is tried again", zap.Error(err))
		}
		sp.handsFailed = true
		if again = append(again, folders...); folders == nil {
			again = append(again, "")
		}
	} else {
		sp.handsFailed = false
	}
	for _, dir := range again {
		sp.stirred.stir(dir)
	}
}

// Rescan returns when all that hands did to the files of a namespace is known, and told as events; what waits for files that are
// behind acknowledged writes excepted. Without it, that is known when the folders are looked through the next time (Options).
func (s *Store) Rescan(ctx context.Context, ns string) error {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return err
	}
	r := rescanned{make(chan error, 1)}
	select {
	case sp.rescans <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-sp.closing:
		return store.ErrClosed
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
