package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// unowned is a store that could not take its data, when one of its namespaces is not opened yet. release lets the next one take them.
func unowned(t *testing.T, keep func(d *desk) (release func())) (d *desk, release func()) {
	t.Helper()
	d = &desk{TB: t, user: newUser(nil), data: t.TempDir()}
	d.open()
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.flush(), d.store.Close(), os.RemoveAll(filepath.Join(d.data, localFolder))))
	release = keep(d)
	d.open()
	t.Cleanup(func() { d.must(d.store.Close()) })
	return d, release
}

// Who opened the store where it could not be locked writes nothing, also when it can be written later: by then it is another's.
func TestWhoDoesNotOwnTheDataWritesNothing(t *testing.T) {
	t.Parallel()
	d, release := unowned(t, func(d *desk) func() { return testkit.ReadOnly(t, d.data) })
	release()
	owner := &desk{TB: t, user: newUser(nil), data: d.data}
	owner.open()
	d.must(d.refused())
	d.must(errors.Join(owner.createNode("theirs"), owner.flush()))
	d.must(d.refused())
	if text := d.text("one"); !strings.HasPrefix(text, "one") {
		t.Errorf("one is %q", text)
	}
	owner.text("one")
	err := d.store.Update(t.Context(), "other", func(store.Tx) error { return nil })
	if _, missing := os.Stat(filepath.Join(d.data, "other")); !errors.As(err, new(*store.ReadOnlyError)) || missing == nil {
		t.Errorf("a namespace that is not there: %v; its folder: %v", err, missing)
	}
	d.must(errors.Join(owner.createNode("again"), owner.flush(), owner.store.Close()))
}

// So it is where the lock alone cannot be had, with the reason; tools that would write are refused.
func TestALockThatCannotBeHad(t *testing.T) {
	t.Parallel()
	d, _ := unowned(t, func(d *desk) func() {
		elsewhere := t.TempDir()
		d.must(errors.Join(
			os.Mkdir(filepath.Join(d.data, localFolder), 0o700),
			os.Symlink(filepath.Join(elsewhere, "lock"), filepath.Join(d.data, localFolder, "lock")),
		))
		return testkit.ReadOnly(t, elsewhere)
	})
	lock := filepath.Join(d.data, localFolder, "lock")
	if err := d.refused(); err != nil {
		t.Error(err)
	}
	if err := d.createNode("two"); err == nil || !strings.Contains(err.Error(), lock) {
		t.Errorf("the reason is %v, which does not name %s", err, lock)
	}
	if _, err := Take(d.data, time.Now()); err == nil || !strings.Contains(err.Error(), lock) {
		t.Errorf("a tool is told %v", err)
	}
}
