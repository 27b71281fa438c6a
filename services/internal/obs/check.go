package obs

import (
	"context"
	"sync"
	"time"
)

// askTimeout is how long Ask waits for an answer.
const askTimeout = 2 * time.Second

// Check is one thing that a service needs, such as a model server.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Fatal says that the service can do nothing without it: /readyz then answers 503. A missing model server is shown
	// and is not fatal: everything else works.
	Fatal bool `json:"fatal"`
	// Message says what is wrong and where, in one sentence.
	Message string `json:"message,omitempty"`
}

// Question finds out about one thing. Its context ends after 2 s.
type Question func(ctx context.Context) Check

// Ask asks all at once and gives the answers in the order of the questions.
func Ask(ctx context.Context, questions ...Question) []Check {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make([]Check, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() { answers[i] = q(ctx) })
	}
	all.Wait()
	return answers
}
