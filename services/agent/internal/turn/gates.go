package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// gates says what an answer without calls has a person asked about: its plan in PLANNING, its result in REVIEW, where the model asks for an
// approval (C64), or the policy does before the row of the table may be taken. Empty: nothing.
func gates(s session.State, e session.Answered) session.Kind {
	switch {
	case s.Step == session.Planning && (e.Step == session.Awaiting || e.Step == session.Execution && e.AskPlan):
		return session.KindPlan
	case s.Step != session.Review:
		return ""
	case e.Step == session.Awaiting, e.Step == session.Review && e.Next == session.NextDone && e.AskResult && !s.ResultApproved:
		return session.KindResult
	}
	return ""
}

// tellDecision has the model know what a person decided about its plan or result, and why: no call stands between whose result would say it, and
// without it the conversation would end with its own answer, which many models' forms take for one to be gone on with.
func (e *Engine) tellDecision(w *ledger.Work, a gate.Approval, d *gate.Decision) error {
	answer := a.Kind == canon.KindPlan || a.Kind == canon.KindResult
	if d == nil || !answer || w.Session.State.Turn.Running != session.Working {
		return nil
	}
	said := map[string]any{"next": "go on", "step": w.Session.State.Step, "asked": a.Kind, "decision": d.Decision}
	if d.Reason != "" {
		said["reason"] = d.Reason
	}
	if t := &w.Session.Talk; t.Beside != "" {
		refused, err := reader{view: w.Tx, session: w.Session.ID}.text(t.Beside)
		if err != nil {
			return err
		}
		said["refused_beside_it"], t.Beside = refused, ""
	}
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return e.note(w, string(text))
}

// notMade gives the calls of an answer that was refused the reason as their results: a move and its calls are made together or not at all (C62).
func (a *answer) notMade(w *ledger.Work, notes []session.Note) error {
	for _, n := range notes {
		if n.Of != session.OfRefusal || a.judged != nil {
			continue
		}
		why := n.Text
		if len(n.Allowed) > 0 {
			why += fmt.Sprintf(" (from %s the steps %s can be named)", n.From, strings.Trim(fmt.Sprint(n.Allowed), "[]"))
		}
		if !a.env.StateDelta.Empty() {
			why += "; " + untaken
		}
		for _, c := range a.calls {
			if err := putJSON(w, resultOf(c.ID), tool.Outcome(tool.Refused, why)); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes are the targets of a call that changes files, without hashes where those may not be told (S21); nil for any other.
func changes(i router.Intent) []canon.Target {
	hash := func(h folder.Hash) canon.Hash {
		if i.Hashless {
			return ""
		}
		if known := canon.Hash(h); known.Valid() {
			return known
		}
		return ""
	}
	switch s := i.Staged; {
	case s == nil:
		return nil
	case s.To != "":
		return []canon.Target{{Path: s.Target, Before: hash(i.Before)}, {Path: s.To, After: hash(i.After)}}
	default:
		return []canon.Target{{Path: s.Target, Before: hash(i.Before), After: hash(i.After)}}
	}
}

// executed keeps a call that has begun for the result of its task, under the number of the row that comes next.
func executed(w *ledger.Work, e router.Ending) {
	if e.State == router.NotDone {
		return
	}
	done := canon.Executed{Seq: w.Seq(), Call: e.Intent.CallHash, Status: string(e.State), Targets: changes(e.Intent)}
	t := &w.Session.Talk
	t.Executed = append(t.Executed[max(0, len(t.Executed)+1-ledger.MaxExecuted):len(t.Executed):len(t.Executed)], done)
}
