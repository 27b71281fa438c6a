package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// restore puts what the log holds back into memory, as it was before the process ended; the gate writes it, as it would
// have. found are the files of the tree, dropped says since when things are in the trash.
func (sp *space) restore(log *commitlog.Log, found map[string]commitlog.File, dropped map[store.Thing]time.Time) error {
	records, err := log.Records()
	if err != nil {
		return err
	}
	plans, err := log.Plans()
	if err != nil {
		return err
	}
	things := map[store.Thing][]commitlog.Record{}
	var order []store.Thing
	for _, r := range records {
		sp.seq = max(sp.seq, r.Seq)
		sp.pending.last = sp.seq
	}
	records = sp.restorePurges(records)
	for _, r := range records {
		of, moves := recordOf(r)
		if moves {
			continue
		}
		if things[of] == nil {
			order = append(order, of)
		}
		things[of] = append(things[of], r)
	}
	for _, of := range order {
		again := sp.restoreFlow
		if of.Kind == store.KindNode {
			again = sp.restoreNode
		}
		if err := again(things[of], plans[of], found); err != nil {
			return err
		}
	}
	sp.restoreMoves(records, dropped)
	return nil
}

// recordOf says of what a record is, and whether it moves files to the trash or back.
func recordOf(r commitlog.Record) (of store.Thing, moves bool) {
	switch r.Kind {
	case commitlog.NodeMade, commitlog.NodeChanged:
		return store.Thing{Kind: store.KindNode, ID: r.ID}, false
	case commitlog.NodeDropped, commitlog.NodeRestored:
		return store.Thing{Kind: store.KindNode, ID: r.ID}, true
	case commitlog.NodePurged:
		return store.Thing{Kind: store.KindNode, ID: r.ID}, false
	case commitlog.FlowDropped, commitlog.FlowRestored:
		return store.Thing{Kind: store.KindFlow, ID: r.ID}, true
	default: // FlowMade, FlowChanged, FlowPurged
		return store.Thing{Kind: store.KindFlow, ID: r.ID}, false
	}
}

// standingFor finds the file that records of a thing are about, among those in which the thing was found, in the tree or in the trash:
// the one that we read before or wrote, else the best one, which a hand changed (ours is false). It may have another place than the
// records say, since that was taken when it came out of the trash. It has no path where no file holds the thing.
func (sp *space) standingFor(of store.Thing, plan commitlog.Plan, found map[string]commitlog.File) (there commitlog.File, ours bool) {
	for _, place := range sp.indexOf(of.Kind).places(of.ID) {
		for _, file := range []string{place, trashPath(place)} {
			switch f := found[file]; {
			case f.ID != of.ID || f.Problem != "":
			case f.Hash == plan.Old, f.Hash == plan.New:
				return f, true
			case there.Path == "":
				there = f
			}
		}
	}
	return there, false
}

// restoreNode puts a node back as its last record has it.
func (sp *space) restoreNode(records []commitlog.Record, plan commitlog.Plan, found map[string]commitlog.File) error {
	first, last := records[0], records[len(records)-1]
	n, err := format.DecodeNode(last.Body)
	if err != nil {
		return fmt.Errorf("local.db holds a node for %s that cannot be read: %w", last.Path, err)
	}
	p := pendingNode{id: n.ID, body: last.Body, created: n.Created, target: target{path: last.Path, old: first.Old, new: first.Old}}
	if plan.Of.ID == n.ID {
		p.old, p.new = plan.Old, plan.New
	}
	of := store.Thing{Kind: store.KindNode, ID: n.ID}
	if there, ours := sp.standingFor(of, commitlog.Plan{Old: p.old, New: p.new}, found); ours {
		p.path = inTree(there.Path)
	}
	for i, r := range records {
		p.seqs = append(p.seqs, r.Seq)
		if first.Kind == commitlog.NodeMade && i < len(records)-1 {
			p.ours = append(p.ours, commitlog.HashOf(r.Body))
		}
	}
	sp.pending.records += len(records)
	sp.pending.setNode(&p)
	sp.nodes.put(n.ID, holdsNode(p.path, n.Created))
	return nil
}

// restoreMoves puts things where they belong, in the order of the log.
func (sp *space) restoreMoves(records []commitlog.Record, dropped map[store.Thing]time.Time) {
	for _, r := range records {
		of, moves := recordOf(r)
		if !moves {
			continue
		}
		drop := r.Kind == commitlog.NodeDropped || r.Kind == commitlog.FlowDropped
		if x := sp.indexOf(of.Kind); drop {
			x.drop(of.ID, dropped[of])
		} else {
			x.restore(of.ID)
		}
		sp.pending.records++
		// What is kept beside a file that a person changed has a place that the record does not know.
		paths := union(pathsOf(r), sp.indexOf(of.Kind).places(of.ID))
		sp.pending.setMove(pendingMove{of: of, drop: drop, paths: paths, seqs: []int64{r.Seq}})
	}
}

