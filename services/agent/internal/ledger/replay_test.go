package ledger

import (
	"context"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// moving is a store in which something is written before each look.
type moving struct {
	store.Store
	write func()
}

func (m moving) Read(ctx context.Context, ns string, fn func(store.View) error) error {
	m.write()
	return m.Store.Read(ctx, ns, fn)
}

// TestASessionThatWorksIsVerified: what is written while the rows are read breaks neither the chain nor the replay.
func TestASessionThatWorksIsVerified(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	still, writes := *r.Ledger, 0
	r.Ledger.store = moving{r.store, func() {
		_, err := still.Change(t.Context(), ns, "s", ann, func(w *Work) error {
			w.Session.Notices, writes = []string{w.Now.String()}, writes+1
			r.clock.add(1)
			_, err := w.Apply(session.Sent{ID: hash(w.Now.String()), Mode: session.Queue, NewTurn: "t", NewUtterance: "u"}, gate.Change{})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}}
	if _, err := r.Verify(t.Context(), ns, "s"); err != nil {
		t.Errorf("the chain: %v", err)
	}
	if _, err := r.Replay(t.Context(), ns, "s"); err != nil {
		t.Errorf("the replay: %v", err)
	}
	if writes < 4 {
		t.Errorf("only %d were written meanwhile", writes)
	}
}
