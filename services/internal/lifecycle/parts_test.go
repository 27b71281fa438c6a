package lifecycle

import (
	"context"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// told is an app that wants to know that the process begins to stop.
type told struct{ drained chan struct{} }

func (told) Ready(context.Context) []obs.Check { return nil }
func (told) Run(ctx context.Context) error     { <-ctx.Done(); return nil }
func (told) Close(context.Context) error       { return nil }
func (a told) Drain()                          { close(a.drained) }

// TestAppIsToldAtOnce: before the delay in which requests are still accepted, at whose end streams are told. In four
// processes that were stopped together, the store of another may be gone by then.
func TestAppIsToldAtOnce(t *testing.T) {
	t.Parallel()
	app := told{make(chan struct{})}
	o := quick()
	o.Signals = sent(syscall.SIGTERM)
	front := Part{Name: "front", Drain: func() {
		select {
		case <-app.drained:
		default:
			t.Error("streams are told before the app is")
		}
	}}
	if err := Run(t.Context(), o, front, AppPart("agent", app)); err != nil {
		t.Error(err)
	}
}
