package files

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// A flow that comes out of the trash, changes and goes back before files are written has one file there: the copy that lay in
// the trash is not taken for somebody else's.
func TestAFlowChangesBetweenTwoVisitsToTheTrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	u := newUser(s)
	f := thing(store.KindFlow, "f")
	must(t, u.createFlow("f"))
	must(t, u.move(f, true))
	must(t, u.flush())
	must(t, u.move(f, false))
	text := "changed"
	must(t, u.change("f", flow.Change{Description: &text}))
	must(t, u.move(f, true))
	must(t, u.flush())
	must(t, u.move(f, false))
	must(t, u.flush())
	must(t, u.finds(u.store))
	must(t, u.findsInTree(w.tree))
}
