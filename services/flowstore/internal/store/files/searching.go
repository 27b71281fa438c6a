package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/finder"
)

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, ns string, q *search.Query, page search.Page) (search.Result, error) {
	f, err := s.finder(ctx, ns)
	if err != nil {
		return search.Result{}, err
	}
	return f.Search(ctx, q, page)
}

// Tags implements store.Store.
func (s *Store) Tags(ctx context.Context, ns, prefix, after string, size int) (store.TagPage, error) {
	f, err := s.finder(ctx, ns)
	if err != nil {
		return store.TagPage{}, err
	}
	return f.Tags(ctx, prefix, after, size)
}

func (s *Store) finder(ctx context.Context, ns string) (*finder.Finder, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil {
		return nil, err
	}
	if sp == nil {
		return finder.Empty(), nil
	}
	return sp.finder, nil
}

// searched is a namespace as its finder sees it.
type searched struct{ *space }

var _ finder.Engine = searched{}

// Stamped implements finder.Engine. The stamp is the beginning of the file's hash, so that a snapshot of the index knows of
// which files it is, whatever became of local.db.
func (s searched) Stamped(id uuid.UUID) (node.Node, uint64, error) {
	l, err := s.current(id)
	return l.node, stampOf(l.hash), err
}

func stampOf(hash commitlog.Hash) uint64 { return binary.BigEndian.Uint64(hash[:]) }

// Flow implements finder.Engine.
func (s searched) Flow(id uuid.UUID) (flow.Flow, error) { return s.space.Flow(id) }

// Zone implements finder.Engine: that of the files (settings.timezone).
func (s searched) Zone() *time.Location { return s.settings.Timezone }

// Flows implements finder.Engine.
func (s searched) Flows(after store.Entry, n int) []store.Entry {
	return s.list(s.flows, store.NewestFirst, after, n)
}

// soon is how many nodes that the snapshot lacks are read by the first search; more of them are read beside, and searches
// are approximate until then.
const soon = 1000

// openSearch takes the snapshot of the index, and notes which of the files that were found are others than those that it is of.
func (sp *space) openSearch(index *search.Index, found map[string]commitlog.File) {
	sp.finder = finder.New(searched{sp}, index)
	var differing []uuid.UUID
	for id, head := range sp.nodes.heads {
		stamp, known := index.Stamp(id)
		if !known || sp.pending.nodes[id] != nil || stamp != stampOf(found[head.path].Hash) {
			differing = append(differing, id)
		}
	}
	for _, id := range index.IDs() {
		if _, there := sp.nodes.heads[id]; !there {
			differing = append(differing, id)
		}
	}
	slices.SortFunc(differing, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) }) // the newer ones first
	if len(differing) <= soon {
		sp.finder.Touch(differing...)
	} else {
		sp.finder.Miss(differing)
		sp.log.Info("the search index is made anew; until then searches are approximate", zap.Int("nodes", len(differing)))
	}
	sp.nodes.changed, sp.flows.changed = sp.touch, sp.finder.TouchFlow
}
