package turn

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/dialog"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// DialogWarning is the verdict of the rows that tell where a reply breaks the Dialog Policy.
const DialogWarning = "DIALOG_WARNING"

// warn takes down where the reply breaks the Dialog Policy (seed 001, 9.2): a row for each breach, of which there are a few kinds, with its
// code and a sentence in the locale of the session. The reply stays as it is. It keeps the question with which the turn ended, too.
func (a *answer) warn(w *ledger.Work) error {
	s := w.Session
	if s.State.Reason == session.ReasonPendingUser {
		s.Asked = a.env.Question
	}
	if len(s.Talk.Messages) == 0 || a.env.Reply == "" && a.env.Question == "" {
		return nil
	}
	said, err := reader{view: w.Tx, session: s.ID, fresh: w.Fresh()}.text(s.Talk.Messages[0].Text)
	if err != nil {
		return err
	}
	for _, breach := range dialog.Check(dialog.Turn{Said: said, Reply: a.env.Reply, Question: a.env.Question}) {
		details, err := json.Marshal(breach)
		if err != nil {
			return err
		}
		w.Row(audit.Entry{Kind: audit.Turn, Turn: a.s.State.Turn.ID, Verdict: DialogWarning, Reason: breach.Sentence(s.Locale), Details: string(details)})
	}
	return nil
}

// answers takes a message for the answer to the question that is open (field/review-agent.md C32).
func answers(s *ledger.Session) {
	if s.Asked != "" {
		s.Answered, s.Asked = latest(append(s.Answered, s.Asked), ledger.MaxAnswered), ""
	}
}

// Warnings are sentences about what does not fit together among the five items of a session (seed 001, 5.5), such as an open question that a person
// has answered: for whoever shows the session.
func Warnings(s ledger.Session) []string { return s.Items.Warnings(s.Answered) }
