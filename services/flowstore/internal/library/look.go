package library

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Look reads everything that is stored and tells what is wrong with it (store.Store.Look).
func (l *Library) Look(ctx context.Context, ns string, progress func(read, files int)) (store.Look, error) {
	return l.store.Look(ctx, ns, progress)
}
