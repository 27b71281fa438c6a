package library

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Look reads everything that is stored and tells what is wrong with it (store.Store.Look).
func (l *Library) Look(ctx context.Context, ns string, progress func(read, files int)) (store.Look, error) {
	return l.store.Look(ctx, ns, progress)
}

// Mend does what is derived or certain of what Look finds (store.Store.Mend).
func (l *Library) Mend(ctx context.Context, ns string, o store.MendOptions, progress func(read, files int)) (store.Mended, error) {
	return l.store.Mend(ctx, ns, o, progress)
}
