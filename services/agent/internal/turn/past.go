package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// ended is how a turn ended, where that is not by an answer: a word of generation.Finish, or empty, and why.
type ended struct{ finish, why string }

// endOf is how the last turn of a session ended.
func endOf(s session.State) ended {
	switch {
	case s.Lifecycle == session.Canceling, s.Lifecycle == session.Canceled:
		return ended{string(generation.FinishCancelled), "the work was cancelled"}
	case s.Reason == session.ReasonUnreachable:
		return ended{string(generation.FinishBackendError), s.LastError}
	case slices.Contains([]session.Reason{session.ReasonDone, session.ReasonPendingUser, session.ReasonDeferred}, s.Reason):
		return ended{}
	}
	return ended{why: strings.TrimSuffix(string(s.Reason)+": "+s.LastError, ": ")}
}

// settle puts the conversation of a turn that has ended among the past ones.
func (e *Engine) settle(w *ledger.Work) error {
	overRules(w)
	if w.Session.State.Turn.Running != session.NoTurn {
		return nil
	}
	return e.shelve(w, endOf(w.Session.State))
}

// stopped goes on when the work has stopped: with the message that interrupted it (C77), if one did.
func (e *Engine) stopped(ctx context.Context, ns, id string) error {
	_, err := e.Ledger.Change(ctx, ns, id, system, func(w *ledger.Work) error {
		next := w.Session.State.Turn.Next
		if _, err := w.Apply(session.WorkStopped{Turn: e.IDs.ID(), Utterance: e.IDs.ID(), ByEvent: !w.Session.Talk.ByPerson(next)}, gate.Change{}); err != nil {
			return err
		}
		if next == "" {
			return e.settle(w)
		}
		overRules(w)
		if err := e.shelve(w, replaced); err != nil {
			return err
		}
		begun(&w.Session.Talk, next)
		return nil
	})
	return refusedAlready(err)
}

// shelve puts what was said in a turn among the past ones, and among what becomes nodes of the session's flow; the results of its tools are
// evidence from now on, also those that the model was not told before the turn ended (cases/agent.md c14).
func (e *Engine) shelve(w *ledger.Work, end ended) error {
	t := &w.Session.Talk
	if len(t.Messages) == 0 {
		return nil
	}
	r := reader{view: w.Tx, session: w.Session.ID, fresh: w.Fresh()}
	x := conversation.Exchange{Made: t.Made, Finish: end.finish, Error: end.why}
	var err error
	if x.User, err = r.text(t.Messages[0].Text); err != nil {
		return err
	}
	names := map[string]string{}
	for _, m := range t.Messages {
		switch llm.Role(m.Role) {
		case llm.RoleAssistant:
			if x.Reply, err = r.reply(w, m.Text); err != nil {
				return err
			}
			for _, c := range m.Calls {
				names[c.ID] = c.Name
			}
		case llm.RoleTool:
			t.Evidence = append(t.Evidence, ledger.Evidence{Source: names[m.CallID], Text: m.Text})
		default:
		}
	}
	if err := e.untold(w, r); err != nil {
		return err
	}
	t.Evidence = t.Evidence[max(0, len(t.Evidence)-ledger.MaxEvidence):]
	id, err := conversation.Keep(w, x)
	e.pasts.putThen(w, id, x)
	t.Past = latest(append(t.Past, id), ledger.MaxPast)
	t.Messages, t.Owed, t.Beside, t.Made = nil, nil, "", ledger.Made{}
	return err
}

// reply is what the text of an answer said to the person.
func (r reader) reply(w *ledger.Work, id string) (string, error) {
	if id == w.Answer && w.Reply != "" {
		return w.Reply, nil
	}
	text, err := r.text(id)
	return replyOf(text), err
}

// untold puts the results that a model is owed among the evidence.
func (e *Engine) untold(w *ledger.Work, r reader) error {
	s := *w.Session
	for _, owed := range s.Talk.Owed {
		if c, ok := w.Call(owed.ID); ok {
			s.State.Calls = append([]session.Call{c}, s.State.Calls...)
		}
	}
	results, err := r.results(s)
	if err != nil {
		return err
	}
	for i, result := range results {
		owed := s.Talk.Owed[i]
		if err := put(w, toldOf(owed.ID), []byte(result.Message())); err != nil {
			return err
		}
		w.Session.Talk.Evidence = append(w.Session.Talk.Evidence, ledger.Evidence{Source: owed.Name, Text: toldOf(owed.ID)})
	}
	return nil
}

// replyOf is what an answer said to the person: its reply and its question, else why it did what it did.
func replyOf(text string) string {
	read, err := envelope.Parse(envelope.Answer{Text: text})
	if err != nil {
		return ""
	}
	return saidIn(read.Envelope)
}

// saidIn is what an answer says to the person: its reply with its question, or where it has neither why it does what it does.
func saidIn(env envelope.Envelope) string {
	said := env.Reply
	if q := env.Question; q != "" && !strings.Contains(said, q) {
		said = strings.TrimPrefix(said+"\n\n"+q, "\n\n")
	}
	if said == "" {
		return env.Rationale
	}
	return said
}

// past reads what a prompt tells of the files of the session, of earlier turns, and what waits for approval.
func (r reader) past(s ledger.Session, p *Prompt) error {
	if s.Talk.Snapshot {
		files, err := r.view.Text(s.ID, snapshotText)
		if err != nil {
			return err
		}
		p.Snapshot = files.Body
	}
	for _, id := range s.Talk.Past {
		x, err := r.exchange(s, id)
		if err != nil {
			return err
		}
		p.Past = append(p.Past, x)
	}
	for _, ev := range s.Talk.Evidence {
		text, err := r.text(ev.Text)
		if err != nil {
			return err
		}
		p.Evidence = append(p.Evidence, Excerpt{ev.Source, text})
	}
	for _, c := range s.State.Calls {
		if !c.Progress.Asks() {
			continue
		}
		a, err := r.approval(c.Approval)
		if err != nil {
			return err
		}
		p.Pending = append(p.Pending, a)
	}
	return nil
}

// countShown counts a node that the model asked for and was shown: it may have so many of them.
func (a *answer) countShown(w *ledger.Work, i int) {
	if a.judged[i].Tool.Name == tool.NodeDetail && !a.reads[i].Failed {
		w.Session.Talk.Shown++
		w.Session.Talk.ShownNow++
		lookedUp(w.Session, a.judged[i].Args)
	}
}
