package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

// A tombstone that somebody else wrote, as another clone whose commit git has brought, is carried out here, too: what this machine
// keeps of the thing goes, and its files in the trash. One that is in the tree all the same came back, and is told: whether it
// goes is for a person to say.

// knowsTombs says that tombstones.tsv is as it was when all of its rows were known.
func (sp *space) knowsTombs() bool {
	sp.mu.RLock()
	seen := sp.tombsSeen
	sp.mu.RUnlock()
	info, err := sp.tree.Stat(tombstonesName)
	if errors.Is(err, fs.ErrNotExist) {
		return seen.Path == ""
	}
	return err == nil && seen.Size == info.Size && seen.ModTime == info.ModTime
}

// carryOutFound carries out all tombstones where tombstones.tsv is not as local.db remembers it: nobody knows which of them are new.
func (sp *space) carryOutFound(known map[string]commitlog.File) error {
	before, seen := known[tombstonesName], sp.tombsSeen
	if sp.copied || seen.Path == "" || before.Size == seen.Size && before.ModTime == seen.ModTime {
		return nil
	}
	tombs, seen, _, err := sp.readTombs()
	if err != nil {
		return err
	}
	return sp.carryOut(tombs, seen)
}

// lookAtTombs carries out tombstones that came while the namespace is open. One whose row went away stays until the next start.
func (sp *space) lookAtTombs(ctx context.Context) error {
	if sp.knowsTombs() {
		return nil
	}
	tombs, seen, problems, err := sp.readTombs()
	if err != nil {
		sp.tellOfTombs(err.Error())
		return nil // What was known is known, and folders are looked through as ever; it is tried again with them.
	}
	return sp.ask(ctx, func() error {
		if err := sp.brokenError(); err != nil && !sp.copied { // As in takeIn.
			return err
		}
		var found []tomb
		for _, t := range tombs {
			if _, known := sp.indexOf(t.Kind).tombs[t.ID]; !known {
				found = append(found, t)
			}
		}
		if err := sp.carryOut(found, seen); err != nil {
			return err
		}
		for _, p := range problems {
			sp.tellOfTombs(p)
		}
		return nil
	})
}

// tellOfTombs notes what is wrong with tombstones.tsv, once.
func (sp *space) tellOfTombs(reason string) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if told := (store.Problem{Path: tombstonesName, Reason: reason}); !slices.Contains(sp.notes, note{Problem: told}) {
		sp.tellOf(note{Problem: told})
	}
}

// carryOut has the gate take away what is left here of what was purged elsewhere; seen is the file that says so. On the writer, or
// before it runs.
func (sp *space) carryOut(tombs []tomb, seen commitlog.File) error {
	var c commitlog.Changes
	if seen.Path != "" {
		c.Files = []commitlog.File{seen}
	}
	now := store.Later(sp.last, sp.clock())
	for i, t := range tombs {
		kind, deleted := commitlog.FlowPurged, store.FlowDeleted
		if t.Kind == store.KindNode {
			kind, deleted = commitlog.NodePurged, store.NodeDeleted
		}
		body, _ := json.Marshal(purgeBody{At: t.At, Reason: t.Reason, Elsewhere: true}) // Strings and a time.
		c.Records = append(c.Records, commitlog.Record{Seq: sp.seq + 1 + int64(i), Kind: kind, ID: t.ID, Body: body})
		if _, there := sp.indexOf(t.Kind).path(t.ID); there {
			seq := sp.lastEvent + int64(len(c.Events)) + 1
			c.Events = append(c.Events, store.Event{Seq: seq, At: now, Kind: deleted, Of: t.Thing, Origin: store.External})
		}
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.tombsSeen = seen
	if len(tombs) == 0 {
		return nil
	}
	sp.last, sp.seq = now, sp.seq+int64(len(tombs))
	sp.pending.came(len(tombs), sp.seq, time.Now())
	for i, r := range c.Records {
		sp.indexOf(tombs[i].Kind).tombs[r.ID] = tombs[i]
		p, _ := purgeOf(r)
		sp.publishPurge(p)
	}
	sp.happen(c.Events)
	sp.wakeGate()
	sp.log.Info("what was purged elsewhere is erased here, too", zap.Int("tombstones", len(tombs)))
	return nil
}
