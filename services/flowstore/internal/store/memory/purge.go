package memory

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Purged implements store.Store: there are no copies.
func (s *Store) Purged(_ context.Context, ns string, t store.Thing) (store.Purged, error) {
	return read(s, ns, func(sp *space) (store.Purged, error) {
		tomb, ok := sp.Purged(t)
		if !ok {
			return store.Purged{}, t.Kind.NotFound()
		}
		return store.Purged{Tombstone: tomb, Nodes: tomb.With(maps.Values(sp.purged))}, nil
	})
}

// Purged implements overlay.Reader.
func (sp *space) Purged(t store.Thing) (tomb store.Tombstone, ok bool) {
	tomb, ok = sp.purged[t]
	return tomb, ok
}

// Traces implements overlay.Reader: nothing is kept of what is not there.
func (sp *space) Traces(store.Thing) (bool, error) { return false, nil }

// gone is the error of a thing that is in the trash or was purged, nil for another.
func (sp *space) gone(kind store.Kind, id uuid.UUID) error {
	t := store.Thing{Kind: kind, ID: id}
	if tomb, purged := sp.purged[t]; purged {
		return &store.PurgedError{Tombstone: tomb}
	}
	if at, dropped := sp.dropped[t]; dropped {
		return &store.DroppedError{Thing: t, At: at}
	}
	return nil
}

// purge forgets a thing.
func (sp *space) purge(t store.Thing) {
	list, created := &sp.flowList, sp.flows[t.ID].Created
	if t.Kind == store.KindNode {
		list, created = &sp.nodeList, sp.nodes[t.ID].Created
		delete(sp.nodes, t.ID)
		delete(sp.revisions, t.ID)
	} else {
		delete(sp.flows, t.ID)
		delete(sp.steps, t.ID)
	}
	list.Drop(store.Entry{Created: created, ID: t.ID})
	sp.trash(t.Kind).Drop(store.Entry{Created: sp.dropped[t], ID: t.ID})
	delete(sp.dropped, t)
}
