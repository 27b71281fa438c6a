package files

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// What goes to the trash, comes back, changes and is dropped again while a round of writing is under way is in the trash, in one file,
// as it was changed: also when the process ends behind that round. Found by kills under load.
func TestWhatIsDroppedAgainDuringARoundStaysDropped(t *testing.T) {
	t.Parallel()
	things := []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "novel")}
	for name, killed := range map[string]bool{"goes on": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createFlow("novel")))
			d.flushed()
			drop := func() error { return errors.Join(d.move(things[0], true), d.move(things[1], true)) }
			d.must(drop())
			sp := d.store.spaces[ns].space
			round := sp.lastSeq()
			d.comesBackAndChanges()
			d.must(drop())
			d.must(sp.onGate(context.Background(), func() (err error) {
				for done := false; !done && err == nil; {
					_, done, err = sp.writeChunk(round)
				}
				return err
			}))
			if killed {
				d.crash(func() {})
			}
			d.flushed()
			for i, folder := range []string{"nodes/000", "flows/000"} {
				files := d.filesOf(folder, things[i])
				if len(files) != 1 || files[0][:5] != "trash" || !strings.Contains(d.read(files[0]), ofOurs) {
					t.Errorf("%s is in %q", things[i].Kind.Name(things[i].ID), files)
				}
			}
			d.wantProblems()
		})
	}
}

// What is deleted and taken back before its file was first written is written and nothing is told of it: no file is missing.
func TestWhatComesBackBeforeItWasWrittenRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]store.Kind{"node": store.KindNode, "flow": store.KindFlow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			of := thing(kind, "one")
			d.must(errors.Join(d.createNode("one"), d.createFlow("one")))
			d.must(errors.Join(d.move(of, true), d.move(of, false)))
			d.flushed()
			d.wantProblems()
			if !d.exists("nodes/000/000.xml") || !d.exists("flows/000/000.yaml") {
				t.Error("it was not written")
			}
			d.must(d.finds(d.store))
			d.must(d.store.Rescan(t.Context(), ns))
			d.wantProblems()
		})
	}
}
