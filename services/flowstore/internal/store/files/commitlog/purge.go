package commitlog

import "github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"

// applyPurged takes away what was kept of things. SQLite overwrites it with zeros (secure_delete).
func (l *Log) applyPurged(c Changes) error {
	for _, t := range c.Purged {
		texts := []string{purgeFlowRecords, purgeSteps, purgeMembers}
		if t.Kind == store.KindNode {
			texts = []string{purgeNodeRecords, purgeRevisions, purgeMemberships}
		}
		for _, text := range texts {
			if err := l.stmts.run(text, t.ID[:]); err != nil {
				return err
			}
		}
		for _, text := range []string{dropPlan, dropDropped} {
			if err := l.stmts.run(text, t.Kind, t.ID[:]); err != nil {
				return err
			}
		}
	}
	return nil
}
