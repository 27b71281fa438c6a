package files

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A purge is acknowledged like every write and out of sight from then on. What is left of the thing is erased by the gate,
// after everything that came before it, and its record stays in the log until the last of it is gone: so a crash anywhere
// only delays it.

// pendingPurge is a thing of which something may be left on the disk.
type pendingPurge struct {
	tomb store.Tombstone
	// paths are where its files stand or belong, as if they were in the tree.
	paths []string
	// elsewhere says that it was purged there, and its tombstone came from there, as by git: a file of it in the tree came back, and
	// stays until somebody says so.
	elsewhere bool
	seqs      []int64
}

// places are where files of it go away.
func (p pendingPurge) places() (places []string) {
	for _, file := range p.paths {
		if !p.elsewhere {
			places = append(places, file)
		}
		places = append(places, trashPath(file))
	}
	return places
}

// tomb is a Tombstone with the places in the tree that the thing had.
type tomb struct {
	store.Tombstone
	paths []string
}

// purgeBody is the body of the record of a purge.
type purgeBody struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Paths  []string  `json:"paths"`
	// Elsewhere is pendingPurge.elsewhere.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// purged lists the files of what is purged.
func (r *recording) purged(t store.Tombstone) commitlog.Record {
	kind, x := commitlog.FlowPurged, r.flows
	if t.Kind == store.KindNode {
		kind, x = commitlog.NodePurged, r.nodes
	}
	body := purgeBody{At: t.At, Reason: t.Reason, Paths: union(x.places(t.ID), x.tombs[t.ID].paths)}
	for _, file := range []string{x.lost[t.ID], r.made[t.Thing]} {
		if file != "" {
			body.Paths = append(body.Paths, file)
		}
	}
	if len(body.Paths) == 0 { // No file holds it: the row of its tombstone gets a name that nothing has.
		body.Paths = []string{r.newName(x)}
	}
	r.body, _ = json.Marshal(body) // Strings and a time of ours.
	return commitlog.Record{Kind: kind, ID: t.ID}
}

// purgeOf reads the record of a purge; ok is false where it is another one.
func purgeOf(r commitlog.Record) (p pendingPurge, ok bool) {
	of := store.Thing{Kind: store.KindNode, ID: r.ID}
	switch r.Kind {
	case commitlog.NodePurged:
	case commitlog.FlowPurged:
		of.Kind = store.KindFlow
	default:
		return pendingPurge{}, false
	}
	var body purgeBody
	_ = json.Unmarshal(r.Body, &body) // We wrote it.
	tombstone := store.Tombstone{Thing: of, At: body.At, Reason: body.Reason}
	return pendingPurge{tomb: tombstone, paths: body.Paths, elsewhere: body.Elsewhere, seqs: []int64{r.Seq}}, true
}

// publishPurge puts a thing out of sight. The caller holds mu.
func (sp *space) publishPurge(p pendingPurge) {
	of, x := p.tomb.Thing, sp.indexOf(p.tomb.Kind)
	if before := sp.pending.purges[of]; before != nil {
		p.paths, p.seqs, p.elsewhere = union(before.paths, p.paths), slices.Concat(before.seqs, p.seqs), before.elsewhere && p.elsewhere
	}
	t := tomb{p.tomb, union(x.tombs[of.ID].paths, p.paths)}
	places := union(x.places(of.ID), sp.pending.placesOf(of))
	x.purge(of.ID, t)
	x.forgetBroken(p.places())
	for _, file := range places {
		delete(x.broken, file)
		if row, seen := sp.seen.get(file); seen && row.id == of.ID && p.elsewhere {
			x.broken[file] = t.cameBack()
		}
	}
	sp.pending.purges[of] = &p
}

// restorePurges puts things out of sight that were purged before the process ended, and gives the records of the others.
func (sp *space) restorePurges(records []commitlog.Record) (others []commitlog.Record) {
	for _, r := range records {
		if p, ok := purgeOf(r); ok {
			sp.publishPurge(p)
		}
	}
	for _, r := range records {
		of, _ := recordOf(r)
		p := sp.pending.purges[of]
		if p == nil {
			others = append(others, r)
			continue
		}
		sp.pending.records++
		if !slices.Contains(p.seqs, r.Seq) {
			p.seqs = append(p.seqs, r.Seq)
		}
		if r.Path != "" {
			p.paths = union(p.paths, []string{r.Path})
		}
	}
	return others
}

// purge notes that a thing is gone for good.
func (x *index) purge(id uuid.UUID, t tomb) {
	at := x.trash[id].at
	delete(x.lost, id)
	delete(x.trash, id)
	x.set(id, nil)
	if x.trashed != nil {
		x.trashed.Drop(store.Entry{Created: at, ID: id})
	}
	x.tombs[id] = t
	for _, file := range t.paths {
		x.take(file)
	}
}

// forgetBroken notes that files that stood in the way, or were taken for such, are gone. Their slots stay taken.
func (x *index) forgetBroken(places []string) {
	for _, file := range places {
		x.take(inTree(file))
		delete(x.broken, file)
	}
}

// Purged implements overlay.Reader.
func (sp *space) Purged(t store.Thing) (store.Tombstone, bool) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	found, ok := sp.indexOf(t.Kind).tombs[t.ID]
	return found.Tombstone, ok
}

// tombstoneOf is what a row of tombstones.tsv says.
func tombstoneOf(row format.Tombstone) store.Tombstone {
	of := store.Thing{Kind: thingOf(row.Kind), ID: row.ID}
	return store.Tombstone{Thing: of, At: row.Time, Reason: row.Reason}
}
