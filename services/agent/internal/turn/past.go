package turn

import (
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// settle puts the conversation of a turn that has ended among the past ones: what was said, and the results of its tools as evidence.
func (e *Engine) settle(w *ledger.Work) error {
	t := &w.Session.Talk
	if w.Session.State.Turn.Running != session.NoTurn || len(t.Messages) == 0 {
		return nil
	}
	r := reader{w.Tx, w.Session.ID}
	var x Exchange
	var err error
	if x.User, err = r.text(t.Messages[0].Text); err != nil {
		return err
	}
	names := map[string]string{}
	for _, m := range t.Messages {
		switch llm.Role(m.Role) {
		case llm.RoleAssistant:
			text, err := r.text(m.Text)
			if err != nil {
				return err
			}
			x.Reply = replyOf(text)
			for _, c := range m.Calls {
				names[c.ID] = c.Name
			}
		case llm.RoleTool:
			t.Evidence = append(t.Evidence, ledger.Evidence{Source: names[m.CallID], Text: m.Text})
		default:
		}
	}
	t.Evidence = t.Evidence[max(0, len(t.Evidence)-ledger.MaxEvidence):]
	id := pastOf(e.IDs.ID())
	t.Past = latest(append(t.Past, id), ledger.MaxPast)
	t.Messages, t.Owed = nil, nil
	return putJSON(w, id, x)
}

// replyOf is what an answer said to the person.
func replyOf(text string) string {
	read, err := envelope.Parse(envelope.Answer{Text: text})
	if err != nil {
		return ""
	}
	if read.Envelope.Reply != "" {
		return read.Envelope.Reply
	}
	return read.Envelope.Rationale
}

// past reads what a prompt tells of earlier turns, and what waits for approval.
func (r reader) past(s ledger.Session, p *Prompt) error {
	for _, id := range s.Talk.Past {
		var x Exchange
		if err := r.json(id, &x); err != nil {
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
		found, err := r.view.Approval(c.Approval)
		if err != nil {
			return err
		}
		a, err := ledger.Approval(found)
		if err != nil {
			return err
		}
		p.Pending = append(p.Pending, a)
	}
	return nil
}
