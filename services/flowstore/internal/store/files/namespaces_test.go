package files

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// No name from outside that is not one of a namespace comes to the disk, to read or to write.
func TestNamesOfNamespacesDoNotReachTheDisk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	entries, err := os.ReadDir(d.data)
	d.must(err)
	for _, name := range []string{"", ".", "..", "../default", "default/../default", "default/nodes", localFolder, "Default", "DEFAULT", "ｄefault", "de\u0301fault", "con", "default\x00"} {
		_, errRead := d.store.Node(context.Background(), name, idOf("one"))
		_, errEvents := d.store.LastEvent(context.Background(), name)
		errWrite := d.store.Update(context.Background(), name, func(store.Tx) error { return nil })
		for _, err := range []error{errRead, errEvents, errWrite, d.store.Rescan(context.Background(), name)} {
			if wrong := (*store.NamespaceError)(nil); !errors.As(err, &wrong) || wrong.Name != name {
				t.Errorf("%q is answered with %v", name, err)
			}
		}
	}
	after, err := os.ReadDir(d.data)
	if d.must(err); len(after) != len(entries) {
		t.Errorf("the data folder has %v, had %v", after, entries)
	}
}
