package commitlog

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// applyPurged takes away what was kept of things. SQLite overwrites it with zeros (secure_delete).
func (l *Log) applyPurged(c Changes) error {
	for _, t := range c.Purged {
		texts := []string{purgeFlowRecords, purgeSteps, purgeMembers}
		if t.Kind == store.KindNode {
			texts = []string{purgeNodeRecords, purgeRevisions, purgeMemberships}
		}
		for _, text := range texts {
			if err := l.stmts.Run(text, t.ID[:]); err != nil {
				return err
			}
		}
		for _, text := range []string{dropPlan, dropDropped} {
			if err := l.stmts.Run(text, t.Kind, t.ID[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Knows says whether anything tells of a thing: a record, what it was before, its place in a flow, or an event. It reads all records and
// events for one that is not known.
func (l *Log) Knows(t store.Thing) (known bool, err error) {
	text := knowsFlow
	if t.Kind == store.KindNode {
		text = knowsNode
	}
	event, err := json.Marshal(t)
	if err != nil {
		return false, err
	}
	err = l.stmts.Row(text, t.ID[:], event).Scan(&known)
	return known, err
}
