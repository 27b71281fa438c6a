package files

import (
	"errors"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// What a killed process left half written goes at the next start, also where the node gets another place since a hand put a file
// into its own; what nobody was writing stays.
func TestWhatAKillLeftHalfWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
	d.flushed()
	d.must(errors.Join(d.replaceNode("one", "二"), d.move(thing(store.KindNode, "two"), true), d.addNode("novel", "theirs")))
	ours := []string{
		"nodes/000/.000.xml.tmp", "nodes/000/.002.xml.tmp", "flows/000/.000.yaml.tmp", "trash/nodes/000/.001.xml.tmp", "nodes/.index.tsv.tmp",
		"flows/.index.tsv.tmp", "metadata/.tags.yaml.tmp", "metadata/.index.yaml.tmp",
	}
	users := []string{"nodes/000/.007.xml.tmp", "nodes/000/000.xml.tmp", "nodes/000/.000.xml", ".notes.tmp", "nodes/000/.000.xml.tmp~"}
	d.crash(func() {
		for _, file := range append(ours, users...) {
			d.put(file, "<node")
		}
		d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
		d.put("nodes/000/002.xml", "a file of somebody's")
	})
	d.flushed()
	for _, file := range ours {
		if d.exists(file) {
			t.Errorf("%s is still there", file)
		}
	}
	for _, file := range users {
		if d.read(file) != "<node" {
			t.Errorf("%s is gone", file)
		}
	}
}
