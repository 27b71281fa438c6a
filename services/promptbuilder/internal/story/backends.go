package story

import (
	"context"
	"sync"
)

// Status is a backend and how it is just now.
type Status struct {
	Listed
	// Identity is what the server told; nothing where Err says why it cannot be used.
	Identity Backend
	Err      error
}

// Backends asks all model servers at once how they are.
func (b *Builder) Backends(ctx context.Context) []Status {
	listed := b.backends.List()
	all := make([]Status, len(listed))
	var asked sync.WaitGroup
	for i, l := range listed {
		all[i].Listed = l
		asked.Go(func() { _, all[i].Identity, all[i].Err = b.open(ctx, l.Name) })
	}
	asked.Wait()
	return all
}
