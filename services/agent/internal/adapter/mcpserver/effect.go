package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// effect carries out one tool of a server.
type effect struct {
	link *link
	tool tool.Definition
}

// InFolder is false: where a server works, nobody knows.
func (e *effect) InFolder() bool { return false }

// Ready lists the tools of the server again, so that the tools that the INTENT is judged by are those that it has now: a definition that
// has changed is seen there (field/review-agent.md S18). An error parks the call.
func (e *effect) Ready(ctx context.Context) error { return e.link.fresh(ctx) }

// Start calls the tool, if it is still the one that the INTENT names.
func (e *effect) Start(ctx context.Context, i router.Intent, args []byte) (router.Output, error) {
	c, done := e.link.use()
	if c == nil {
		return router.Output{}, notStarted(errors.New("the connection with the server has ended"))
	}
	defer done()
	if c.stale() {
		if err := e.link.fresh(ctx); err != nil {
			return router.Output{}, notStarted(err)
		}
	}
	if t := e.link.find(e.tool.Name); t == nil || t.Hash != i.Definition {
		return router.Output{}, notStarted(fmt.Errorf("the definition of the tool %s has changed since it was shown", e.tool.Full()))
	}
	return c.call(ctx, e.tool.Name, args, e.tool.Limit)
}

func notStarted(err error) error { return &router.NotStartedError{Err: err} }