// restoreFlow puts a flow back with the changes that the log has. records begin with its making, or its file has what was
// before them.
func (sp *space) restoreFlow(records []commitlog.Record, plan commitlog.Plan, found map[string]commitlog.File) error {
	made := slices.IndexFunc(records, func(r commitlog.Record) bool { return r.Kind == commitlog.FlowMade })
	if made < 0 {
		return sp.restoreChanges(records, plan, found)
	}
	if made > 0 {
		sp.park(records[:made])
		records = records[made:]
	}
	f, err := format.DecodeFlow(records[0].Body)
	if err != nil {
		return fmt.Errorf("local.db holds a flow for %s that cannot be read: %w", records[0].Path, err)
	}
	return sp.resume(pendingFlow{flow: f, target: target{path: records[0].Path, old: plan.Old, new: plan.New}}, records)
}

// restoreChanges finds the file for which changes were made.
func (sp *space) restoreChanges(records []commitlog.Record, plan commitlog.Plan, found map[string]commitlog.File) error {
	of := store.Thing{Kind: store.KindFlow, ID: records[0].ID}
	if plan.Of.ID != of.ID {
		plan = commitlog.Plan{Old: records[0].Old, New: records[0].Old}
	}
	file, ours := sp.standingFor(of, plan, found)
	if file.Path == "" {
		sp.park(records)
		return nil
	}
	there, err := sp.look(file.Path)
	if err != nil {
		return err
	}
	f, err := sp.decodeFlow(file.Path, of.ID, there.data)
	switch {
	case errors.As(err, new(*store.UnreadableError)): // It changed since it was found.
		sp.park(records)
		return nil
	case ours && there.hash == file.Hash:
		return sp.resume(pendingFlow{flow: f, target: target{path: inTree(file.Path), old: plan.Old, new: plan.New}}, records)
	}
	return sp.restoreOnto(f, there, records)
}

// resume applies the changes that the log has. Some may be in the file already: then they change nothing.
func (sp *space) resume(p pendingFlow, records []commitlog.Record) error {
	changes, err := changesOf(records)
	if err != nil {
		return err
	}
	for _, c := range changes {
		p.flow = p.flow.Apply(c)
	}
	sp.putBack(p, records)
	return nil
}

func (sp *space) putBack(p pendingFlow, records []commitlog.Record) {
	for _, r := range records {
		p.seqs = append(p.seqs, r.Seq)
	}
	sp.pending.records += len(records)
	sp.pending.setFlow(&p)
	sp.flows.put(p.flow.ID, holdsFlow(p.path, p.flow))
}

// restoreOnto applies changes to a file that a person changed after they were made and before it was written. The flow as
// it was is in no place any more; its changes are, and both versions are kept: theirs where it stands, ours beside it.
func (sp *space) restoreOnto(f flow.Flow, there foreignFile, records []commitlog.Record) error {
	changes, err := changesOf(records)
	if err != nil {
		return err
	}
	f, lost := rebase(f, changes)
	for _, text := range lost {
		sp.keep(note{Problem: store.Problem{Path: there.path, Reason: text}})
	}
	if there.path != inTree(there.path) {
		// It was in the tree when it changed, and is to come there; should it have been dropped again, restoreMoves says so.
		sp.flows.restore(f.ID)
	}
	ours := pendingFlow{flow: f, target: target{path: inTree(there.path)}}
	sp.putBack(ours, records)
	return sp.splitFlow(sp.pending.flows[f.ID], there, changedMeanwhile)
}

// park leaves changes in the log whose flow is not there: its file is gone or cannot be read. They are looked at again
// when the namespace is opened the next time.
func (sp *space) park(records []commitlog.Record) {
	sp.keep(note{Problem: store.Problem{Path: records[0].Path, Reason: fmt.Sprintf("%d acknowledged changes of the flow %s wait for this "+
		"file, which is gone or cannot be read; bring it back and start again", len(records), records[0].ID)}})
}

// changesOf gives the changes among records.
func changesOf(records []commitlog.Record) ([]flow.Change, error) {
	var changes []flow.Change
	for _, r := range records {
		if r.Kind != commitlog.FlowChanged {
			continue
		}
		var c flow.Change
		if err := json.Unmarshal(r.Body, &c); err != nil {
			return nil, fmt.Errorf("local.db holds a change of the flow %s that cannot be read: %w", r.ID, err)
		}
		changes = append(changes, c)
	}
	return changes, nil
}
