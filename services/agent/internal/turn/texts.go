package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// The ids of a session's texts. What a text is stands behind the id that it is of, so that those of one time are together in an index
// where ids are in the order of time (UUIDs of version 7).
func textOf(message string) string     { return message + "/message" }
func answerOf(id string) string        { return id + "/answer" }
func noteOf(id string) string          { return id + "/note" }
func argsOf(call string) string        { return call + "/args" }
func toldOf(call string) string        { return call + "/told" }
func resultOf(call string) string      { return call + "/result" }
func intentOf(call string) string      { return ledger.IntentText(call) }
func contentOf(approval string) string { return approval + "/approval" }
func decidedOf(message string) string  { return message + "/decided" }
func refusedOf(approval string) string { return approval + "/refused" }
func madeOf(call string) string        { return call + "/made" }

// put writes a text of the session.
func put(w *ledger.Work, id string, body []byte) error {
	return w.PutText(store.Text{Session: w.Session.ID, ID: id, Body: body})
}

// putJSON writes a value as a text.
func putJSON(w *ledger.Work, id string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return put(w, id, body)
}

// show writes what is shown of an approval. It goes when its time is over: Limits.Keep after the latest moment at which it can be decided, and so
// at most a day more than that after the decision (S22). All other texts of a session are its conversation, and go with it.
func (e *Engine) show(w *ledger.Work, m gate.Made) error {
	body, err := json.Marshal(m.Content)
	if err != nil {
		return err
	}
	return w.PutText(store.Text{
		Session: w.Session.ID, ID: contentOf(m.Approval.ID), Until: m.Approval.Since.Add(gate.MaxLife + e.Limits.Keep), Body: body,
	})
}

// reader reads the texts of one session.
type reader struct {
	view    store.View
	session string
	// ns is the namespace, and pasts has earlier turns, for exchange.
	ns    string
	pasts *pasts
	// fresh are texts that are not stored yet, by id.
	fresh map[string]string
}

func (r reader) text(id string) (string, error) {
	if text, ok := r.fresh[id]; ok {
		return text, nil
	}
	t, err := r.view.Text(r.session, id)
	return string(t.Body), err
}

func (r reader) json(id string, v any) error {
	t, err := r.view.Text(r.session, id)
	if err != nil {
		return err
	}
	return json.Unmarshal(t.Body, v)
}

// read reads texts of a session in one snapshot.
func (e *Engine) read(ctx context.Context, ns, id string, fn func(reader) error) error {
	return e.Ledger.Read(ctx, ns, func(v store.View) error { return fn(reader{view: v, session: id, ns: ns, pasts: e.pasts}) })
}

// messages are those of the open turn, as the model gets them.
func (r reader) messages(all []ledger.Message) ([]llm.Message, error) {
	var out []llm.Message
	for _, m := range all {
		content, err := r.text(m.Text)
		if err != nil {
			return nil, fmt.Errorf("the text %s: %w", m.Text, err)
		}
		said := llm.Message{Role: llm.Role(m.Role), Content: content, CallID: m.CallID}
		for _, c := range m.Calls {
			args, err := r.text(c.Args)
			if err != nil {
				return nil, fmt.Errorf("the text %s: %w", c.Args, err)
			}
			said.Calls = append(said.Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: args})
		}
		out = append(out, said)
	}
	return out, nil
}

// results gives each call of the last answer its result, in the order of the calls: once, before the model is asked again
// (C69). A call that did not run is told why.
func (r reader) results(s ledger.Session) ([]tool.Result, error) {
	var all []tool.Result
	for _, owed := range s.Talk.Owed {
		var result tool.Result
		err := r.json(resultOf(owed.ID), &result)
		if errors.Is(err, store.ErrNotFound) {
			i := slices.IndexFunc(s.State.Calls, func(c session.Call) bool { return c.ID == owed.ID })
			c := session.Call{Reason: session.ReasonRefused, Progress: session.Voided} // refused with the move that it came with
			if i >= 0 {
				c = s.State.Calls[i]
			}
			result, err = tool.Outcome(statusOf(c.Progress), r.why(c)), nil
		}
		if err != nil {
			return nil, err
		}
		if result.Edited, err = r.edited(owed.ID); err != nil {
			return nil, err
		}
		all = append(all, result)
	}
	if s.Talk.Beside == "" || len(all) == 0 {
		return all, nil
	}
	var err error
	all[len(all)-1].Beside, err = r.text(s.Talk.Beside)
	return all, err
}

// batchFailed ends a batch with an error. Its calls go from the session with it, so that of those that did not run it is kept first what the model
// is to be told (C69).
func (e *Engine) batchFailed(ctx context.Context, ns, id string) error {
	_, err := e.Ledger.Change(ctx, ns, id, system, func(w *ledger.Work) error {
		r := reader{view: w.Tx, session: id}
		results, err := r.results(*w.Session)
		if err != nil {
			return err
		}
		for i, owed := range w.Session.Talk.Owed {
			_, err := r.text(resultOf(owed.ID))
			if errors.Is(err, store.ErrNotFound) {
				err = putJSON(w, resultOf(owed.ID), results[i])
			}
			if err != nil {
				return err
			}
		}
		return e.carry(w, session.BatchFailed{}, gate.Change{})
	})
	return refusedAlready(err)
}

// why is what is told of a call that did not run: the reason of a person, or of the state machine.
func (r reader) why(c session.Call) string {
	if c.Approval != "" {
		if a, err := r.approval(c.Approval); err == nil && a.Decision != nil && a.Decision.Reason != "" {
			return a.Decision.Reason
		}
	}
	if c.Progress == session.Superseded {
		return string(c.Progress)
	}
	return string(c.Reason)
}

// approval reads an approval. store.ErrNotFound.
func (r reader) approval(id string) (gate.Approval, error) {
	found, err := r.view.Approval(id)
	if err != nil {
		return gate.Approval{}, err
	}
	return ledger.Approval(found)
}

// statusOf is what the model is told of a call that has no result of its own.
func statusOf(p session.Progress) tool.Status {
	switch p {
	case session.Denied:
		return tool.Denied
	case session.Expired:
		return tool.Expired
	case session.Voided, session.CallCanceled, session.Superseded:
		return tool.Voided
	case session.Executed:
		return tool.Executed
	case session.CallFailed, session.NotHappened:
		return tool.Failed
	default:
		return tool.Unknown
	}
}
