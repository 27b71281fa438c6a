package backends

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Ready asks every backend who it is. None is fatal: a request that needs one that is away is answered with a sentence
// that says so.
func (s *Set) Ready() []obs.Question {
	var all []obs.Question
	for _, name := range s.Names() {
		all = append(all, func(ctx context.Context) obs.Check {
			check := obs.Check{Name: "backend " + name}
			counter, err := s.Counter(name)
			if err == nil {
				_, err = counter.Window(ctx)
			}
			if check.OK = err == nil; !check.OK {
				check.Message = err.Error()
			}
			return check
		})
	}
	return all
}
