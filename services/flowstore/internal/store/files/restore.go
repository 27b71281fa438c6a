package files

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// restore puts what the log holds back into memory, as it was before the process ended; the gate writes it, as it would
// have. found are the files of the tree.
func (sp *space) restore(log *commitlog.Log, found map[string]commitlog.File) error {
	records, err := log.Records()
	if err != nil {
		return err
	}
	plans, err := log.Plans()
	if err != nil {
		return err
	}
	flows := map[uuid.UUID][]commitlog.Record{}
	var order []uuid.UUID
	for _, r := range records {
		sp.seq = max(sp.seq, r.Seq)
		sp.pending.last = sp.seq
		if r.Kind == commitlog.NodeMade {
			if err := sp.restoreNode(r); err != nil {
				return err
			}
			continue
		}
		if flows[r.ID] == nil {
			order = append(order, r.ID)
		}
		flows[r.ID] = append(flows[r.ID], r)
	}
	for _, id := range order {
		if err := sp.restoreFlow(flows[id], plans[id], found); err != nil {
			return err
		}
	}
	return nil
}

func (sp *space) restoreNode(r commitlog.Record) error {
	n, err := format.DecodeNode(r.Body)
	if err != nil {
		return fmt.Errorf("local.db holds a node for %s that cannot be read: %w", r.Path, err)
	}
	sp.nodes.put(r.ID, holdsNode(r.Path, n.Created))
	sp.pending.records++
	sp.pending.addNode(&pendingNode{seq: r.Seq, id: r.ID, path: r.Path, body: r.Body, created: n.Created})
	return nil
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
	return sp.resume(pendingFlow{path: records[0].Path, flow: f, old: plan.Old, new: plan.New}, records)
}

// restoreChanges finds the file for which changes were made.
func (sp *space) restoreChanges(records []commitlog.Record, plan commitlog.Plan, found map[string]commitlog.File) error {
	id := records[0].ID
	if plan.Flow != id {
		plan = commitlog.Plan{Old: records[0].Old, New: records[0].Old}
	}
	holdings := sp.flows.holdings(id)
	for _, h := range holdings {
		if hash := found[h.path].Hash; hash == plan.Old || hash == plan.New {
			l, err := sp.loadFlow(h.path, id)
			if err != nil {
				return err
			}
			return sp.resume(pendingFlow{path: h.path, flow: l.flow, old: plan.Old, new: plan.New}, records)
		}
	}
	if len(holdings) == 0 {
		sp.park(records)
		return nil
	}
	return sp.restoreOnto(holdings[0].path, records)
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
func (sp *space) restoreOnto(file string, records []commitlog.Record) error {
	there, err := sp.look(file)
	if err != nil {
		return err
	}
	f, err := decodeFlow(file, records[0].ID, there.data)
	if err != nil {
		return err
	}
	changes, err := changesOf(records)
	if err != nil {
		return err
	}
	f, lost := rebase(f, changes)
	for _, text := range lost {
		sp.keep(file, text)
	}
	ours := pendingFlow{path: file, flow: f}
	sp.putBack(ours, records)
	return sp.splitFlow(sp.pending.flows[f.ID], there, changedMeanwhile)
}

// park leaves changes in the log whose flow is not there: its file is gone or cannot be read. They are looked at again
// when the namespace is opened the next time.
func (sp *space) park(records []commitlog.Record) {
	sp.keep(records[0].Path, fmt.Sprintf("%d acknowledged changes of the flow %s wait for this file, which is gone or cannot "+
		"be read; bring it back and start again", len(records), records[0].ID))
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
