package story

import (
	"context"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Status is a backend and how it is just now.
type Status struct {
	Listed
	// Identity is what the server told; nothing where Err says why it cannot be used.
	Identity Backend
	// Warnings are what a person should know of how it is set up, such as that the window is somebody's word.
	Warnings []string
	// Told is what it takes and what its answers tell, as of now: a server may say with its model whether it takes tools.
	Told llm.Told
	Err  error
}

// Backends asks all model servers at once how they are.
func (b *Builder) Backends(ctx context.Context) []Status {
	listed := b.backends.List()
	all := make([]Status, len(listed))
	var asked sync.WaitGroup
	for i, l := range listed {
		all[i].Listed = l
		asked.Go(func() {
			var counter Counter
			counter, all[i].Identity, all[i].Err = b.open(ctx, l.Name)
			if w, ok := counter.(llm.Warner); ok {
				all[i].Warnings = w.Warnings()
			}
			if t, ok := counter.(llm.Teller); ok {
				all[i].Told = t.Tells()
			}
		})
	}
	asked.Wait()
	return all
}
