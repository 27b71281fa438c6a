package turn

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// codeUnasked stops calls of which no approval can be made.
const codeUnasked = "NOBODY_ASKED"

// raise proposes the calls of an answer that change something, or look at what a person has to allow, and makes the approvals of those
// that are asked about. Where one cannot be made nothing of the batch is called, and the model is told why: as many wait as may (S28), or
// what it would do can be neither shown nor kept (S29). An error here would come back with the same answer, for ever.
func (a *answer) raise(w *ledger.Work, e *session.Answered, effects []int) ([]gate.Made, error) {
	made, err := gate.ForCalls(a.asked(w, effects), waiting(w.Session.State))
	for _, m := range made {
		err = fits(m, err)
	}
	var cannot *gate.MakeError
	if errors.As(err, &cannot) {
		return nil, a.stop(w, e, effects, cannot.Why)
	}
	if err != nil {
		return nil, err
	}
	for _, i := range effects {
		j, id := a.judged[i], a.calls[i].ID
		p := session.Proposal{ID: id, Ask: j.Verdict() == policy.Ask}
		for _, m := range made {
			if m.Approval.Call == id {
				p.Approval, p.Digest, p.Until = m.Approval.ID, string(m.Approval.Digest), m.Approval.Expires
			}
		}
		if !p.Ask {
			rows(w, j.Entries(""))
		}
		w.Session.Calls[id] = ledger.Call{Tool: a.calls[i].Tool, Hash: string(j.CallHash)}
		e.Calls = append(e.Calls, p)
	}
	return made, nil
}

// asked are the calls among these that a person is asked about.
func (a *answer) asked(w *ledger.Work, effects []int) (all []gate.ToolCall) {
	for _, i := range effects {
		if j := a.judged[i]; j.Verdict() == policy.Ask {
			all = append(all, gate.ToolCall{Origin: a.origin(w, a.calls[i].ID), Judged: j.Asked(), Why: j.Explanation, Subject: j.Subject, Plan: j.Shown})
		}
	}
	return all
}

// stop refuses calls after they were judged.
func (a *answer) stop(w *ledger.Work, e *session.Answered, calls []int, why string) error {
	for _, i := range calls {
		j := &a.judged[i]
		j.Stop = &router.Stop{Step: router.StepGuard, Code: codeUnasked, Reason: "nothing of the calls that change something is made: " + why}
		if err := putJSON(w, resultOf(a.calls[i].ID), j.Result()); err != nil {
			return err
		}
		rows(w, j.Entries(""))
	}
	e.Others += len(calls)
	return nil
}

// unasked takes down that no approval of a plan or result can be made: the state machine then refuses the answer, and the model is told.
func (a *answer) unasked(w *ledger.Work, err error) error {
	var cannot *gate.MakeError
	if !errors.As(err, &cannot) {
		return err
	}
	a.why = cannot.Why
	w.Row(audit.Entry{Kind: audit.Refusal, Verdict: "REFUSED", Reason: cannot.Error(), ArgsDigest: string(sumOf(a.h.text))})
	return nil
}

// waiting is how many approvals of a session wait.
func waiting(s session.State) (n int) {
	for _, c := range s.Calls {
		if c.Progress.Asks() {
			n++
		}
	}
	return n
}

// fits says, where an approval could be made, whether what is shown of it can be kept.
func fits(m gate.Made, err error) error {
	if err != nil {
		return err
	}
	body, err := json.Marshal(m.Content)
	if err == nil && len(body) > store.MaxBody {
		err = &gate.MakeError{Call: m.Approval.Call, Why: fmt.Sprintf("what would be shown of it has %d bytes; at most %d are kept", len(body), store.MaxBody)}
	}
	return err
}

// raisedBy are approvals as the record of that number raises them: other rows of the same answer stand before it.
func raisedBy(seq int64, made []gate.Made) (all []gate.Approval) {
	for _, m := range made {
		m.Approval.Seq, m.Approval.StateSeq = seq, seq
		all = append(all, m.Approval)
	}
	return all
}
