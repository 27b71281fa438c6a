package files

import (
	"errors"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
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

// It comes out once more while the file that changed is written, and the copy in the trash is still there: that one has gone by.
func TestWhatCountsIsTheFileThatChanged(t *testing.T) {
	t.Parallel()
	f := thing(store.KindFlow, "f")
	var u *user
	again := false
	w := newWorld(t, func(s powercut.Step) error {
		if !again || s.Op != powercut.OpRename || s.Name != "default/flows/000/.000.yaml.tmp" {
			return nil
		}
		again = false
		return u.move(f, false)
	})
	s, err := w.open()
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	u = newUser(s)
	must(t, errors.Join(u.createFlow("f"), u.move(f, true), u.flush(), u.move(f, false)))
	text := "changed"
	must(t, errors.Join(u.change("f", flow.Change{Description: &text}), u.move(f, true)))
	again = true
	must(t, u.flush())
	must(t, u.flush())
	must(t, u.finds(u.store))
	must(t, u.findsInTree(w.tree))
}
