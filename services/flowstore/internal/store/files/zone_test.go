package files

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A node that a hand dated without a zone is of the zone that config.yaml names, for the store, its index and the look for damage
// (field/flowstore.md row 11).
func TestANodeWithoutAZone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.store.Close())
	d.put("config.yaml", d.read("config.yaml")+"settings: {timezone: Asia/Tokyo}\n")
	d.put("nodes/000/005.xml", strings.Replace(string(d.body("one")), "+09:00", "", 1))
	d.put("nodes/000/005.xml", strings.Replace(d.read("nodes/000/005.xml"), idOf("one").String(), idOf("theirs").String(), 1))
	d.open()
	d.flushed()
	n, err := d.store.Node(context.Background(), ns, idOf("theirs"))
	d.must(err)
	if got, want := n.Created.Format(time.RFC3339Nano), d.nodes[idOf("one")].Created.Format(time.RFC3339Nano); got != want || len(n.Warnings) != 1 {
		t.Errorf("it was made at %s, want %s: %q", got, want, n.Warnings)
	}
	if r := look(t, d.store, "after:2026-04-01T09:30 before:2026-04-01T09:31"); len(r.Hits) != 2 {
		t.Errorf("a search by the clock of that zone: %+v", r)
	}
	found, err := d.store.Look(context.Background(), ns, func(int, int) {})
	d.must(err)
	if d.soundIndex(); len(found.Findings) > 0 {
		t.Errorf("found %+v", found.Findings)
	}
}
