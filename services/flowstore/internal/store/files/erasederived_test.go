package files

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// What was purged is in no snapshot of the search index and in no metadata file, also where these are not written any more.
func TestNothingDerivedIsLeftOfWhatWasPurged(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]bool{"written": true, "switched off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.createNode("other"))
			n := node.Node{
				ID: idOf("one"), Tags: []string{"zettelsecret"}, Summary: node.Summary{Text: "zettelsecret"}, Texts: []node.Text{{Role: "user", Content: "zettelsecret"}},
			}
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error {
				n.Created = tx.Now()
				return tx.CreateNode(n)
			}))
			d.restart()
			if files := d.holding("zettelsecret"); len(files) < 4 { // the node, the snapshot, and two of metadata
				t.Fatalf("the word is in %q alone: this test proves nothing", files)
			}
			if !metadata {
				d.must(d.store.Close())
				d.put(configName, d.read(configName)+"settings:\n  metadata: false\n")
				d.open()
			}
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Drop(thing(store.KindNode, "one")) }))
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Purge(thing(store.KindNode, "one"), "asked for") }))
			d.flushed()
			if files := d.holding("zettelsecret"); len(files) > 0 {
				t.Errorf("the word is left in %q", files)
			}
			if r := look(t, d.store, "zettelsecret"); r.Total != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
