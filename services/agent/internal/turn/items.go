package turn

import (
	"encoding/json"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// changed takes what the model wants to change of the five items (C21), and which layers the next prompt has. An answer that was refused changes
// nothing (C61).
func (a *answer) changed(w *ledger.Work, notes []session.Note) error {
	s, d, was := w.Session, a.env.StateDelta, w.Session.Items
	if d.Goal != nil {
		s.Items.Goal = *d.Goal
	}
	if d.WhyNow != nil {
		s.Items.WhyNow = *d.WhyNow
	}
	if d.PlanBrief != nil {
		s.Items.PlanBrief = *d.PlanBrief
	}
	if d.OpenQuestions != nil {
		s.Items.OpenQuestions = *d.OpenQuestions
	}
	s.Talk.Pattern = string(a.env.PromptPattern)
	if names := session.Differ(was, s.Items); len(names) > 0 {
		return a.itemsChanged(w, notes, names)
	}
	return nil
}

// itemsChanged has a row and the latest change name the items that the model changed; what they say now is in the session alone.
func (a *answer) itemsChanged(w *ledger.Work, notes []session.Note, names []string) error {
	line := strings.Join(names, ", ") + " changed by the model"
	w.Session.Thread = w.Session.Thread.Changed(notes, line)
	details, err := json.Marshal(map[string][]string{"fields": names})
	if err != nil {
		return err
	}
	items, err := json.Marshal(w.Session.Items)
	if err != nil {
		return err
	}
	w.Row(audit.Entry{
		Kind: audit.Update, Turn: a.s.State.Turn.ID, Verdict: "UPDATED", Reason: line, ArgsDigest: string(canon.Sum(items)), Details: string(details),
	})
	return nil
}
